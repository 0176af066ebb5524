# SPDX-License-Identifier: BSD-3-Clause
"""The ladder of each cell as one bar from the floor up, and the rounds of a plain exchange beside the fullest link."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypedDict

import altair as alt

from weft.analyse.tables.ladder import ROUND_TIMES, STEPS, LadderRow, RoundRow
from weft.format import format_seconds
from weft.report.figures.theme import BLUE, GREEN, GREY, INK, ORANGE, RED, Figure, unit_of, values
from weft.report.view import RunView
from weft.report.why import factor_text, ladders, title

COLOURS = {"hardware": GREY, "messages": BLUE, "contention": ORANGE, "algorithm": RED, "arrival": GREEN}
MOST = 9
KEY = (
    "Each bar from the floor up: hardware (the nearest lower bound), messages (the same blocks alone), contention "
    "(everybody at once, in plain rounds), algorithm (the library's call), arrival (late ranks). A hollow part is time "
    "that a step takes away."
)
ROUNDS_KEY = (
    "Blue: time of each round, the median over launches of the slowest rank; in round d every rank sends to the one d "
    "behind it. Orange: what the link that the round fills longest needs for its blocks, where the routes are known."
)


def ladder_figures(view: RunView) -> list[Figure]:
    """The bars, and the rounds of the largest cells; nothing where nothing was explained."""
    return [figure for figure in (_ladder_figure(view), _round_figure(view)) if figure is not None]


def slowest(found: Sequence[list[LadderRow]]) -> list[list[LadderRow]]:
    """The ladder of the slowest call of each cell."""
    return [
        max(group, key=lambda rows: rows[-1]["seconds"])
        for _, each in groupby(found, key=lambda rows: rows[0]["cell"])
        if (group := list(each))
    ]


def _ladder_figure(view: RunView) -> Figure | None:
    found = slowest(ladders(view))[:MOST]
    if not found:
        return None
    panels = tuple(_bar(rows, title(view, rows[0]), alone=len(found) == 1) for rows in found)
    return Figure("ladder", view.titled("Why it takes its time"), KEY, found[-1][0]["statement"], panels)


class Bar(TypedDict):
    """A step of the ladder as part of a bar: where it begins and ends, in the unit of the axis."""

    step: str
    start: float
    end: float
    hollow: bool
    text: str
    mover: str
    statement: str


def _bar(rows: Sequence[LadderRow], name: str, alone: bool) -> Any:
    unit, size = unit_of(row["seconds"] for row in rows)
    before, drawn = 0.0, list[Bar]()
    for row in rows:
        low, high = sorted((before, row["seconds"] / size))
        drawn.append(
            {
                "step": row["step"], "start": low, "end": high, "hollow": row["seconds"] / size < before,
                "text": format_seconds(row["seconds"]) + factor_text(row), "mover": row["mover"],
                "statement": row["statement"],
            }
        )  # fmt: skip
        before = row["seconds"] / size
    steps = [row["step"] for row in rows]
    y = alt.Y("step:N", sort=steps, title=None, axis=alt.Axis(labelLimit=120, ticks=False, domain=False))
    palette = alt.Scale(domain=list(STEPS), range=[COLOURS[step] for step in STEPS])
    colour = alt.Color("step:N", scale=palette, legend=None)
    stroke = alt.Stroke("step:N", scale=palette, legend=None)
    most = max(each["end"] for each in drawn)
    x = alt.X(
        "start:Q", title=f"time ({unit})", scale=alt.Scale(domain=[0, most * (1.35 if alone else 1.5)], nice=False)
    )
    tooltip = [alt.Tooltip("step:N"), alt.Tooltip("text:N"), alt.Tooltip("mover:N", title="what would move it")]
    base = alt.Chart(values(drawn)).encode(y=y)
    opacity = alt.condition("datum.hollow", alt.value(0.15), alt.value(0.9))
    return alt.layer(
        base.mark_bar(height=18, strokeWidth=1).encode(
            x=x, x2="end:Q", color=colour, stroke=stroke, fillOpacity=opacity, tooltip=tooltip
        ),
        base.mark_text(align="left", dx=5, fontSize=11, color=INK).encode(x="end:Q", text="text:N"),
    ).properties(width=420, height=26 * len(rows), title=alt.TitleParams(name, fontSize=12, anchor="start"))


def _round_figure(view: RunView) -> Figure | None:
    groups = [
        list(group) for _, group in groupby(ROUND_TIMES.read(view.path), key=lambda row: (row["cell"], row["call"]))
    ]
    groups = [rows for rows in groups if len(rows) > 2]
    if not groups:
        return None
    rows = max(groups, key=lambda found: (found[0]["nodes"], found[0]["ranks"], sum(row["seconds"] for row in found)))
    name = f"Rounds of a plain exchange by distance, {rows[0]['call']}, N = {rows[0]['nodes']}, p = {rows[0]['ranks']}"
    return Figure("rounds", view.titled(name), ROUNDS_KEY, round_reading(rows), (_rounds(rows),))


def round_reading(rows: Sequence[RoundRow]) -> str:
    """Which round takes longest and which is the shortest, and the link that the longest fills."""
    apart = [row for row in rows if row["distance"]]
    worst, least = (pick(apart, key=lambda row: row["seconds"]) for pick in (max, min))
    text = f"Round {worst['distance']} takes longest, {format_seconds(worst['seconds'])}"
    if least["seconds"] < worst["seconds"]:
        text += f"; round {least['distance']} is the shortest, {format_seconds(least['seconds'])}"
    return f"{text}. Round {worst['distance']} fills {worst['link']}." if worst["link"] else f"{text}."


def _rounds(rows: Sequence[RoundRow]) -> Any:
    unit, size = unit_of(row["seconds"] for row in rows)
    drawn = [
        {
            "d": row["distance"], "time": row["seconds"] / size, "link": row["link"] or "not known",
            "load": None if row["link_s"] is None else row["link_s"] / size,
        }
        for row in rows
    ]  # fmt: skip
    x = alt.X(
        "d:Q", title="distance d between sender and receiver, in ranks", axis=alt.Axis(format=",d", tickMinStep=1)
    )
    y = alt.Y("time:Q", title=f"time ({unit})", scale=alt.Scale(zero=True))
    base = alt.Chart(values(drawn)).encode(x=x)
    tooltip = [alt.Tooltip("d:Q"), alt.Tooltip("time:Q", format=".3~g"), alt.Tooltip("link:N")]
    return alt.layer(
        base.mark_line(color=BLUE, strokeWidth=1.2).encode(y=y),
        base.mark_circle(color=BLUE, size=30, opacity=1).encode(y=y, tooltip=tooltip),
        base.transform_filter("datum.load !== null")
        .mark_tick(color=ORANGE, thickness=3, size=14)
        .encode(y=alt.Y("load:Q", title=f"time ({unit})"), tooltip=tooltip),
    ).properties(height=240)
