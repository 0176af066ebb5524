# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 18: sizes that take longer than twice the size."""

import math
from dataclasses import dataclass

from weft.analyse.changeover_series import SizeSeries
from weft.analyse.scaling import reach

#: Standard errors by which a size must be slower than its double, and the least ratio: the errors themselves are
#: known from a few launches only.
SURE = 4.0
LEAST_SLOWER = 1.03


@dataclass(frozen=True)
class Slower:
    """A size that takes longer than twice the size, beyond both intervals.

    Attributes
    ----------
    size, double
        Bytes.
    seconds, double_seconds
        Their times.
    """

    cell: str
    name: str
    size: int
    double: int
    seconds: float
    double_seconds: float


def slower_than_double(series: SizeSeries) -> list[Slower]:
    """METHOD 18: every size whose time exceeds that of twice the size, beyond what both may be off.

    That is: their intervals, widened to the medians of the launches, do not meet, and the ratio of the two times is
    over `SURE` of its standard errors and 3 % (of a hundred pairs of sizes a few would miss each other by chance).
    """
    place = {size: index for index, size in enumerate(series.sizes)}
    found: list[Slower] = []
    for size, index in place.items():
        other = place.get(2 * size) if size else None
        if other is None or reach(series.rows[index])[0] <= reach(series.rows[other])[1]:
            continue
        error = math.hypot(series.errors[index], series.errors[other])
        if math.log(series.seconds[index] / series.seconds[other]) > max(SURE * error, math.log(LEAST_SLOWER)):
            times = (row["median_s"] for row in (series.rows[index], series.rows[other]))
            found.append(Slower(series.cell, series.name, size, 2 * size, *times))
    return found
