# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 18: sizes that take longer than twice the size. One test for sizes within a cell and for cells of sizes."""

import math
from collections.abc import Collection

from weft.analyse.tables.answers import SlowerRow
from weft.analyse.tables.times import reach
from weft.analyse.thresholds.series import SizeSeries

#: Standard errors by which a size must be slower than its double, and the least ratio: a few launches give only rough
#: errors.
SURE = 4.0
LEAST_SLOWER = 1.03
#: From this size on, in bytes, one byte more or less than the double is its double: sizes of half steps are rounded.
ROUNDED_FROM = 32


def slower_than_double(series: SizeSeries, *, modelled: bool = False) -> list[SlowerRow]:
    """METHOD 18: every size whose time exceeds that of twice the size, by more than the errors of both.

    Their intervals must not overlap, and the ratio of the two times must exceed 1 by `SURE` standard errors and by 3 %
    (of a hundred pairs of sizes a few intervals would not overlap by chance). Of a model, whose times are ``modelled``
    and have no noise, every such size is one.
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
            found.append(
                SlowerRow(
                    cell=here["cell"], call=series.name, nodes=here["nodes"], ranks=here["ranks"], size=size,
                    double=double, seconds=here["median_s"], double_seconds=there["median_s"],
                    double_cell=there["cell"],
                )
            )  # fmt: skip
    return found


def _surely_slower(series: SizeSeries, index: int, other: int) -> bool:
    """Whether one size of a measured series takes longer than another one, beyond the errors of both."""
    if reach(series.rows[index])[0] <= reach(series.rows[other])[1]:
        return False
    error = math.hypot(series.errors[index], series.errors[other])
    return math.log(series.seconds[index] / series.seconds[other]) > max(SURE * error, math.log(LEAST_SLOWER))


def _double(size: int, measured: Collection[int]) -> int:
    """Twice a size in bytes, or the measured one that is nearest to it by rounding: 90.5 and 181 B are 91 and 181 B."""
    twice = 2 * size
    if twice in measured or size < ROUNDED_FROM:
        return twice
    return next((each for each in (twice - 1, twice + 1) if each in measured), twice)
