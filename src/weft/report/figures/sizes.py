# SPDX-License-Identifier: BSD-3-Clause
"""Time or rate against message size on logarithmic axes: a line for each pattern or process count, changes marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from weft.analyse.tables.answers import cause_text, factor_text
from weft.analyse.tables.sweeps import Line, size_of
from weft.analyse.tables.times import holding_bound_s, reach
from weft.format import exact_bytes, measured_rate, measured_seconds
from weft.report.figures import theme
from weft.report.figures.calls import COLOURS

Quantity = Literal["time", "rate"]

PANEL = 230
#: Width of the plot on paper, where it is narrowest, and of a bold letter of a name, in pixels.
NARROWEST, LETTER_PX = 470, 6.6
#: A bound further than this factor from the times is not drawn.
FAR = 20
KEY = (
    "Points: median over launches, with its interval; rings: of fewer than half of them, no part of the line. "
    "Dashed: lower bound. "
    "Red diamond: a change-over at which the time steps; hollow: one at which only its slope or the algorithm changes. "
    "Dotted: value of a knob that may explain it, and does where the table says confirmed."
)

RATE_KEY = KEY.replace("Dashed: lower bound.", "Dashed: upper limit, by the lower bound of the time.")


@dataclass(frozen=True)
class Drawn:
    """One line of a panel and the name at its end."""

    line: Line
    label: str


def size_panel(drawn: Sequence[Drawn], quantity: Quantity, *, small: bool, title: str = "") -> Any:
    """One chart of some lines. `quantity`: ``time`` of one operation, or ``rate``: bytes over that time."""
    rows = [row for each in drawn for row in _points(each, quantity)]
    marks = [row for each in drawn for row in _marks(each, quantity)]
    width, height = (PANEL, 200) if small else (None, theme.HEIGHT + 40)
    last = max(row["x"] for row in rows)
    longest = max(len(row["label"]) for row in rows if row["x"] == last)
    x = _size_axis([row["x"] for row in rows], small, longest)
    y, scale, span = _value_axis(rows, quantity)
    labels = [each.label for each in drawn]
    colour, shade = (alt.Color("label:N", scale=each, legend=None) for each in theme.palettes(labels, COLOURS))
    tooltip = theme.tooltips(label="line", size="message", time="median", rate="rate", samples="samples")
    base = theme.chart([row for row in rows if not row["rare"]]).encode(x=x, y=y, color=colour)
    rare = theme.chart([row for row in rows if row["rare"]]).encode(x=x, y=y, color=colour)
    whole: Any = alt.layer(
        theme.chart([row for row in rows if row["bound"]])
        .mark_line(strokeDash=[5, 4], strokeWidth=1.2, opacity=0.55, clip=True)
        .encode(x=x, y=alt.Y("bound:Q", scale=scale), color=colour),
        *_limits(drawn, x, height),
        base.mark_line(strokeWidth=1.8),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(size=22, filled=True, opacity=1).encode(tooltip=tooltip),
        rare.mark_point(size=26, filled=False, opacity=1).encode(tooltip=tooltip),
        theme.chart(marks)
        .mark_point(shape="diamond", size=110, strokeWidth=1.6, stroke=theme.RED, opacity=1)
        .encode(
            x=x,
            y=y,
            fill=alt.condition("datum.jump", alt.value(theme.RED), alt.value("white")),
            tooltip=theme.tooltips(between="between", what="over that expected", cause="cause"),
        ),
        theme.chart(_labels(rows, span * 14 / height))
        .mark_text(align="left", dx=7, fontSize=11, fontWeight="bold")
        .encode(x=x, y=y, color=shade, text="label:N"),
    )
    chart = whole.resolve_scale(color="independent").properties(height=height)
    if width:
        chart = chart.properties(width=width, title=alt.TitleParams(title, fontSize=12, anchor="middle"))
    return chart


def _points(each: Drawn, quantity: Quantity) -> list[dict[str, Any]]:
    """The sizes of a line: time in seconds or rate in B/s, with its interval and bound."""
    found: list[dict[str, Any]] = []
    for row in each.line.rows:
        size = size_of(row)
        if not size:
            continue  # a logarithmic axis has no place for an empty message; the table has
        low, high, bound = (_value(size, time, quantity) for time in (*reach(row), holding_bound_s(row)))
        numbers = {"x": size, "y": _value(size, row["median_s"], quantity), "low": low, "high": high, "bound": bound}
        words = {"label": each.label, "size": exact_bytes(size), "rate": measured_rate(size, row["median_s"])}
        words["time"] = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        found.append(numbers | words | {"samples": row["samples"], "rare": each.line.is_rare(row)})
    return found


def _value(size: float, seconds: float | None, quantity: Quantity) -> float | None:
    if not seconds:
        return None
    return seconds if quantity == "time" else size / seconds


def _marks(each: Drawn, quantity: Quantity) -> list[dict[str, Any]]:
    """A diamond on the line, midway between the two sizes of each change-over."""
    found: list[dict[str, Any]] = []
    for change in each.line.changes:
        ends = [each.line.at(size) for size in (change["lower"], change["upper"])]
        seconds = [row["median_s"] for row in ends if row]
        if len(seconds) < 2 or not change["lower"]:
            continue
        size, time = math.sqrt(change["lower"] * change["upper"]), math.sqrt(seconds[0] * seconds[1])
        numbers = {"x": size, "y": _value(size, time, quantity), "jump": change["kind"] == "jump"}
        words = {"label": each.label, "what": f"x {factor_text(change)}", "cause": cause_text(change)}
        words["between"] = f"{exact_bytes(change['lower'])} and {exact_bytes(change['upper'])}"
        found.append(numbers | words)
    return found


def _limits(drawn: Sequence[Drawn], x: alt.X, height: int) -> list[Any]:
    """A line at each eager limit that may explain a change-over: at the knob's value, not where that was found."""
    limits = [change for each in drawn for change in each.line.changes if change["eager_limit"]]
    known = {change["knob_value"]: change["knobs"][0] for change in limits if change["knob_value"] is not None}
    layers: list[Any] = []
    for place, (value, name) in enumerate(sorted(known.items(), reverse=True)):
        chart = theme.chart([{"x": value, "name": f"{name} = {exact_bytes(value)}"}])
        # at the bottom, right of the line: times and rates both rise away from there; one above the other, or they meet
        layers += [
            chart.mark_rule(color=theme.INK, strokeDash=[2, 3], strokeWidth=1.2).encode(x=x),
            chart.mark_text(align="left", dx=4, baseline="bottom", fontSize=10, color=theme.INK).encode(
                x=x, y=alt.value(height - 3 - 13 * place), text="name:N"
            ),
        ]
    return layers


def _size_axis(sizes: Sequence[int], small: bool, longest: int) -> alt.X:
    """The axis, with room for a name of so many letters to the right of the largest size."""
    first, last = min(sizes), max(sizes)
    powers = range(math.floor(math.log2(first)), math.ceil(math.log2(last)) + 1)
    step = max(1, math.ceil(len(powers) / (6 if small else 13)))
    share = min((LETTER_PX * longest + 10) / (PANEL if small else NARROWEST), 0.5)
    room = theme.grows_by([first, last]) ** max(0.3 if small else 0.2, share / (1 - share))
    scale = alt.Scale(type="log", base=2, domain=[first / 1.3, last * max(room, 1.5)], nice=False)
    ticks = [2**power for power in powers][::step]
    axis = alt.Axis(values=ticks, labelExpr=theme.BYTES_LABEL, grid=False, labelOverlap=True)
    return alt.X("x:Q", title=None if small else "message size", scale=scale, axis=axis)


def _value_axis(rows: Sequence[dict[str, Any]], quantity: Quantity) -> tuple[alt.Y, alt.Scale, float]:
    """The axis, its scale, and its length as a logarithm. A bound far away is cut off: it would flatten the times."""
    seen = [end for row in rows for end in (row["low"], row["high"]) if end]
    bounds = [row["bound"] for row in rows if row["bound"]]
    lowest = min([*seen, *(bound for bound in bounds if bound > min(seen) / FAR)])
    highest = max([*seen, *(bound for bound in bounds if bound < max(seen) * FAR)])
    scale = alt.Scale(type="log", domain=[lowest / 1.5, highest * 1.8], nice=False)
    span = math.log10(highest / lowest)
    ticks = theme.decades(lowest / 1.5, highest * 1.8, (1, 2, 5) if span < 2.2 else (1,))
    axis = alt.Axis(values=ticks, labelExpr=theme.SECONDS_LABEL if quantity == "time" else theme.RATES_LABEL)
    return alt.Y("y:Q", title=quantity, scale=scale, axis=axis), scale, math.log(highest / lowest * 2.7)


def _labels(rows: Sequence[dict[str, Any]], gap: float) -> list[dict[str, Any]]:
    """Each line's name to the right of its last point, kept apart by a distance on the logarithmic scale."""
    ends = sorted({row["label"]: row for row in rows}.values(), key=lambda row: row["y"])
    placed = zip(ends, theme.dodged([math.log(row["y"]) for row in ends], gap), strict=True)
    return [{"x": row["x"], "y": math.exp(place), "label": row["label"]} for row, place in placed]
