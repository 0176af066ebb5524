# SPDX-License-Identifier: BSD-3-Clause
"""Figure 3.1: the traffic of an all-to-all, a line between every two of N nodes."""

import math
from itertools import combinations
from typing import Any

import altair as alt

from weft.format import plural
from weft.report.figures.theme import BLUE, COLUMNS, INK, Figure, values
from weft.report.view import RunView

#: More nodes than this would only blacken the circle (2,556 lines are enough for a page).
MOST = 72
SIDE = 190


def schematic_figure(view: RunView) -> Figure | None:
    """The complete graph for the three largest numbers of nodes (on one node: of ranks); None for a single rank."""
    nodes = sorted({cell.nodes for cell in view.plan.measured if cell.nodes > 1})
    symbol, one = ("N", "node") if nodes else ("p", "rank")
    numbers = nodes or sorted({cell.ranks for cell in view.plan.measured if cell.ranks > 1})
    drawn = [number for number in numbers if number <= MOST][-COLUMNS:]
    if not drawn:
        return None
    most = numbers[-1]
    pairs = most * (most - 1) // 2
    title = "Traffic of an all-to-all on the network" if nodes else "Traffic of an all-to-all through shared memory"
    reading = (
        f"Among {most:,} {one}s each call exchanges blocks between {plural(pairs, 'pair')} at once, in both directions"
    )
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
    lines = links(number)
    # the more lines, the thinner: 630 at full width would be a blot
    weight = max(0.35, min(1.6, 14 / math.sqrt(len(lines) + 1) / 2))
    x, y = alt.X("x:Q", scale=scale, axis=None), alt.Y("y:Q", scale=scale, axis=None)
    points = [{"x": x, "y": y} for x, y in places(number)]
    pairs = f"{len(lines):,} pair" + ("s" if len(lines) != 1 else "")
    return alt.layer(
        alt.Chart(values(lines))
        .mark_rule(color=BLUE, strokeWidth=weight, opacity=0.75)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        alt.Chart(values(points)).mark_circle(color=INK, size=60 if number <= 18 else 34, opacity=1).encode(x=x, y=y),
    ).properties(width=SIDE, height=SIDE, title=alt.TitleParams(f"{name}: {pairs}", anchor="middle", fontSize=13))
