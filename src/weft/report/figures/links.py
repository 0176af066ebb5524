# SPDX-License-Identifier: BSD-3-Clause
"""A run's links, each direction coloured by the share of its rate that was measured on it."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.analyse.tables.links import Load
from weft.fabric.drawing.drawing import layered
from weft.fabric.drawing.loads import LinkLoad, sketch_loads
from weft.format import format_bytes, format_rate
from weft.report.figures.theme import WIDTH, Figure
from weft.report.links import drawn_cells, percent, reading
from weft.report.view import RunView

PANEL = 300
#: With more hosts than this a panel would be too narrow: only the largest number of nodes is drawn.
MOST_SIDE_BY_SIDE = 8
#: Shares of a link's rate drawn in grey, amber and red.
SCALE = (0.0, 0.5, 1.0)
KEY = (
    "Two lines per cable: up on the left, down on the right; the colour is the share of the link's rate in use while "
    "the calls ran (grey 0, amber 50, red 100 %). The number is that of the busier direction; it is left out where it "
    "would touch that of a busier link."
)


def links_figure(view: RunView) -> Figure | None:
    """The loads at each number of nodes; None if no link was counted."""
    cells = drawn_cells(view)
    if not cells:
        return None
    hosts = view.plan.planned_fabric.hosts
    crowded = len(hosts) > MOST_SIDE_BY_SIDE
    if crowded:
        cells = cells[-1:]
    panels = tuple(
        _panel(found, hosts, f"N = {nodes}, p = {ranks}", WIDTH if crowded else PANEL)
        for nodes, ranks, _, found in cells
    )
    return Figure("links", view.titled("Load of the links"), KEY, reading(view), panels)


def _panel(found: Sequence[Load], hosts: Sequence[str], name: str, width: int) -> Any:
    plan = sketch_loads([link_load(load) for load in found], hosts, width)
    title = alt.TitleParams(name, anchor="middle", fontSize=13)
    return layered(plan, "share", SCALE, legend=False).properties(width=width, height=plan.height, title=title)


def link_load(load: Load) -> LinkLoad:
    """One direction of a link for the drawing: its share, the share as text, and its tooltip."""
    share = percent(load["share"]) if load["share"] is not None else ""
    details = {
        "link": load["link"],
        "carried": f"{format_bytes(round(load['bytes']))} a launch",
        "share of its rate": share or "not known",
        "rate": format_rate(load["rate"]) if load["rate"] else "not known",
        "dropped": f"{load['drops']:,} packets",
    }
    return LinkLoad(load["source"], load["target"], load["cable"], load["share"] or 0.0, share, details)
