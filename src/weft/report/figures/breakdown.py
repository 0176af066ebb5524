# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown of each cell as one bar from the floor up, and the rounds of a plain exchange by the fullest link."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import altair as alt

from weft.analyse.tables.answers import main_verdict
from weft.analyse.tables.breakdown import ROUND_TIMES, STEPS, BreakdownRow, RoundRow
from weft.format import format_seconds
from weft.report.card import breakdowns, call_title, factor_text, say_breakdown
from weft.report.figures import Figure
from weft.report.figures.theme import BLUE, GREEN, GREY, ORANGE, RED, chart, unit_of
from weft.report.view import RunView

COLOURS = {"hardware": GREY, "messages": BLUE, "contention": ORANGE, "algorithm": RED, "arrival": GREEN}
MOST = 6  # so many breakdowns are drawn; `weft why` prints all
ROW, ROOM = 24, 1.6  # height of a row in pixels; how far the axis goes beyond the longest bar: room for its numbers
KEY = (
    "Each group is a call, from the floor up, as shares of its time: hardware (the nearest lower bound), messages (the "
    "same blocks alone), contention (everybody at once, in plain rounds), algorithm (the library's call), arrival "
    "(late ranks). A hollow bar is time that a step takes away. At its end: the time up to this step, and its factor "
    "over the step below."
)
ROUNDS_KEY = (
    "Blue: time of each round, the median over launches of the slowest rank; in round d every rank sends to the one d "
    "behind it. Orange: what the link that the round fills longest needs for its blocks, where the routes are known."
)


def breakdown_figures(view: RunView) -> list[Figure]:
    """The bars, and the rounds of the largest cells; nothing where nothing was explained."""
    if not (found := slowest(breakdowns(view))) or not any(each["id"].startswith("breakdown.") for each in view.claims):
        return _round_figures(view)
    verdict = main_verdict(view.verdicts)
    own = next((rows for rows in found if verdict and rows[0]["cell"] == verdict["cell"]), None)
    fair = [rows for rows in found if not view.plan.cell(rows[0]["cell"]).oversubscribed]
    main = own or (fair or found)[-1]  # it speaks for the run: of its verdict's cell, or of the largest fair one
    drawn = [main, *(rows for rows in found if rows is not main)][:MOST]
    said = say_breakdown(view, main[0])
    return [Figure("breakdown", view.titled("Breakdown"), KEY, said, (_bars(view, drawn),)), *_round_figures(view)]


def slowest(found: Sequence[list[BreakdownRow]]) -> list[list[BreakdownRow]]:
    """The breakdown of the slowest call of each cell."""
    cells = groupby(found, key=lambda rows: rows[0]["cell"])
    return [max(group, key=lambda rows: rows[-1]["seconds"]) for _, group in cells]


def _rows_of(place: int, rows: Sequence[BreakdownRow], name: str) -> list[dict[str, Any]]:
    """The name of a breakdown, then its steps; ends are shares of the call's time in percent, ``row`` is the place."""
    whole, before = rows[-1]["seconds"] / 100, 0.0
    drawn: list[dict[str, Any]] = [
        {"row": f"{place:02}|0|", "step": "", "start": 0.0, "end": 0.0, "hollow": False, "text": name, "mover": ""}
    ]
    for step, row in enumerate(rows, 1):
        share = row["seconds"] / whole
        low, high = sorted((before, share))
        own = {"row": f"{place:02}|{step}|{row['step']}", "step": row["step"], "mover": row["mover"]}
        own["text"] = format_seconds(row["seconds"]) + factor_text(row)
        drawn.append(own | {"start": low, "end": high, "hollow": share < before})
        before = share
    return drawn


def _bars(view: RunView, found: Sequence[list[BreakdownRow]]) -> Any:
    """All breakdowns in one chart: each has its own hundred percent, so that a short call shows."""
    titles = [call_title(view, rows[0]["cell"], rows[0]["call"]) for rows in found]
    drawn = [bar for place, rows in enumerate(found) for bar in _rows_of(place, rows, titles[place])]
    names = alt.Axis(labelExpr="split(datum.value, '|')[2]", labelLimit=120, ticks=False, domain=False)
    y = alt.Y("row:N", sort=[bar["row"] for bar in drawn], title=None, axis=names)
    palette = alt.Scale(domain=list(STEPS), range=[COLOURS[step] for step in STEPS])
    painted: dict[str, Any] = {"color": alt.Color("step:N", scale=palette, legend=None)}
    painted["stroke"] = alt.Stroke("step:N", scale=palette, legend=None)
    most = max(bar["end"] for bar in drawn)
    ticks = alt.Axis(values=list(range(0, int(most) + 1, 25 if most < 250 else 100)), format="d")
    scale = alt.Scale(domain=[0, most * ROOM], nice=False)
    x = alt.X("start:Q", title="share of the call's time (%)", scale=scale, axis=ticks)
    tooltip = [alt.Tooltip("step:N"), alt.Tooltip("text:N"), alt.Tooltip("mover:N", title="what would move it")]
    heads, steps = (chart(bar for bar in drawn if bool(bar["step"]) is of).encode(y=y) for of in (False, True))
    painted["fillOpacity"] = alt.condition("datum.hollow", alt.value(0.15), alt.value(0.9))
    return alt.layer(
        steps.mark_bar(height=16, strokeWidth=1).encode(x=x, x2="end:Q", tooltip=tooltip, **painted),
        steps.mark_text(align="left", dx=5).encode(x="end:Q", text="text:N"),
        heads.mark_text(align="left", baseline="middle", dy=3, fontWeight="bold").encode(x="start:Q", text="text:N"),
    ).properties(height=ROW * len(drawn))


def _round_figures(view: RunView) -> list[Figure]:
    calls = groupby(ROUND_TIMES.read(view.path), key=lambda row: (row["cell"], row["call"]))
    if not (groups := [rows for rows in (list(group) for _, group in calls) if len(rows) > 2]):
        return []

    def size(found: Sequence[RoundRow]) -> tuple[bool, int, int, float]:
        fair = not view.plan.cell(found[0]["cell"]).oversubscribed
        return fair, found[0]["nodes"], found[0]["ranks"], sum(row["seconds"] for row in found)

    rows = max(groups, key=size)
    name = f"Rounds of a plain exchange by distance, {rows[0]['call']}, N = {rows[0]['nodes']}, p = {rows[0]['ranks']}"
    return [Figure("rounds", view.titled(name), ROUNDS_KEY, round_reading(rows), (_rounds(rows),))]


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
        {"d": row["distance"], "time": row["seconds"] / size, "link": row["link"] or "not known"}
        | {"load": None if row["link_s"] is None else row["link_s"] / size}
        for row in rows
    ]
    title = "distance d between sender and receiver, in ranks"
    x = alt.X("d:Q", title=title, axis=alt.Axis(format=",d", tickMinStep=1))
    y = alt.Y("time:Q", title=f"time ({unit})", scale=alt.Scale(zero=True))
    base = chart(drawn).encode(x=x)
    tooltip = [alt.Tooltip("d:Q"), alt.Tooltip("time:Q", format=".3~g"), alt.Tooltip("link:N")]
    return alt.layer(
        base.mark_line(color=BLUE, strokeWidth=1.2).encode(y=y),
        base.mark_circle(color=BLUE, size=30, opacity=1).encode(y=y, tooltip=tooltip),
        base.transform_filter("datum.load !== null")
        .mark_tick(color=ORANGE, thickness=3, size=14)
        .encode(y=alt.Y("load:Q", title=f"time ({unit})"), tooltip=tooltip),
    ).properties(height=240)
