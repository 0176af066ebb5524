# SPDX-License-Identifier: BSD-3-Clause
"""Figures 4.1 and 4.2, time against nodes or ranks; and Table 4.6 as a figure: calls cold and warm."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from weft.analyse.tables.claims import extras
from weft.analyse.tables.times import FloorRow, MedianRow, TimedRow, holding_bound_s, is_beaten, reach, timed
from weft.format import measured_factor, measured_seconds
from weft.plan.records import PlannedSeries
from weft.report.figures import Figure, theme
from weft.report.intervals import bound_text
from weft.report.view import CALLS, RunView, m_text
from weft.words import name_call
from weft.words.card import say

Axis = Literal["nodes", "ranks"]
Points = list[dict[str, Any]]
COLOURS = (theme.GREEN, theme.RED, theme.BLUE, theme.ORANGE, theme.INK, theme.GREY)
KEPT = {"strong": "constant global memory", "weak": "constant local memory", "none": "sweep"}
KEY = (
    "Line and points: median over all launches. Band: the interval that the table names. "
    "Small dots: median of each launch. Dashed: lower bound. Hollow: more ranks than cores."
)
MODEL_KEY = (
    "Line and points: what the model gives, the same at each launch. "
    "Dashed: lower bound. Hollow: more ranks than cores."
)
CALLS_KEY = (
    "Solid lines and filled points: warm median. Dashed lines and hollow points: the first call on fresh connections."
)


def scaling_figure(view: RunView, series: PlannedSeries, launches: Sequence[MedianRow]) -> Figure | None:
    """Time of the main call theme.along a series; None if no point has a time."""
    every = view.of_series(series, view.main_call)
    if not (rows := timed(every)):
        return None
    axis: Axis = "nodes" if len({row["nodes"] for row in every}) > 1 else "ranks"
    unit, size = theme.unit_of(reach(row)[1] for row in rows)
    points = [_point(row, axis, size) for row in rows]
    cells = {row["cell"]: row[axis] for row in rows}
    dots: Points = [
        {"x": cells[row["cell"]], "y": row["median_s"] / size, "launch": row["launch"]}
        | {"text": measured_seconds(row["median_s"])}
        for row in launches
        if row["cell"] in cells and (row["call"], row["phase"]) == (view.main_call, "warm")
    ]
    missing: Points = [
        {"x": row[axis], "status": row["status"], "reason": row["reason"]} for row in every if row not in rows
    ]
    xs = sorted({row[axis] for row in every})
    # a fall is a straight line on logarithmic axes; a rise is judged from zero
    span = theme.grows_by([point["y"] for point in points])
    logarithmic = series.scaling != "weak" and span >= 8 and theme.grows_by(xs) >= 4
    title = f"{name_call(view.main_call)}: {KEPT[series.scaling]}, {m_text(series)}"
    claim = next((each for each in view.claimed("answer") if extras(each).get("series") == series.name), None)
    reading = f"{say(claim).label}: {say(claim).text}" if claim else f"{len(rows)} points"
    said = "simulated" if (model := view.plan.is_model) else "measured"
    chart = _chart(theme.along(axis, xs, logarithmic), points, [] if model else dots, missing, unit, logarithmic, said)
    return Figure(f"time-{series.name}", view.titled(title), MODEL_KEY if model else KEY, reading, (chart,))


def _point(row: TimedRow, axis: Axis, size: float) -> dict[str, Any]:
    (low, high), bound_s = reach(row), holding_bound_s(row)
    numbers = {"x": row[axis], "y": row["median_s"] / size, "low": low / size, "high": high / size}
    numbers |= {"bound": bound_s / size if bound_s else None, "samples": row["samples"]}
    words = {"where": f"N = {row['nodes']}, p = {row['ranks']}", "name": row["bound"]}
    words["time"] = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
    words["limit"] = bound_text(row) if row["bound_s"] else "not known"
    return numbers | words | {"crowded": row["oversubscribed"]}


def _chart(x: alt.X, points: Points, dots: Points, missing: Points, unit: str, logarithmic: bool, said: str) -> Any:
    scale, y = _y(points, dots, unit, logarithmic)
    base = theme.chart(points).encode(x=x, y=y)
    usable, crowded = ([point for point in points if point["crowded"] is kind] for kind in (False, True))
    tooltip = theme.tooltips(where="at", time="median", limit="lower bound", samples="samples")
    low, bound = alt.Y("low:Q", scale=scale), alt.Y("bound:Q", scale=scale)
    bounded, thin = [point for point in points if point["bound"]], [*usable[-1:], *crowded]
    tips = [alt.Tooltip("launch:O"), alt.Tooltip("text:N", title="median")]
    whole: Any = alt.layer(
        theme.chart(usable).mark_area(color=theme.BLUE, opacity=0.22).encode(x=x, y=low, y2="high:Q"),
        theme.chart(bounded).mark_line(color=theme.GREY, strokeDash=[6, 4], strokeWidth=1.6).encode(x=x, y=bound),
        # thin lines to points with more ranks than cores: shown, but not compared
        theme.chart(thin).mark_line(color=theme.BLUE, strokeWidth=0.8, strokeDash=[2, 3]).encode(x=x, y=y),
        theme.chart(usable).mark_line(color=theme.BLUE, strokeWidth=2.2).encode(x=x, y=y),
        base.mark_rule(color=theme.BLUE, strokeWidth=1.4).encode(y=low, y2="high:Q"),
        base.mark_point(size=70, strokeWidth=2, color=theme.BLUE, filled=True, opacity=1).encode(
            fill=alt.condition("datum.crowded", alt.value("white"), alt.value(theme.BLUE)),
            stroke=alt.value(theme.BLUE),
            tooltip=tooltip,
        ),
        theme.chart(dots).mark_circle(color=theme.ORANGE, size=20, opacity=0.9).encode(x=x, y=y, tooltip=tips),
        # a point without a time, marked as missing at its place on the axis
        theme.chart(missing)
        .mark_text(color=theme.DARKER[theme.RED], angle=270, align="left", fontWeight="bold")
        .encode(x=x, y=alt.value(theme.HEIGHT - 6), text="status:N", tooltip=["status:N", "reason:N"]),
        *_labels(points, x, scale, logarithmic, said),
    )
    return whole.properties(height=theme.HEIGHT)


def _y(points: Points, dots: Points, unit: str, logarithmic: bool) -> tuple[alt.Scale, alt.Y]:
    """Scale and axis of the times, wide enough for the dots of all launches."""
    ends = (end for point in points for end in (point["low"], point["high"], point["bound"]) if end)
    seen = [*ends, *(dot["y"] for dot in dots if dot["y"])]
    if logarithmic:
        low, high = min(seen) / 1.6, max(seen) * 1.25
        ticks = theme.decades(low, high, (1, 2, 5) if theme.grows_by(seen) < 300 else (1,))
        scale, axis = alt.Scale(type="log", domain=[low, high], nice=False), alt.Axis(values=ticks, format=".4~r")
    else:
        scale, axis = alt.Scale(domain=[0, max(seen) * 1.08], nice=True), alt.Axis(format=".4~r", tickCount=6)
    return scale, alt.Y("y:Q", title=f"time ({unit})", scale=scale, axis=axis)


def _labels(points: Points, x: alt.X, scale: alt.Scale, logarithmic: bool, said: str) -> list[Any]:
    """The lines' names to the right of their last points, kept apart."""
    last = points[-1]
    names = [(said, last["y"], theme.BLUE)]
    if last["bound"]:
        names.append((f"lower bound:\n{last['name']}", last["bound"], theme.GREY))
    if logarithmic:
        span = math.log(theme.grows_by([end for point in points for end in (point["y"], point["bound"]) if end])) or 1.0
        scaled, back = math.log, math.exp
    else:
        span = max(end or 0 for point in points for end in (point["high"], point["bound"]))
        scaled, back = float, float
    places = map(back, theme.dodged([scaled(value) for _, value, _ in names], span * 26 / theme.HEIGHT))
    return [
        theme.chart([{"x": last["x"], "y": place, "name": name}])
        .mark_text(align="left", dx=10, dy=-5, color=colour, fontSize=11, lineBreak="\n")
        .encode(x=x, y=alt.Y("y:Q", scale=scale), text="name:N")
        for (name, _, colour), place in zip(names, places, strict=True)
    ]


def calls_figure(view: RunView, series: PlannedSeries) -> Figure | None:
    """All calls of a series, cold and warm; None if there is nothing to compare."""
    calls = view.calls_of(series)
    rows = timed(row for call in calls for phase in ("warm", "cold") for row in view.of_series(series, call, phase))
    if len(calls) < 2 or not rows:
        return None
    axis = "nodes" if len({row["nodes"] for row in rows}) > 1 else "ranks"
    points: Points = [
        {
            "x": row[axis], "y": row["median_s"], "call": row["call"], "phase": row["phase"],
            "what": f"{CALLS.get(row['call'], row['call'])}, {row['phase']}",
            "where": f"N = {row['nodes']}, p = {row['ranks']}",
            "time": measured_seconds(row["median_s"], row["low_s"], row["high_s"]),
        }
        for row in rows
    ]  # fmt: skip
    title = f"The calls, cold and warm: {series.name}, {m_text(series)}"
    chart = _calls_chart(axis, points, calls)
    return Figure(f"calls-{series.name}", view.titled(title), CALLS_KEY, calls_reading(rows, view.floor), (chart,))


def _calls_chart(axis: str, points: Points, calls: list[str]) -> Any:
    xs = sorted({point["x"] for point in points})
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

    # each line's name to the right of its last point, at least 16 pixels apart; points come in the order of x
    lines = sorted({(point["call"], point["phase"]): point for point in points}.values(), key=lambda point: point["y"])
    gap = math.log(highest / lowest * 2.56) * 16 / (theme.HEIGHT + 40)
    names = [
        {"x": xs[-1], "y": math.exp(place), "call": point["call"], "name": f"{point['call']} {point['phase']}"}
        for point, place in zip(lines, theme.dodged([math.log(point["y"]) for point in lines], gap), strict=True)
    ]
    whole: Any = alt.layer(
        marks(cold).mark_line(strokeDash=[5, 4], strokeWidth=1.4),
        marks(warm).mark_line(strokeWidth=2.2),
        marks(cold).mark_point(size=50, fill="white", strokeWidth=1.6, opacity=1).encode(tooltip=tooltip),
        marks(warm).mark_point(size=50, filled=True, opacity=1).encode(tooltip=tooltip),
        marks(names).mark_text(align="left", dx=10, fontWeight="bold").encode(text="name:N", color=shade),
    )
    return whole.resolve_scale(color="independent").properties(height=theme.HEIGHT + 40)


def calls_reading(rows: Sequence[TimedRow], floor: Sequence[FloorRow] = ()) -> str:
    """Which first call of several ranks, above noise floor and bound, is slowest beside later ones, and where."""
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
        f"The first call is slowest for {name_call(cold['call'])} at {where}: it takes "
        f"{measured_seconds(cold['median_s'])}, {factor} the {measured_seconds(hot['median_s'])} of later calls."
    )


def _lost(row: TimedRow, floor: Sequence[FloorRow]) -> bool:
    """Whether a time is no longer than an empty operation on the same shape (METHOD 21)."""
    shape = ("empty", row["nodes"], row["ranks_per_node"])
    own = [each for each in floor if (each["quantity"], each["nodes"], each["ranks_per_node"]) == shape]
    empty_s = max((each["value"] or 0.0 for each in own), default=0.0)
    return not row["oversubscribed"] and row["median_s"] * row["batch"] <= empty_s
