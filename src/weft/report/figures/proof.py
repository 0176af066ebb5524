# SPDX-License-Identifier: BSD-3-Clause
"""Links as pictures: measured loads beside the card and as a figure, and the tree with a slow part in red."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import altair as alt

from weft.analyse.tables.breakdown import Load
from weft.fabric.drawing.drawing import layered
from weft.fabric.drawing.sketch import LinkLoad, Place, Sketch, sketch, sketch_loads
from weft.fabric.network.build import build_followed
from weft.format import format_bytes, format_rate, percent, times_text
from weft.report.figures import Figure, Picture
from weft.report.figures.theme import WIDTH
from weft.report.tables import drawn_cells, reading
from weft.report.view import RunView

WIDE, PANEL = 760, 300
BUSY = 0.5  # from this share of its rate on a link is drawn as the bottleneck, if none is busier
MOST_BOXES = 60  # a drawing with more says nothing at a glance
MOST_SIDE_BY_SIDE = 8  # hosts; with more a panel would be too narrow: only the largest number of nodes is drawn
SCALE = (0.0, 0.5, 1.0)  # shares of a link's rate drawn in grey, amber and red
KEY = (
    "Two lines per cable: up on the left, down on the right; the colour is the share of the link's rate in use while "
    "the calls ran (grey 0, amber 50, red 100 %). The number is that of the busier direction; it is left out where it "
    "would touch that of a busier link."
)


def draw_loads(view: RunView) -> Picture | None:
    """The links at the largest number of nodes, the busiest ones in red; None if none was counted."""
    if not (cells := drawn_cells(view)):
        return None
    nodes, _, _, loads = cells[-1]
    hosts = view.plan.planned_fabric.hosts
    used = [load for load in loads if load["share"] is not None]
    plan = sketch_loads([link_load(load) for load in loads], hosts, WIDE)
    if not used or len(plan.places) > MOST_BOXES:
        return None
    shares: dict[frozenset[str], float] = {}  # of the busier direction of each cable
    for load in used:
        ends = frozenset((load["source"], load["target"]))
        shares[ends] = max(shares.get(ends, 0.0), load["share"] or 0.0)
    hot = {ends for ends, share in shares.items() if share >= max(BUSY, 0.9 * max(shares.values()))}
    rates = sorted({load["rate"] for load in used if load["rate"]})
    rate = f" {format_rate(rates[0])} per cable." if len(rates) == 1 else ""
    key = f"Share of each link's rate used while the calls ran, {nodes} nodes, counted by the switches.{rate}"
    busiest = max(used, key=lambda load: load["share"] or 0.0)
    reading = f"Busiest link: {busiest['link']}, {percent(busiest['share'] or 0.0)} of its rate."
    return Picture("loads-tree", "Links", key, reading, _tree(plan, shares, hot))


def draw_outlier(view: RunView) -> Picture | None:
    """The tree of switches with the slow cable or switch in red; None where no such part was found or drawn."""
    found = (each for each in view.claimed("answer") if each["id"].startswith(("outlier.", "check.not-healthy")))
    answer, network = next(found, None), view.plan.planned_fabric.network
    if answer is None or network is None:
        return None
    plan = sketch(build_followed(view.plan.planned_fabric))
    if len(plan.places) > MOST_BOXES or not plan.lines:
        return None
    ends = frozenset(part.strip() for part in answer["subject"].replace("->", "-").split(" - "))
    shares = {frozenset(line.between.split(" - ")): 0.0 for line in plan.lines}
    if not (hot := {each for each in shares if each == ends or (len(ends) == 1 and ends <= each)}):
        return None
    value = times_text(answer["value"]) if answer["value"] else ""
    key = f"The fabric's switches; in red what is slow: {answer['subject']}."
    return Picture("outlier-tree", "Slow part", key, key, _tree(plan, dict.fromkeys(hot, 0.0), hot, value))


def _tree(plan: Sketch, shares: Mapping[frozenset[str], float], hot: set[frozenset[str]], words: str = "") -> str:
    """Boxes and cables as SVG; ``words`` labels the hot cables, or else their shares all."""
    left = 130 if plan.rows else 0
    box = f"{-left} 0 {plan.width + left:.0f} {plan.height:.0f}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" class="proof">']
    seen: set[frozenset[str]] = set()
    labels: list[str] = []
    most = max(shares.values(), default=0.0) or 1.0
    centres = {place.names.split(":")[0] if place.kind else place.names: place for place in plan.places}
    for line in plan.lines:
        if (ends := frozenset(line.between.split(" - "))) in seen:
            continue
        seen.add(ends)
        one, other = (centres.get(name) for name in line.between.split(" - "))
        points = ((one.x, one.y), (other.x, other.y)) if one and other else (line.points[0], line.points[-1])
        (x, y), (x2, y2) = points
        is_hot, share = ends in hot, shares.get(ends, 0.0)
        width = 3 + 8 * share / most if shares and not words else 8 if is_hot else 2.5
        parts.append(
            f'<path d="M{x:.1f} {y:.1f}L{x2:.1f} {y2:.1f}" class="{"hot" if is_hot else "cool"}" '
            f'stroke-width="{width:.1f}"><title>{escape(line.between)}</title></path>'
        )
        if text := (words if is_hot else "") if words else percent(share) if share else "":
            labels.append(_beside(points, text, is_hot))
    parts += [_box(place) for place in plan.places] + labels
    parts += [f'<text x="{-left}" y="{y + 4:.0f}" class="d">{escape(text)}</text>' for y, text, _ in plan.rows]
    return "".join([*parts, "</svg>"])


def _beside(points: Sequence[tuple[float, float]], text: str, is_hot: bool) -> str:
    (x, y), (x2, y2) = points
    low, high = ((x, y), (x2, y2)) if y > y2 else ((x2, y2), (x, y))
    outer, anchor = (-1, "end") if low[0] < high[0] else (1, "start")
    at = (high[0] + 0.62 * (low[0] - high[0]) + outer * (22 if is_hot else 14), high[1] + 0.62 * (low[1] - high[1]))
    kind = "hot-text" if is_hot else "d"
    return f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _box(place: Place) -> str:
    x, y, text = place.x - place.width / 2, place.y - place.height / 2, escape(place.text).partition("\n")[0]
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" rx="6" class="box">'
        f"<title>{escape(place.names)}</title></rect>"
        f'<text x="{place.x:.1f}" y="{place.y + 4.5:.1f}" text-anchor="middle">{text}</text>'
    )


def links_figure(view: RunView) -> Figure | None:
    """The loads at each number of nodes; None if no link was counted."""
    if not (cells := drawn_cells(view)):
        return None
    hosts = view.plan.planned_fabric.hosts
    crowded = len(hosts) > MOST_SIDE_BY_SIDE
    width = WIDTH if crowded else PANEL
    panels: list[Any] = []
    for nodes, ranks, _, found in cells[-1:] if crowded else cells:
        plan = sketch_loads([link_load(load) for load in found], hosts, width)
        title = alt.TitleParams(f"N = {nodes}, p = {ranks}", anchor="middle", fontSize=13)
        chart = layered(plan, "share", SCALE, legend=False)
        panels.append(chart.properties(width=width, height=plan.height, title=title))
    return Figure("links", view.titled("Load of the links"), KEY, reading(view), tuple(panels))


def link_load(load: Load) -> LinkLoad:
    """One direction of a link for the drawing: its share, the share as text, and its tooltip."""
    share = percent(load["share"]) if load["share"] is not None else ""
    details = {
        "link": load["link"], "carried": f"{format_bytes(round(load['bytes']))} a launch",
        "share of its rate": share or "not known",
        "rate": format_rate(load["rate"]) if load["rate"] else "not known", "dropped": f"{load['drops']:,} packets",
    }  # fmt: skip
    return LinkLoad(load["source"], load["target"], load["cable"], load["share"] or 0.0, share, details)
