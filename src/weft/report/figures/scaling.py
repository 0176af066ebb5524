# SPDX-License-Identifier: BSD-3-Clause
"""Figures 4.1 and 4.2: time against nodes or ranks, with its interval, the launches and the lower bound."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from weft.analyse.tables.claims import extras
from weft.analyse.tables.times import MedianRow, TimedRow, holding_bound_s, reach, timed
from weft.format import measured_seconds
from weft.plan.records import PlannedSeries
from weft.report.figures import Figure, theme
from weft.report.intervals import bound_text
from weft.report.view import RunView, call_name, m_text
from weft.words.say import say

Axis = Literal["nodes", "ranks"]

KEPT = {"strong": "constant global memory", "weak": "constant local memory", "none": "sweep"}
KEY = (
    "Line and points: median over all launches. Band: the interval that the table names. "
    "Small dots: median of each launch. Dashed: lower bound. Hollow: more ranks than cores."
)

MODEL_KEY = (
    "Line and points: what the model gives, the same at each launch. "
    "Dashed: lower bound. Hollow: more ranks than cores."
)


def scaling_figure(view: RunView, series: PlannedSeries, launches: Sequence[MedianRow]) -> Figure | None:
    """Time of the main call theme.along a series; None if no point has a time."""
    every = view.of_series(series, view.main_call)
    rows = timed(every)
    if not rows:
        return None
    axis: Axis = "nodes" if len({row["nodes"] for row in every}) > 1 else "ranks"
    unit, size = theme.unit_of(reach(row)[1] for row in rows)
    points = [_point(row, axis, size) for row in rows]
    cells = {row["cell"]: row[axis] for row in rows}
    own = [row for row in launches if row["cell"] in cells and (row["call"], row["phase"]) == (view.main_call, "warm")]
    dots: list[dict[str, Any]] = [
        {"x": cells[row["cell"]], "y": row["median_s"] / size, "launch": row["launch"]}
        | {"text": measured_seconds(row["median_s"])}
        for row in own
    ]
    missing: list[dict[str, Any]] = [
        {"x": row[axis], "status": row["status"], "reason": row["reason"]} for row in every if row not in rows
    ]
    xs = sorted({row[axis] for row in every})
    # a fall is a straight line on logarithmic axes; a rise is judged from zero
    span = theme.grows_by([point["y"] for point in points])
    logarithmic = series.scaling != "weak" and span >= 8 and theme.grows_by(xs) >= 4
    title = f"{call_name(view.main_call)}: {KEPT[series.scaling]}, {m_text(series)}"
    claim = next((each for each in view.claimed("answer") if extras(each).get("series") == series.name), None)
    reading = f"{say(claim).label}: {say(claim).text}" if claim else f"{len(rows)} points"
    model = view.plan.is_model
    said = "simulated" if model else "measured"
    chart = _chart(theme.along(axis, xs, logarithmic), points, [] if model else dots, missing, unit, logarithmic, said)
    return Figure(f"time-{series.name}", view.titled(title), MODEL_KEY if model else KEY, reading, (chart,))


def _point(row: TimedRow, axis: Axis, size: float) -> dict[str, Any]:
    """The time of a cell with its interval and lower bound, in the unit of the axis."""
    (low, high), bound_s = reach(row), holding_bound_s(row)
    numbers = {"x": row[axis], "y": row["median_s"] / size, "low": low / size, "high": high / size}
    numbers |= {"bound": bound_s / size if bound_s else None, "samples": row["samples"]}
    words = {"where": f"N = {row['nodes']}, p = {row['ranks']}", "name": row["bound"]}
    words["time"] = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
    words["limit"] = bound_text(row) if row["bound_s"] else "not known"
    return numbers | words | {"crowded": row["oversubscribed"]}


Points = list[dict[str, Any]]


def _chart(x: alt.X, points: Points, dots: Points, missing: Points, unit: str, logarithmic: bool, said: str) -> Any:
    scale, y = _y(points, dots, unit, logarithmic)
    base = theme.chart(points).encode(x=x, y=y)
    usable, crowded = ([point for point in points if point["crowded"] is kind] for kind in (False, True))
    tooltip = theme.tooltips(where="at", time="median", limit="lower bound", samples="samples")
    low, bound = alt.Y("low:Q", scale=scale), alt.Y("bound:Q", scale=scale)
    bounded, thin = [point for point in points if point["bound"]], [*usable[-1:], *crowded]
    told = [alt.Tooltip("launch:O"), alt.Tooltip("text:N", title="median")]
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
        theme.chart(dots).mark_circle(color=theme.ORANGE, size=20, opacity=0.9).encode(x=x, y=y, tooltip=told),
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
        places = [
            math.exp(value)
            for value in theme.dodged([math.log(value) for _, value, _ in names], span * 26 / theme.HEIGHT)
        ]
    else:
        span = max(end or 0 for point in points for end in (point["high"], point["bound"]))
        places = theme.dodged([value for _, value, _ in names], span * 26 / theme.HEIGHT)
    rows = [{"x": last["x"], "y": place, "name": name} for (name, _, _), place in zip(names, places, strict=True)]
    return [
        theme.chart([row])
        .mark_text(align="left", dx=10, dy=-5, color=colour, fontSize=11, lineBreak="\n")
        .encode(x=x, y=alt.Y("y:Q", scale=scale), text="name:N")
        for row, (_, _, colour) in zip(rows, names, strict=True)
    ]
