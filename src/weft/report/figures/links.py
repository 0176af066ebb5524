# SPDX-License-Identifier: BSD-3-Clause
"""The tree of a run's links, each direction coloured by the share of its rate that was measured on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from weft.analyse.bottleneck import Load
from weft.fabric.link_names import depths
from weft.report.figures.theme import INK, Figure, Row, values
from weft.report.links import drawn_cells, percent, reading
from weft.report.view import RunView
from weft.units import format_bytes, format_rate

HEIGHT, WIDTH = 250, 300
#: From here on a panel would be too narrow for its hosts: only the largest number of nodes is drawn.
MOST_SIDE_BY_SIDE = 8
#: More shares than this could not be read on their links; the tooltip and the table have them all.
MOST_LABELS = 20
CALM, BUSY, FULL = "#cfd8e3", "#f0a429", "#c01c1c"
KEY = (
    "Two lines a cable: up on the left, down on the right; the colour is the share of the link's rate that was counted "
    "on it while the calls ran (grey 0, amber 50, red 100 %); the number is that of the busier direction."
)


@dataclass(frozen=True)
class Layout:
    """Where the ends of the links stand: x from 0 to 1, y the links up from the hosts."""

    x: dict[str, float]
    depth: dict[str, int]

    @property
    def top(self) -> int:
        """Links from a host to the top."""
        return max(self.depth.values(), default=1)


def links_figure(view: RunView) -> Figure | None:
    """The loads at each number of nodes; None where no link was counted."""
    cells = drawn_cells(view)
    if not cells:
        return None
    hosts = view.plan.planned_fabric.hosts
    if len(hosts) > MOST_SIDE_BY_SIDE:
        cells = cells[-1:]
    panels = tuple(tree(found, hosts, f"N = {nodes}, p = {ranks}") for nodes, ranks, _, found in cells)
    return Figure("links", view.titled("Load of the links"), KEY, reading(view), panels)


def layout(found: Sequence[Load], hosts: Sequence[str]) -> Layout:
    """Hosts in a row in the order of a walk over the tree, every switch above the middle of what hangs on it."""
    links = [(load.source, load.target) for load in found]
    depth = depths(hosts, links)
    below: dict[str, list[str]] = {}
    for one, other in dict.fromkeys(tuple(sorted(pair, key=lambda end: depth.get(end, 0))) for pair in links):
        below.setdefault(other, []).append(one)
    lower = {name for names in below.values() for name in names}
    order: list[str] = []

    def visit(end: str) -> None:
        for name in below.get(end, ()):
            visit(name)
        if end not in below and end not in order:
            order.append(end)

    for root in (end for end in depth if end not in lower):
        visit(root)
    x = {name: (index + 0.5) / len(order) for index, name in enumerate(order)}
    for end in sorted(below, key=lambda name: depth[name]):
        x[end] = sum(x[name] for name in below[end]) / len(below[end])
    return Layout(x, depth)


def tree(found: Sequence[Load], hosts: Sequence[str], name: str) -> Any:
    """One drawing of the tree."""
    plan = layout(found, hosts)
    lines = line_rows(found, plan)
    boxes = [{"x": plan.x[end], "y": plan.depth[end], "name": end} for end in plan.x]
    crowded = len(hosts) > MOST_SIDE_BY_SIDE
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.02, 1.02], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-0.25, plan.top + 0.25], nice=False), axis=None)
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 0.5, 1], range=[CALM, BUSY, FULL], clamp=True, interpolate="rgb"),
        legend=None,
    )
    told = ("link", "carried", "share of its rate", "rate", "dropped")
    tooltip = [alt.Tooltip(f"{field}:N") for field in told]
    rules = (
        alt.Chart(values(lines))
        .mark_rule(strokeWidth=2 if crowded else 5, strokeCap="butt", opacity=1)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour, tooltip=tooltip)
    )
    layers = [rules, *_labels(lines, x, y), *_boxes(boxes, x, y, plan, crowded)]
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=alt.TitleParams(name, anchor="middle", fontSize=13)
    )


def line_rows(found: Sequence[Load], plan: Layout) -> list[Row]:
    """A line for each direction, a little to the left (up) or right (down) of the cable's middle."""
    apart = min(0.012, 0.1 / max(1, len(plan.x)))
    rows: list[Row] = []
    for load in found:
        up = plan.depth[load.source] < plan.depth[load.target]
        lower, upper = (load.source, load.target) if up else (load.target, load.source)
        aside = -apart if up else apart
        row: Row = {
            "x": round(plan.x[lower] + aside, 5),
            "x2": round(plan.x[upper] + aside, 5),
            "y": plan.depth[lower],
            "y2": plan.depth[upper],
            "share": load.share or 0.0,
            "label": percent(load.share) if load.share is not None else "",
            "up": up,
            "link": load.link,
            "cable": load.cable,
            "carried": f"{format_bytes(round(load.bytes))} a launch",
            "share of its rate": percent(load.share) if load.share is not None else "not known",
            "rate": format_rate(load.rate) if load.rate else "not known",
            "dropped": f"{load.drops:,} packets",
        }
        rows.append(row)
    return rows


def _labels(lines: Sequence[Row], x: alt.X, y: alt.Y) -> list[Any]:
    """The share on the middle of each cable, over a white edge; both directions where they differ by a tenth."""
    cables: dict[str, list[Row]] = {}
    for line in lines:
        cables.setdefault(line["cable"], []).append(line)
    if len(cables) > MOST_LABELS:
        return []
    rows = [_label(own) for own in cables.values()]
    text = alt.Chart(values(rows)).encode(x=x, y=y, text="label:N")
    return [
        text.mark_text(fontSize=12, stroke="white", strokeWidth=5, strokeJoin="round", opacity=0.9),
        text.mark_text(fontSize=12, color=INK, fontWeight="bold"),
    ]


def _label(own: Sequence[Row]) -> Row:
    shares = [line["share"] for line in own]
    one = max(own, key=lambda line: line["share"])
    text = one["label"]
    if len(own) == 2 and max(shares) - min(shares) > 0.1:
        text = " ".join(f"{line['label']} {'↑' if line['up'] else '↓'}" for line in own)
    middle = sum(line["x"] + line["x2"] for line in own) / 2 / len(own)
    return {"x": round(middle, 5), "y": (one["y"] + one["y2"]) / 2, "label": text}


def _boxes(boxes: Sequence[Row], x: alt.X, y: alt.Y, plan: Layout, crowded: bool) -> list[Any]:
    """Switches and hosts over the ends of their links; hosts without their names where there are many."""
    points = alt.Chart(values(boxes)).encode(x=x, y=y, tooltip=[alt.Tooltip("name:N")])
    made = [points.mark_point(shape="square", filled=True, size=30 if crowded else 60, color=INK, opacity=1)]

    def names(rows: list[Row], **mark: Any) -> None:
        if rows:
            made.append(alt.Chart(values(rows)).mark_text(color=INK, **mark).encode(x=x, y=y, text="name:N"))

    depth = [plan.depth[box["name"]] for box in boxes]
    names([box for box, at in zip(boxes, depth, strict=True) if at == plan.top], dy=-12, fontWeight="bold")
    between = [box for box, at in zip(boxes, depth, strict=True) if 0 < at < plan.top]
    # beside the link up, which leans towards the middle
    names([box for box in between if box["x"] < 0.5], dx=-10, dy=-9, align="right", fontWeight="bold")
    names([box for box in between if box["x"] >= 0.5], dx=10, dy=-9, align="left", fontWeight="bold")
    names([box for box, at in zip(boxes, depth, strict=True) if at == 0 and not crowded], dy=14)
    return made
