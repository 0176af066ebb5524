# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 19: the time of a pair that was measured again is the median of three, in whatever order they came."""

from itertools import permutations

import ibis
import pyarrow as pa
import pytest

from made.pairs import Cluster
from weft.analyse.pairs.pair_times import verdicts

CLUSTER = Cluster(4, 1, 2, uplinks=1, per_pod=2, pod_uplinks=1)
ORDERS = list(permutations((1e-6, 2e-6, 5e-6)))


@pytest.mark.parametrize("launches", [1, 2])
def test_the_median_of_three_counts_in_whatever_order_they_came(launches: int) -> None:
    made = CLUSTER.pairs()
    rows = made.to_pylist()
    for row, (first, second, third) in zip(rows, ORDERS, strict=False):
        row |= {"median_s": first, "again_1_s": second, "again_2_s": third}
    rows = [row | {"launch": launch} for launch in range(1, launches + 1) for row in rows]
    judged = verdicts(ibis.memtable(pa.Table.from_pylist(rows, schema=made.schema)), launches)
    found = {(row["source"], row["target"]): row for row in judged.to_pyarrow().to_pylist()}
    again = [found[row["source"], row["target"]] for row in rows[: len(ORDERS)]]
    assert [row["time_s"] for row in again] == pytest.approx([2e-6] * len(ORDERS), rel=1e-12)
    assert all(row["checked"] for row in again)
    assert sum(row["checked"] for row in found.values()) == len(ORDERS)
