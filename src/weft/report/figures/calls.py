# SPDX-License-Identifier: BSD-3-Clause
"""Table 4.6 as a figure: the calls against nodes or ranks, first call (cold) beside the steady state (warm)."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.analyse.tables.times import FloorRow, TimedRow, is_beaten, reach, timed
from weft.format import measured_factor, measured_seconds
from weft.plan.records import PlannedSeries
from weft.report.figures import Figure, theme
from weft.report.view import CALLS, RunView, call_name, m_text

COLOURS = (theme.GREEN, theme.RED, theme.BLUE, theme.ORANGE, theme.INK, theme.GREY)
KEY = "Solid lines and filled points: warm median. Dashed lines and hollow points: the first call on fresh connections."


def calls_figure(view: RunView, series: PlannedSeries) -> Figure | None:
    """All calls of a series, cold and warm; None if there is nothing to compare."""
    calls = view.calls_of(series)
    rows = timed(row for call in calls for phase in ("warm", "cold") for row in view.of_series(series, call, phase))
    if len(calls) < 2 or not rows:
        return None
    axis = "nodes" if len({row["nodes"] for row in rows}) > 1 else "ranks"
    points: list[dict[str, Any]] = [
        {"x": row[axis], "y": row["median_s"], "call": row["call"], "phase": row["phase"]}
        | {"what": f"{CALLS.get(row['call'], row['call'])}, {row['phase']}"}
        | {"where": f"N = {row['nodes']}, p = {row['ranks']}"}
        | {"time": measured_seconds(row["median_s"], row["low_s"], row["high_s"])}
        for row in rows
    ]
    title = f"The calls, cold and warm: {series.name}, {m_text(series)}"
    chart = _chart(axis, points, calls)
    return Figure(f"calls-{series.name}", view.titled(title), KEY, reading(rows, view.floor), (chart,))


def _chart(axis: str, points: Sequence[dict[str, Any]], calls: list[str]) -> Any:
    xs = sorted({point["x"] for point in points})
    span = theme.grows_by([point["y"] for point in points])
    x = theme.along(axis, xs, theme.grows_by(xs) >= 8, room=0.35)
    lowest, highest = (edge([point["y"] for point in points]) for edge in (min, max))
    scale = alt.Scale(type="log", domain=[lowest / 1.6, highest * 1.6], nice=False)
    ticks = [10.0**power for power in range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)]
    y = alt.Y("y:Q", title="time", scale=scale, axis=alt.Axis(values=ticks, labelExpr=theme.SECONDS_LABEL))
    colour, shade = (alt.Color("call:N", scale=each, legend=None) for each in theme.palettes(calls, COLOURS))
    warm, cold = ([point for point in points if point["phase"] == phase] for phase in ("warm", "cold"))
    tooltip = theme.tooltips(what="call", where="at", time="median")

    def marks(rows: Sequence[dict[str, Any]]) -> Any:
        return theme.chart(rows).encode(x=x, y=y, color=colour)

    labels = marks(_labels(points, math.log(span * 2.56)))
    whole: Any = alt.layer(
        marks(cold).mark_line(strokeDash=[5, 4], strokeWidth=1.4),
        marks(warm).mark_line(strokeWidth=2.2),
        marks(cold).mark_point(size=50, fill="white", strokeWidth=1.6, opacity=1).encode(tooltip=tooltip),
        marks(warm).mark_point(size=50, filled=True, opacity=1).encode(tooltip=tooltip),
        labels.mark_text(align="left", dx=10, fontWeight="bold").encode(text="name:N", color=shade),
    )
    return whole.resolve_scale(color="independent").properties(height=theme.HEIGHT + 40)


def _labels(points: Sequence[dict[str, Any]], span: float) -> list[dict[str, Any]]:
    """Each line's name to the right of its last point, at least 16 pixels apart."""
    ends = {(point["call"], point["phase"]): point for point in points}  # points come in the order of x
    lines = sorted(ends.values(), key=lambda point: point["y"])
    right = max(point["x"] for point in points)
    places = theme.dodged([math.log(point["y"]) for point in lines], span * 16 / (theme.HEIGHT + 40))
    return [
        {"x": right, "y": math.exp(place), "call": point["call"], "name": f"{point['call']} {point['phase']}"}
        for point, place in zip(lines, places, strict=True)
    ]


def reading(rows: Sequence[TimedRow], floor: Sequence[FloorRow] = ()) -> str:
    """Which first call stands out most among the later ones, and where.

    None at one rank, which has no connections, and none whose time is below the noise floor or its own bound.
    """
    warm = {(row["cell"], row["call"]): row for row in rows if row["phase"] == "warm"}
    first = [row for row in rows if row["phase"] == "cold" and row["ranks"] > 1]
    pairs = [(row, warm[row["cell"], row["call"]]) for row in first if (row["cell"], row["call"]) in warm]
    pairs = [pair for pair in pairs if not any(is_beaten(row) or _lost(row, floor) for row in pair)]
    pairs = [(cold, hot) for cold, hot in pairs if not cold["oversubscribed"]] or pairs
    if not pairs:
        return "No call of several ranks has both a cold and a warm time above the noise floor and its bound."
    cold, hot = max(pairs, key=lambda pair: pair[0]["median_s"] / pair[1]["median_s"])
    ratio = cold["median_s"] / hot["median_s"]
    (least, most), (fastest, slowest) = reach(cold), reach(hot)
    ends = (least / slowest, most / fastest) if least < most else (None, None)
    factor = measured_factor(ratio, *ends, "times")
    where = f"N = {cold['nodes']}, p = {cold['ranks']}"
    if ratio < 1.2:
        return f"First calls cost no more than later ones (at most {factor}, {cold['call']} at {where})."
    return (
        f"The first call is slowest for {call_name(cold['call'])} at {where}: it takes "
        f"{measured_seconds(cold['median_s'])}, {factor} the {measured_seconds(hot['median_s'])} of later calls."
    )


def _lost(row: TimedRow, floor: Sequence[FloorRow]) -> bool:
    """Whether a time is no longer than an empty operation on the same shape (METHOD 21)."""
    shape = ("empty", row["nodes"], row["ranks_per_node"])
    own = [each for each in floor if (each["quantity"], each["nodes"], each["ranks_per_node"]) == shape]
    empty_s = max((each["value"] or 0.0 for each in own), default=0.0)
    return not row["oversubscribed"] and row["median_s"] * row["batch"] <= empty_s
