# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 18: sizes that take longer than twice the size. One test for sizes within a cell and for cells of sizes."""

import math

from weft.analyse.protocol.series import SizeSeries
from weft.analyse.tables.answers import SlowerRow
from weft.analyse.tables.times import reach

#: Standard errors by which a size must be slower than its double, and the least ratio: a few launches give only rough
#: errors.
SURE = 4.0
LEAST_SLOWER = 1.03


def slower_than_double(series: SizeSeries) -> list[SlowerRow]:
    """METHOD 18: every size whose time exceeds that of twice the size, by more than the errors of both.

    Their intervals must not overlap, and the ratio of the two times must exceed 1 by `SURE` standard errors and by 3 %
    (of a hundred pairs of sizes a few intervals would not overlap by chance).
    """
    place = {size: index for index, size in enumerate(series.sizes)}
    found: list[SlowerRow] = []
    for size, index in place.items():
        other = place.get(2 * size) if size else None
        if other is None or reach(series.rows[index])[0] <= reach(series.rows[other])[1]:
            continue
        error = math.hypot(series.errors[index], series.errors[other])
        if math.log(series.seconds[index] / series.seconds[other]) > max(SURE * error, math.log(LEAST_SLOWER)):
            here, double = series.rows[index], series.rows[other]
            found.append(
                SlowerRow(
                    cell=here["cell"], call=series.name, nodes=here["nodes"], ranks=here["ranks"], size=size,
                    double=2 * size, seconds=here["median_s"], double_seconds=double["median_s"],
                    double_cell=double["cell"],
                )
            )  # fmt: skip
    return found
