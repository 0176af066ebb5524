# SPDX-License-Identifier: BSD-3-Clause
"""Spread within and between launches, and figure 3.1: the pairs of an all-to-all as lines between nodes."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import altair as alt

from weft.analyse.tables.times import ITERATIONS, QUARTILES, IterationRow, QuartileRow, timed
from weft.format import percent, plural
from weft.plan.records import Cell
from weft.report.figures import Figure
from weft.report.figures.theme import BLUE, COLUMNS, INK, RED, chart, unit_of
from weft.report.intervals import interval_meaning
from weft.report.view import RunView

MOST_PANELS, MOST_POINTS = 9, 60
MOST, SIDE = 72, 190  # more nodes than this would only blacken the circle (2,556 lines are enough for a page)
KEY = (
    "Points: samples of the warm main call (at most 60 per launch, including the extremes); orange: "
    "lost over 1 % of their time to others. "
    "Box: middle half of a launch and its median. Every axis begins at zero."
)


def spread_figure(view: RunView) -> Figure | None:
    """Samples by launch of each cell's main call; None if there are none, or a model gave them."""
    if view.plan.is_model:
        return None  # a model repeats itself: there is no spread
    by_cell: dict[str, dict[int, list[IterationRow]]] = {}
    for row in ITERATIONS.read(view.path):
        if (row["call"], row["phase"]) == (view.main_call, "warm"):
            by_cell.setdefault(row["cell"], {}).setdefault(row["launch"], []).append(row)
    if not (cells := [cell for cell in view.plan.measured if cell.id in by_cell][:MOST_PANELS]):
        return None
    boxes = [row for row in QUARTILES.read(view.path) if (row["call"], row["phase"]) == (view.main_call, "warm")]
    panels = tuple(_panel(by_cell[cell.id], [row for row in boxes if row["cell"] == cell.id], cell) for cell in cells)
    title = view.titled(f"Spread within and between launches: {view.main_call}, warm")
    return Figure("spread", title, KEY, reading(view), panels)


def thinned(rows: Sequence[IterationRow], most: int = MOST_POINTS) -> list[IterationRow]:
    """At most ``most`` of the rows, evenly spaced by rank of their time, always with the smallest and largest."""
    ordered = sorted(rows, key=lambda row: row["time_s"])
    places = (round(index * (len(ordered) - 1) / (most - 1)) for index in range(most))
    return ordered if len(ordered) <= most else [ordered[place] for place in places]


def _panel(launches: dict[int, list[IterationRow]], quartiles: Sequence[QuartileRow], cell: Cell) -> Any:
    unit, size = unit_of(row["time_s"] for rows in launches.values() for row in rows)
    points: list[dict[str, float]] = []
    for launch, rows in sorted(launches.items()):
        for place, row in enumerate(thinned(rows)):
            # a fixed jitter, so that the same run gives the same picture
            beside = round(((place * 0.618034) % 1 - 0.5) * 0.5, 3)
            points.append({"launch": launch, "y": row["time_s"] / size, "lost": row["disturbed"], "beside": beside})
    boxes = [
        {"launch": row["launch"], "q1": row["q1_s"] / size, "median": row["median_s"] / size, "q3": row["q3_s"] / size}
        for row in quartiles
    ]
    x, scale = alt.X("launch:O", title="launch", axis=alt.Axis(labelAngle=0)), alt.Scale(zero=True)
    y = alt.Y("y:Q", title=f"time ({unit})", scale=scale, axis=alt.Axis(tickCount=5, format=".4~r"))
    title = f"N = {cell.nodes}, p = {cell.ranks}{' *' if cell.oversubscribed else ''}"
    title += f", m = {m:,}" if (m := cell.parameters.get("m")) else ""
    beside = alt.XOffset("beside:Q", scale=alt.Scale(domain=[-0.5, 0.5]))
    drawn = chart(boxes).encode(x=x)
    colour = alt.condition("datum.lost", alt.value(RED), alt.value(BLUE))
    return alt.layer(
        chart(points).mark_circle(size=16, opacity=0.7).encode(x=x, y=y, xOffset=beside, color=colour),
        drawn.mark_bar(size=26, fill=None, stroke=INK, strokeWidth=1.2).encode(y=alt.Y("q1:Q", scale=scale), y2="q3:Q"),
        drawn.mark_tick(size=30, thickness=2.4, color=INK).encode(y=alt.Y("median:Q", scale=scale)),
    ).properties(width=190, height=190, title=alt.TitleParams(title, fontSize=12, anchor="middle"))


def reading(view: RunView) -> str:
    """Where launches differ most, and the resulting interval."""
    if not (rows := [row for row in timed(view.rows, view.main_call, "warm") if row["launches"] > 1]):
        return "One launch says nothing about the spread between launches."
    worst = max(rows, key=lambda row: (row["launch_high_s"] - row["launch_low_s"]) / row["median_s"])
    between = (worst["launch_high_s"] - worst["launch_low_s"]) / 2 / worst["median_s"]
    where = f"N = {worst['nodes']}, p = {worst['ranks']}"
    return f"Medians of launches differ most at {where}: ±{percent(between)}. {interval_meaning([worst])}"


def schematic_figure(view: RunView) -> Figure | None:
    """The complete graph for the three largest numbers of nodes (on one node: of ranks); None for a single rank."""
    nodes = sorted({cell.nodes for cell in view.plan.measured if cell.nodes > 1})
    symbol, one = ("N", "node") if nodes else ("p", "rank")
    numbers = nodes or sorted({cell.ranks for cell in view.plan.measured if cell.ranks > 1})
    if not (drawn := [number for number in numbers if number <= MOST][-COLUMNS:]):
        return None
    most = numbers[-1]
    pairs = plural(most * (most - 1) // 2, "pair")
    title = "Traffic of an all-to-all on the network" if nodes else "Traffic of an all-to-all through shared memory"
    reading = f"Among {most:,} {one}s each call exchanges blocks between {pairs} at once, in both directions"
    reading += ": the number of pairs grows with the square of N, the number of links does not." if nodes else "."
    panels = tuple(schematic(number, f"{symbol} = {number}") for number in drawn)
    key = f"Each point is a {one}, each line a pair that exchanges data in every call."
    return Figure("schematic", title, key, reading, panels)


def places(number: int) -> list[tuple[float, float]]:
    """Points on the unit circle, clockwise from the top."""
    angles = [2 * math.pi * index / number for index in range(number)]
    return [(round(math.sin(angle), 4), round(math.cos(angle), 4)) for angle in angles]


def links(number: int) -> list[dict[str, float]]:
    """A line between every two of the points."""
    return [{"x": x, "y": y, "x2": x2, "y2": y2} for (x, y), (x2, y2) in combinations(places(number), 2)]


def schematic(number: int, name: str) -> Any:
    """The complete graph of ``number`` points."""
    scale = alt.Scale(domain=[-1.08, 1.08], nice=False)
    lines, pairs = links(number), plural(number * (number - 1) // 2, "pair")
    # the more lines, the thinner: 630 at full width would be a blot
    weight = max(0.35, min(1.6, 14 / math.sqrt(len(lines) + 1) / 2))
    x, y = alt.X("x:Q", scale=scale, axis=None), alt.Y("y:Q", scale=scale, axis=None)
    points = [{"x": x, "y": y} for x, y in places(number)]
    return alt.layer(
        chart(lines).mark_rule(color=BLUE, strokeWidth=weight, opacity=0.75).encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        chart(points).mark_circle(color=INK, size=60 if number <= 18 else 34, opacity=1).encode(x=x, y=y),
    ).properties(width=SIDE, height=SIDE, title=alt.TitleParams(f"{name}: {pairs}", anchor="middle", fontSize=13))
