# SPDX-License-Identifier: BSD-3-Clause
"""Figures 6 to 9 of paper 004: all runs on one axis, a panel per collective; and their ratio with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import altair as alt

from weft.analyse.compare.comparison import Compared, Comparison
from weft.analyse.compare.sides import Key
from weft.format import faster_text, measured_seconds, plural
from weft.report.compare import Compare
from weft.report.figures import Figure, theme
from weft.words import name_call
from weft.words.comparisons import name_place, ratio_text

Axis = Literal["bytes", "nodes", "ranks"]
COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.RED, theme.INK, theme.GREY)
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3], [12, 4], [1, 2])
SIDE, TALL = 330, 230
TITLES = {"bytes": "size", "nodes": "number of nodes N", "ranks": "number of ranks p"}
STROKES = {
    "launches": "Strokes: smallest and largest median of a launch.",
    "model": "Strokes of a simulated run: the range of what its model leaves out.",
}
LOGS = "Both axes are logarithmic."
BAND = "Band: 95 % bootstrap interval over launches. Filled points: a difference is shown; hollow: none is."
MODEL_BAND = "Band: range of what the models leave out."
FASTER = "Below the line at 1 the other run is faster."


@dataclass(frozen=True)
class Sheet:
    """Rows of one figure: its ``name`` is that of the figure's files, its title what the rows have in common."""

    name: str
    title: str
    axis: Axis  # quantity on the x axis: ``bytes`` for calls measured at sizes, else ``nodes`` or ``ranks``
    panels: tuple[str, ...]  # operations, one per panel
    keys: frozenset[Key]  # its rows

    @cached_property
    def crossed(self) -> bool:
        """Whether one process count occurs on several numbers of nodes, so that line names need both."""
        shapes = {(key.ranks, key.nodes) for key in self.keys}
        return len(shapes) > len({ranks for ranks, _ in shapes})


def sheets(found: Compare) -> list[Sheet]:
    """Figures of the common rows: calls at sizes by phase, others by series and phase; warm ones first."""
    rows: dict[Key, Compared] = {}  # the first of each key: comparisons share their base
    for each in (each for comparison in found.comparisons for each in comparison.rows):
        rows.setdefault(each.key, each)
    made: list[tuple[str, str, Axis, list[Key]]] = []
    for phase in ("warm", "cold"):
        own = [each for each in rows.values() if each.key.phase == phase]
        made.append((phase, f"{phase}, by size", "bytes", [each.key for each in own if each.key.size]))
        plain = [each for each in own if each.key.size is None]
        for series in dict.fromkeys(name for each in plain for name in each.series):
            keys = [each.key for each in plain if series in each.series]
            axis: Axis = "nodes" if len({key.nodes for key in keys}) > 1 else "ranks"
            made.append((f"{series}-{phase}", f"{series}, {phase}", axis, keys))
    return [
        Sheet(name, title, axis, tuple(dict.fromkeys(key.operation for key in keys)), frozenset(keys))
        for name, title, axis, keys in made
        if len({_x_of(key, axis) for key in keys}) > 1  # the table shows an axis with one point better
    ]


def _x_of(key: Key, axis: Axis) -> int:
    return {"bytes": key.size or 0, "nodes": key.nodes, "ranks": key.ranks}[axis]


def line_of(key: Key, sheet: Sheet) -> str:
    """The line of a row: its process count, unless that is on the axis."""
    if sheet.axis == "nodes":
        return f"{key.ranks // max(key.nodes, 1)} ranks per node"
    ranks = f"p = {key.ranks}" + (f", N = {key.nodes}" if sheet.crossed else "")
    return f"N = {key.nodes}" if sheet.axis == "ranks" else ranks


def time_points(found: Compare, sheet: Sheet, operation: str) -> list[dict[str, Any]]:
    """Times in s of every run for one panel: medians over launches, with ranges (of models what they leave out)."""
    points: list[dict[str, Any]] = []
    for side in found.sides:
        for key in sheet.keys:
            point = side.points.get(key)
            if key.operation != operation or point is None or not point.medians:
                continue
            low, high = point.span_s or (min(point.medians.values()), max(point.medians.values()))
            numbers = {"x": _x_of(key, sheet.axis), "y": point.median_s, "low": low, "high": high}
            words = {"run": side.name, "line": line_of(key, sheet), "where": name_place(key)}
            words["stroke"] = "" if low == high else "model" if point.span_s else "launches"
            words["time"] = measured_seconds(point.median_s, *((low, high) if low < high else ()))
            points.append(numbers | words | {"base": side is found.sides[0], "launches": len(point.medians)})
    # the base first: it is drawn beneath the others
    return sorted(points, key=lambda point: (not point["base"], point["run"], point["line"], point["x"]))


def _ratio_points(comparison: Comparison, sheet: Sheet, operation: str) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = [
        {
            "x": _x_of(each.key, sheet.axis), "y": each.evidence.ratio,
            "low": each.evidence.low or each.evidence.ratio, "high": each.evidence.high or each.evidence.ratio,
            "line": line_of(each.key, sheet), "differs": each.evidence.outcome in ("slower", "faster"),
            "where": name_place(each.key), "ratio": ratio_text(each.evidence), "outcome": each.evidence.outcome,
        }
        for each in comparison.rows
        if each.key in sheet.keys and each.key.operation == operation
    ]  # fmt: skip
    return sorted(points, key=lambda point: (point["line"], point["x"]))


def all_figures(found: Compare) -> list[Figure]:
    """Times of all runs, then the ratio of each to the base; warm before cold."""
    made: list[Figure] = []
    for sheet in sheets(found):
        made.append(times_figure(found, sheet))
        ratios = (_ratio_figure(found, each, number, sheet) for number, each in enumerate(found.comparisons, 1))
        made += [each for each in ratios if each.panels]  # two runs may have none of these rows in common
    return made


def times_figure(found: Compare, sheet: Sheet) -> Figure:
    """Time against size (or nodes, or ranks): a panel per call, with every run in it."""
    runs = [side.name for side in found.sides]
    points = {panel: time_points(found, sheet, panel) for panel in sheet.panels}
    panels = tuple(_times(sheet.axis, own, runs, panel) for panel, own in points.items())
    drawn = {point["stroke"] for own in points.values() for point in own}
    key = " ".join(["Points: median over launches.", *(text for name, text in STROKES.items() if name in drawn), LOGS])
    title = found.titled(f"Time of each call: {sheet.title}")
    return Figure(f"times-{sheet.name}", title, key, reading(found.comparisons, sheet), panels, wide=True)


def _ratio_figure(found: Compare, comparison: Comparison, number: int, sheet: Sheet) -> Figure:
    every = [(panel, _ratio_points(comparison, sheet, panel)) for panel in sheet.panels]
    panels = tuple(_ratio(sheet.axis, points, panel, comparison) for panel, points in every if points)
    base, other = comparison.base.name, comparison.other.name
    title = found.titled(f"Time of {other} over that of {base}: {sheet.title}")
    name = f"ratio-{sheet.name}" + (f"-{number}" if len(found.comparisons) > 1 else "")
    key = f"{MODEL_BAND if comparison.modelled else BAND} {FASTER}"
    return Figure(name, title, key, reading([comparison], sheet), panels, wide=True)


def reading(comparisons: Sequence[Comparison], sheet: Sheet) -> str:
    """How many points of a sheet differ, and where most."""
    found: list[str] = []
    for comparison in comparisons:
        own = [each for each in comparison.rows if each.key in sheet.keys]
        differing = [each for each in own if each.evidence.outcome in ("slower", "faster")]
        if own and not differing and not comparison.modelled:
            found.append(f"{comparison.other.name}: no difference shown in {plural(len(own), 'point')}.")
        elif own:
            most = max(differing or own, key=lambda each: abs(math.log(each.evidence.ratio)))
            count = f"{len(differing)} of {plural(len(own), 'point')} differ; " if differing else ""
            factor = faster_text(most.evidence.ratio, most.evidence.low, most.evidence.high)
            found.append(f"{comparison.other.name}: {count}most in {name_place(most)}: {factor}.")
    return " ".join(found)


def _x(axis: Axis, points: Sequence[dict[str, Any]]) -> alt.X:
    xs = sorted({point["x"] for point in points})
    if axis == "bytes":
        powers = [2**power for power in range(0, 41, 4) if xs[0] <= 2**power <= xs[-1]]
        marks = powers if len(powers) > 1 else xs
        ticks = alt.Axis(values=marks, labelExpr=theme.BYTES_LABEL, grid=False, labelOverlap=True)
    else:
        ticks = alt.Axis(values=xs, format=",d", grid=False, labelOverlap=True)
    domain = [xs[0] / 1.15, xs[-1] * 1.15]
    return alt.X("x:Q", title=TITLES[axis], scale=alt.Scale(type="log", base=2, domain=domain, nice=False), axis=ticks)


def _lines(points: Sequence[dict[str, Any]]) -> list[str]:
    return sorted({point["line"] for point in points}, key=lambda line: (len(line), line))


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="bottom", columns=2, labelLimit=300, symbolStrokeWidth=2, symbolOpacity=1)


def _times(axis: Axis, points: Sequence[dict[str, Any]], runs: list[str], operation: str) -> Any:
    low, high = min(point["low"] for point in points) / 1.4, max(point["high"] for point in points) * 1.4
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = theme.decades(low, high, (1,) if high / low > 300 else (1, 2, 5))
    y = alt.Y("y:Q", title="time", scale=scale, axis=alt.Axis(values=ticks, labelExpr=theme.SECONDS_LABEL))
    palette, _ = theme.palettes(runs, COLOURS)
    colour = alt.Color("run:N", scale=palette, legend=_legend())
    # a click in the legend shows one run alone, with Shift further ones
    chosen = alt.selection_point(fields=["run"], bind="legend", name="chosen")
    shown = alt.condition(chosen, alt.value(1), alt.value(0.06))
    tooltip = theme.tooltips(run="run", where="at", time="median", launches="launches")
    base = theme.chart(points).encode(x=_x(axis, points), y=y, color=colour, opacity=shown)
    lines = _lines(points)
    dashes = alt.Scale(domain=lines, range=[DASHES[index % len(DASHES)] for index in range(len(lines))])
    dash = alt.StrokeDash("line:N", scale=dashes, legend=_legend() if len(lines) > 1 else None)
    # the base is drawn thick beneath the others: if runs are equal, both stay visible
    width = alt.condition("datum.base", alt.value(4.5), alt.value(1.6))
    return alt.layer(
        base.mark_line().encode(strokeDash=dash, strokeWidth=width).add_params(chosen),
        base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(size=26, filled=True).encode(tooltip=tooltip, detail="line:N"),
    ).properties(width=SIDE, height=TALL, title=_heading(operation))


def _ratio(axis: Axis, points: Sequence[dict[str, Any]], operation: str, comparison: Comparison) -> Any:
    ratios = [1.0, *(point["y"] for point in points)]
    # an outlying launch may widen a band to at most seven times the ratios
    low = max(min(1.0, *(point["low"] for point in points)), min(ratios) / 7) / 1.15
    high = min(max(1.0, *(point["high"] for point in points)), max(ratios) * 7) * 1.15
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    least = ((300, (1,)), (12, (1, 2, 5)), (4, (1, 2, 3, 5, 7)), (0, (1, 1.2, 1.5, 2, 3, 5, 7, 8, 9)))
    steps = next(steps for factor, steps in least if high / low > factor)
    ticks = alt.Axis(values=sorted({round(tick, 9) for tick in (*theme.decades(low, high, steps), 1.0)}), format="~r")
    title = f"{comparison.other.name} / {comparison.base.name}"
    x, y = _x(axis, points), alt.Y("y:Q", title=title if len(title) < 44 else "ratio of times", scale=scale, axis=ticks)
    lines = _lines(points)
    palette, _ = theme.palettes(lines, COLOURS)
    colour = alt.Color("line:N", scale=palette, legend=_legend() if len(lines) > 1 else None)
    base = theme.chart(points).encode(x=x, color=colour)
    tooltip = theme.tooltips(where="at", ratio="ratio", outcome="verdict")
    equal = theme.chart([{"y": 1.0}]).mark_rule(color=theme.GREY, strokeDash=[6, 4])
    shown, hidden = ([point for point in points if point["differs"] is differs] for differs in (True, False))
    dots: dict[str, Any] = {"x": x, "y": y, "color": colour, "tooltip": tooltip}
    return alt.layer(
        base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        equal.encode(y=alt.Y("y:Q", scale=scale)),
        base.mark_line(strokeWidth=1.8).encode(y=y),
        theme.chart(shown).mark_point(size=34, filled=True, opacity=1).encode(**dots),
        theme.chart(hidden).mark_point(size=34, fill="white", opacity=1).encode(**dots),
    ).properties(width=SIDE, height=TALL, title=_heading(operation))


def _heading(operation: str) -> alt.TitleParams:
    return alt.TitleParams(name_call(operation), fontSize=13, anchor="middle")
