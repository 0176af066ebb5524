# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs of one series: where a run knows the algorithm of each size, a switch of it is certain, not inferred.

A simulated fabric records which algorithm its selector took. So the series is divided where that changes, and the
detector (`weft.analyse.protocol.changes`) looks for others only within the stretches of one algorithm: a fit of the
whole would put a switch beside its place, or miss it with too few sizes on one side.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from weft.analyse.protocol.changes import LEAST_FACTOR, ChangeOver, changes_of
from weft.analyse.protocol.fit import LEAST, Pieces
from weft.analyse.protocol.series import SizeSeries


def change_overs(series: SizeSeries, *, modelled: bool) -> list[ChangeOver]:
    """Every change-over of a series, ascending, switches of the algorithm among them.

    Parameters
    ----------
    series
        The series.
    modelled
        Whether its times come from a model, which has no noise: then a factor has no interval.
    """
    runs = stretches(series)
    found = [change for run in runs for change in changes_of(_part(series, run))]
    if modelled:
        found = [replace(change, low=change.factor, high=change.factor, confidence=1.0) for change in found]
    found += [_switch(series, before, after) for before, after in pairwise(runs)]
    return sorted(found, key=lambda change: change.lower)


def stretches(series: SizeSeries) -> list[range]:
    """The places of sizes with the same algorithm, one range for each; a single one where none is recorded."""
    names = [row.get("algorithm") or "" for row in series.rows]
    starts = [0, *(place for place in range(1, len(names)) if names[place] != names[place - 1]), len(names)]
    return [range(begin, end) for begin, end in pairwise(starts)]


def _part(series: SizeSeries, places: Sequence[int]) -> SizeSeries:
    part = slice(places[0], places[-1] + 1)
    return replace(
        series, sizes=series.sizes[part], seconds=series.seconds[part], errors=series.errors[part],
        rows=series.rows[part],
    )  # fmt: skip


def _switch(series: SizeSeries, before: range, after: range) -> ChangeOver:
    """The switch of the algorithm between two stretches."""
    left, right = before[-LEAST:], after[:LEAST]
    lower, upper = series.sizes[before[-1]], series.sizes[after[0]]
    # each side is extrapolated into the gap; a side of one size stands for itself
    here = upper if len(right) < 2 else lower if len(left) < 2 else math.sqrt(max(lower, 0.5) * upper)
    expected, slope = _line(series, left, here)
    taken, next_slope = _line(series, right, here)
    factor = taken / expected if taken > 0 and expected > 0 else series.seconds[after[0]] / series.seconds[before[-1]]
    return ChangeOver(
        series.cell,
        series.name,
        lower,
        upper,
        lower,
        upper,
        "jump" if abs(math.log(factor)) > math.log(LEAST_FACTOR) else "switch",
        float(factor),
        float(factor),
        float(factor),
        1 / slope if slope > 0 else None,
        1 / next_slope if next_slope > 0 else None,
        1.0,
        series.rows[before[-1]]["algorithm"] or "",
        series.rows[after[0]]["algorithm"] or "",
    )


def _line(series: SizeSeries, places: Sequence[int], size: float) -> tuple[float, float]:
    """Seconds that the line through some sizes gives for another one, and its seconds per byte."""
    import numpy as np

    index = list(places)
    if len(index) < 2:
        return float(series.seconds[index[0]]), 0.0
    sizes = np.array(series.sizes, dtype=np.float64)[index]
    line = Pieces(sizes, series.seconds[index], np.full(len(index), 1.0)).piece(0, len(index) - 1)
    return line.at(size), line.per_byte_s
