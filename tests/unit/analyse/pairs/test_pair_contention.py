# SPDX-License-Identifier: BSD-3-Clause
"""Contention is the quotient of interleaved medians, whatever a second look at the end of the cell said."""

import ibis
import pyarrow as pa
import pytest

from made.pairs import Cluster
from weft.analyse.pairs.hop_tables import contention
from weft.analyse.pairs.pair_times import placed, verdicts

CLUSTER = Cluster(4, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)


def looked_again(table: pa.Table, mode: str, median: float, again: float) -> pa.Table:
    """The table with one pair of a mode slow, and measured again twice: rank 0 to rank 5."""
    rows = table.to_pylist()
    for row in rows:
        if (row["mode"], row["source"], row["target"]) == (mode, 0, 5):
            row |= {"median_s": median, "again_1_s": again, "again_2_s": again}
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize(("beside", "again", "factor"), [(300e-6, 100e-6, 3.0), (300e-6, 290e-6, 3.0)])
def test_a_second_look_does_not_enter_the_factor(launches: int, beside: float, again: float, factor: float) -> None:
    made = CLUSTER.pairs(modes={"isolated": 1.0, "all": 1.0}, launches=launches)
    made = looked_again(looked_again(made, "all", beside, again), "isolated", 100e-6, 250e-6)
    judged = placed(verdicts(ibis.memtable(made), launches), CLUSTER.places)
    rows = contention(judged).to_pyarrow().to_pylist()
    (found,) = [row["factor"] for row in rows if (row["source"], row["target"]) == (0, 5)]
    assert found == pytest.approx(factor, rel=1e-9)
    assert all(row["factor"] == pytest.approx(1.0, abs=0.2) for row in rows if (row["source"], row["target"]) != (0, 5))
