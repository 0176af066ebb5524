# SPDX-License-Identifier: BSD-3-Clause
"""Time or rate against message size, a line for each pattern or process count; and the fastest algorithms as tiles."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from weft.analyse.tables.answers import WinnerRow, cause_text, factor_text
from weft.analyse.tables.sweeps import Line, beats, size_of
from weft.analyse.tables.times import holding_bound_s, reach
from weft.format import exact_bytes, measured_factor, measured_rate, measured_seconds
from weft.mpi.algorithms import DEFAULT
from weft.report.figures import Figure, theme
from weft.report.figures.scaling import COLOURS
from weft.report.figures.theme import BLUE, DARKER, GREEN, INK, ORANGE, RED, chart

Quantity = Literal["time", "rate"]
PANEL, TILE = 230, 30
NARROWEST, LETTER_PX = 470, 6.6  # width of the plot on paper, at its narrowest, and of a bold letter, in pixels
FAR = 20  # a bound further than this factor from the times is not drawn
KEY = (
    "Points: median over launches, with its interval; rings: of fewer than half of them, no part of the line. "
    "Dashed: lower bound. "
    "Red diamond: a change-over at which the time steps; hollow: one at which only its slope or the algorithm changes. "
    "Dotted: value of a knob that may explain it, and does where the table says confirmed."
)
RATE_KEY = KEY.replace("Dashed: lower bound.", "Dashed: upper limit, by the lower bound of the time.")
WINNERS_KEY = (
    "Colour: the fastest algorithm. Number: its time over that of the library's own choice. "
    "Grey: the library's own choice; no other is significantly faster."
)
#: Without grey, which is the default's; each dark enough for white numbers.
TILE_COLOURS = (BLUE, DARKER[RED], DARKER[GREEN], DARKER[ORANGE], "#a23b8c", INK, "#7c3aed", "#b0305c", "#26789f")


def size_panel(drawn: Sequence[tuple[Line, str]], quantity: Quantity, *, small: bool, title: str = "") -> Any:
    """A chart of lines and their names. `quantity`: ``time`` of one operation, or ``rate``: bytes over that time."""
    rows = [row for each in drawn for row in _points(*each, quantity)]
    marks = [row for each in drawn for row in _marks(*each, quantity)]
    height = 200 if small else theme.HEIGHT + 40
    last = max(row["x"] for row in rows)
    longest = max(len(row["label"]) for row in rows if row["x"] == last)
    x = _size_axis([row["x"] for row in rows], small, longest)
    y, scale, span = _value_axis(rows, quantity)
    labels = [label for _, label in drawn]
    colour, shade = (alt.Color("label:N", scale=each, legend=None) for each in theme.palettes(labels, COLOURS))
    tooltip = theme.tooltips(label="line", size="message", time="median", rate="rate", samples="samples")
    tips = theme.tooltips(between="between", what="over that expected", cause="cause")
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
        .encode(x=x, y=y, fill=alt.condition("datum.jump", alt.value(theme.RED), alt.value("white")), tooltip=tips),
        theme.chart(_labels(rows, span * 14 / height))
        .mark_text(align="left", dx=7, fontSize=11, fontWeight="bold")
        .encode(x=x, y=y, color=shade, text="label:N"),
    )
    chart = whole.resolve_scale(color="independent").properties(height=height)
    return chart.properties(width=PANEL, title=alt.TitleParams(title, fontSize=12, anchor="middle")) if small else chart


def _points(line: Line, label: str, quantity: Quantity) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row in line.rows:
        if not (size := size_of(row)):
            continue  # a logarithmic axis has no place for an empty message; the table has
        low, high, bound = (_value(size, time, quantity) for time in (*reach(row), holding_bound_s(row)))
        numbers = {"x": size, "y": _value(size, row["median_s"], quantity), "low": low, "high": high, "bound": bound}
        words = {"label": label, "size": exact_bytes(size), "rate": measured_rate(size, row["median_s"])}
        words["time"] = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        found.append(numbers | words | {"samples": row["samples"], "rare": line.is_rare(row)})
    return found


def _value(size: float, seconds: float | None, quantity: Quantity) -> float | None:
    return (seconds if quantity == "time" else size / seconds) if seconds else None


def _marks(line: Line, label: str, quantity: Quantity) -> list[dict[str, Any]]:
    """A diamond on the line, midway between the two sizes of each change-over."""
    found: list[dict[str, Any]] = []
    for change in line.changes:
        ends = [line.at(size) for size in (change["lower"], change["upper"])]
        seconds = [row["median_s"] for row in ends if row]
        if len(seconds) < 2 or not change["lower"]:
            continue
        size, time = math.sqrt(change["lower"] * change["upper"]), math.sqrt(seconds[0] * seconds[1])
        numbers = {"x": size, "y": _value(size, time, quantity), "jump": change["kind"] == "jump"}
        words = {"label": label, "what": f"x {factor_text(change)}", "cause": cause_text(change)}
        words["between"] = f"{exact_bytes(change['lower'])} and {exact_bytes(change['upper'])}"
        found.append(numbers | words)
    return found


def _limits(drawn: Sequence[tuple[Line, str]], x: alt.X, height: int) -> list[Any]:
    """A line at each eager limit that may explain a change-over: at the knob's value, not where that was found."""
    limits = [change for line, _ in drawn for change in line.changes if change["eager_limit"]]
    known = {change["knob_value"]: change["knobs"][0] for change in limits if change["knob_value"] is not None}
    layers: list[Any] = []
    for place, (value, name) in enumerate(sorted(known.items(), reverse=True)):
        chart = theme.chart([{"x": value, "name": f"{name} = {exact_bytes(value)}"}])
        layers.append(chart.mark_rule(color=INK, strokeDash=[2, 3], strokeWidth=1.2).encode(x=x))
        # at the bottom, right of the line: times and rates both rise away from there; one above the other, or they meet
        words = chart.mark_text(align="left", dx=4, baseline="bottom", fontSize=10, color=INK)
        layers.append(words.encode(x=x, y=alt.value(height - 3 - 13 * place), text="name:N"))
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
    ticks = theme.decades(lowest / 1.5, highest * 1.8, (1, 2, 5) if math.log10(highest / lowest) < 2.2 else (1,))
    axis = alt.Axis(values=ticks, labelExpr=theme.SECONDS_LABEL if quantity == "time" else theme.RATES_LABEL)
    return alt.Y("y:Q", title=quantity, scale=scale, axis=axis), scale, math.log(highest / lowest * 2.7)


def _labels(rows: Sequence[dict[str, Any]], gap: float) -> list[dict[str, Any]]:
    """Each line's name to the right of its last point, kept apart by a distance on the logarithmic scale."""
    ends = sorted({row["label"]: row for row in rows}.values(), key=lambda row: row["y"])
    placed = zip(ends, theme.dodged([math.log(row["y"]) for row in ends], gap), strict=True)
    return [{"x": row["x"], "y": math.exp(place), "label": row["label"]} for row, place in placed]


def winner_figure(title: str, found: Sequence[WinnerRow]) -> Figure | None:
    """One panel per call, sizes across and process counts upwards; None if nothing was compared."""
    if not (names := list(dict.fromkeys(winner["call"] for winner in found))):
        return None
    algorithms = list(dict.fromkeys(winner["algorithm"] for winner in found if winner["algorithm"] != DEFAULT))
    panels = tuple(_tiles(name, [each for each in found if each["call"] == name], algorithms) for name in names)
    return Figure("winners", title, WINNERS_KEY, _winners_reading(found), panels)


def _tiles(name: str, found: Sequence[WinnerRow], algorithms: Sequence[str]) -> Any:
    rows = [
        {"size": exact_bytes(each["bytes"]), "shape": _shape(each), "algorithm": each["algorithm"]}
        | {"ratio": measured_factor(each["ratio"]) if each["algorithm"] != DEFAULT else "", "order": each["bytes"]}
        for each in found
    ]
    sizes = [exact_bytes(size) for size in sorted({winner["bytes"] for winner in found})]
    largest_first = sorted(found, key=lambda each: (each["ranks"], each["nodes"]), reverse=True)
    shapes = list(dict.fromkeys(map(_shape, largest_first)))
    colours = (TILE_COLOURS[index % len(TILE_COLOURS)] for index in range(len(algorithms)))
    scale = alt.Scale(domain=[DEFAULT, *algorithms], range=["#d1d5db", *colours])
    here = [name for name in (DEFAULT, *algorithms) if any(row["algorithm"] == name for row in rows)]
    legend = alt.Legend(orient="bottom", columns=3, symbolType="square", labelLimit=220, title=None, values=here)
    x = alt.X("size:N", sort=sizes, title=None, axis=alt.Axis(labelAngle=-60, labelOverlap=False))
    base = chart(rows).encode(x=x, y=alt.Y("shape:N", sort=shapes, title=None))
    tooltip = [alt.Tooltip(f"{field}:N") for field in ("size", "shape", "algorithm", "ratio")]
    colour = alt.Color("algorithm:N", scale=scale, legend=legend)
    title = alt.TitleParams(f"MPI_{name.capitalize()}", fontSize=12, anchor="middle")
    return alt.layer(
        base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip),
        base.mark_text(fontSize=9, color="white", fontWeight="bold").encode(text="ratio:N"),
    ).properties(width=max(180, TILE * len(sizes)), height=max(60, 30 * len(shapes)), title=title)


def _shape(winner: WinnerRow) -> str:
    return f"p = {winner['ranks']}" + (f", N = {winner['nodes']}" if winner["nodes"] > 1 else "")


def _winners_reading(found: Sequence[WinnerRow]) -> str:
    if not (beaten := [winner for winner in found if beats(winner)]):
        return f"No algorithm is significantly faster than the library's own choice at any of {len(found)} points."
    best = min(beaten, key=lambda winner: winner["ratio"])
    most = f"{exact_bytes(best['bytes'])} of MPI_{best['call'].capitalize()}, {_shape(best)}"
    text = f"The library's own choice is beaten at {len(beaten)} of {len(found)} points, most at {most}: "
    return text + f"{best['algorithm']} takes {measured_factor(best['ratio'])} of its time."
