# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs of one series: where a run knows the algorithm of each size, a switch of it is certain, not inferred.

A simulated fabric records which algorithm its selector took. A series is divided where one algorithm ends, another
begins, both hold for `LEAST` sizes or more, and the time steps: a fit of the whole would put such a switch beside its
place. Other switches do not divide it (algorithms of equal cost take turns from size to size): the detector
(`weft.analyse.thresholds.changes`) sees both sides together. It alone decides whether the time steps there; no line
fits a single size, so a switch beside a short stretch has no factor (METHOD 18).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from weft.analyse.tables.answers import SlowerRow
from weft.analyse.tables.times import reach
from weft.analyse.thresholds.changes import LEAST_FACTOR, ChangeOver, find_steps_and_bends
from weft.analyse.thresholds.series import LEAST, Numbers, Piece, SizeSeries

#: Standard errors by which a size must be slower than its double, and the least ratio: a few launches give only rough
#: errors.
SURE = 4.0
LEAST_SLOWER = 1.03
#: From this size on, in bytes, one byte more or less than the double is its double: sizes of half steps are rounded.
ROUNDED_FROM = 32


def find_change_overs(series: SizeSeries, *, modelled: bool) -> list[ChangeOver]:
    """Every change-over of a series, ascending, switches of the algorithm among them."""
    runs = stretches(series)
    switches = [_switch(series, *sides) for sides in pairwise(runs)]
    divided = [runs[k].stop for k, switch in enumerate(switches) if switch.kind == "jump"]
    groups = [range(*bounds) for bounds in pairwise((0, *divided, len(series.sizes)))]
    steady = replace(series, errors=_errors(series, runs))
    found = [_recorded(change, series) for group in groups for change in find_steps_and_bends(_part(steady, group))]
    if modelled:
        found = [replace(change, low=change.factor, high=change.factor, confidence=1.0) for change in found]
    known = {(change.lower, change.upper) for change in found}
    found += [switch for switch in switches if (switch.lower, switch.upper) not in known]
    return sorted(found, key=lambda change: change.lower)


def stretches(series: SizeSeries) -> list[range]:
    """The places of sizes with the same algorithm, one range for each; a single one where none is recorded."""
    names = series.algorithms
    starts = [0, *(place for place in range(1, len(names)) if names[place] != names[place - 1]), len(names)]
    return [range(begin, end) for begin, end in pairwise(starts)]


def _recorded(change: ChangeOver, series: SizeSeries) -> ChangeOver:
    """A change-over that the detector found, with the algorithms on either side where they differ."""
    names = dict(zip(series.sizes, series.algorithms, strict=True))
    before, after = names[change.lower], names[change.upper]
    return replace(change, algorithm_before=before, algorithm_after=after) if before != after else change


def _errors(series: SizeSeries, runs: Sequence[range]) -> Numbers:
    """Infinite errors where sizes of a short stretch stand out beside an algorithm that goes on."""
    errors, names = series.errors.copy(), series.algorithms

    def off(line: Piece, place: int) -> float:
        return abs(math.log(series.seconds[place] / max(line.at(series.sizes[place]), 1e-12)))

    for run in (each for each in runs if len(each) < LEAST):
        near = range(max(0, run.start - 2 * LEAST), min(len(names), run.stop + 2 * LEAST))
        for name in {names[k] for k in near} - {names[run.start]}:
            sides = range(near.start, run.start), range(run.stop, near.stop)
            left, right = ([k for k in side if names[k] == name] for side in sides)
            for known, asked in ((left[-LEAST:], right[:1]), (right[:LEAST], left[-1:])):
                if len(known) == LEAST and asked:
                    line = _line(series, known)
                    if max(off(line, k) for k in known + asked) < math.log(LEAST_FACTOR) / 4:
                        errors[[k for k in run if off(line, k) > math.log(LEAST_FACTOR)]] = math.inf
    return errors


def _part(series: SizeSeries, places: Sequence[int]) -> SizeSeries:
    part = slice(places[0], places[-1] + 1)
    return replace(
        series, sizes=series.sizes[part], seconds=series.seconds[part], errors=series.errors[part],
        rows=series.rows[part],
    )  # fmt: skip


def _switch(series: SizeSeries, before: range, after: range) -> ChangeOver:
    """The switch of the algorithm between two stretches; without a factor where the lines beside it do not agree."""
    lower, upper = series.sizes[before[-1]], series.sizes[after[0]]
    left, right = _lines(series, before, last=True), _lines(series, after, last=False)
    steps = _steps(left, right, lower, upper)
    jump = bool(steps) and (min(steps) > math.log(LEAST_FACTOR) or max(steps) < -math.log(LEAST_FACTOR))
    factor = None
    if jump or (steps and max(map(abs, steps)) <= math.log(LEAST_FACTOR)):
        middle = math.sqrt(max(lower, 0.5) * upper)
        factor = right[0].at(middle) / left[0].at(middle)
    ends, kind = (lower, upper), "jump" if jump else "switch"
    rest = factor, factor, factor, _rate(left), _rate(right), 1.0
    names = series.algorithms[before[-1]], series.algorithms[after[0]]
    return ChangeOver(series.cell, series.name, *ends, *ends, kind, *rest, *names)


def _steps(left: Sequence[Piece], right: Sequence[Piece], lower: int, upper: int) -> list[float]:
    """Logarithms of the step by each two lines, from both ends of the gap (a bend misleads one); empty at zero."""
    views = [(one.at(size), other.at(size)) for one, other in product(left, right) for size in (lower, upper)]
    return [math.log(there / here) for here, there in views] if min(map(min, views), default=0.0) > 0 else []


def _lines(series: SizeSeries, places: range, *, last: bool) -> list[Piece]:
    """Lines through the three and the two sizes next to a switch: they differ where the stretch bends; or none."""
    if len(places) < LEAST:
        return []
    return [_line(series, places[-count:] if last else places[:count]) for count in (LEAST, LEAST - 1)]


def _line(series: SizeSeries, places: Sequence[int]) -> Piece:
    return replace(series, errors=np.ones(len(series.sizes))).pieces(places).piece(0, len(places) - 1)


def _rate(lines: Sequence[Piece]) -> float | None:
    """Bytes per second; None without a line, or where the time does not grow with the size."""
    return 1 / lines[0].per_byte_s if lines and lines[0].per_byte_s > 0 else None


def slower_than_double(series: SizeSeries, *, modelled: bool = False) -> list[SlowerRow]:
    """METHOD 18: every size whose time exceeds that of twice the size, by more than the errors of both. Intervals must
    not overlap, and the ratio exceed 1 by `SURE` standard errors and 3 %; a model has no noise.
    """
    place = {size: index for index, size in enumerate(series.sizes)}
    found: list[SlowerRow] = []
    for size, index in place.items():
        double = _double(size, place)
        other = place.get(double, index)
        if other == index:
            continue
        here, there = series.rows[index], series.rows[other]
        if here["median_s"] > there["median_s"] if modelled else _surely_slower(series, index, other):
            found.append({
                "cell": here["cell"], "call": series.name, "nodes": here["nodes"], "ranks": here["ranks"],
                "size": size, "double": double, "seconds": here["median_s"], "double_seconds": there["median_s"],
                "double_cell": there["cell"],
            })  # fmt: skip
    return found


def _surely_slower(series: SizeSeries, index: int, other: int) -> bool:
    apart = reach(series.rows[index])[0] > reach(series.rows[other])[1]
    least = max(SURE * math.hypot(series.errors[index], series.errors[other]), math.log(LEAST_SLOWER))
    return apart and math.log(series.seconds[index] / series.seconds[other]) > least


def _double(size: int, measured: Collection[int]) -> int:
    """Twice a size in bytes, or the measured one that is nearest to it by rounding: 90.5 and 181 B are 91 and 181 B."""
    twice = 2 * size
    if twice in measured or size < ROUNDED_FROM:
        return twice
    return next((each for each in (twice - 1, twice + 1) if each in measured), twice)
