# SPDX-License-Identifier: BSD-3-Clause
"""Contention is the quotient of interleaved medians, whatever a second look at the end of the cell said."""

from typing import Any

import ibis
import pyarrow as pa
import pytest

from made.pairs import Cluster
from weft.analyse.pairs.hop_tables import contention_rows, pair_contention, placed, verdicts

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
    rows = pair_contention(judged).to_pyarrow().to_pylist()
    (found,) = [row["factor"] for row in rows if (row["source"], row["target"]) == (0, 5)]
    assert found == pytest.approx(factor, rel=1e-9)
    assert all(row["factor"] == pytest.approx(1.0, abs=0.2) for row in rows if (row["source"], row["target"]) != (0, 5))


def class_rows(slower: list[float], *, modelled: bool = False) -> list[dict[str, Any]]:
    """Rows of the classes if the crowd of each launch is so many times slower."""
    made = [CLUSTER.pairs(modes={"isolated": 1.0, "all": factor}, seed=seed) for seed, factor in enumerate(slower)]
    rows = [row | {"launch": launch} for launch, table in enumerate(made, 1) for row in table.to_pylist()]
    pairs = ibis.memtable(pa.Table.from_pylist(rows, schema=made[0].schema))
    judged = placed(verdicts(pairs, len(slower)), CLUSTER.places)
    factors = pair_contention(judged)
    counts = sorted(
        {row["pairs"] for row in factors.group_by("class_").agg(pairs=factors.count()).to_pyarrow().to_pylist()}
    )
    return [row for row in contention_rows(pairs, judged, factors, counts, modelled=modelled) if row["class_"]]


def test_the_interval_of_a_contention_factor_counts_the_scatter_between_launches() -> None:
    for row in class_rows([1.2, 1.5, 1.9]):
        assert (row["launches"], row["interval"], row["coverage"]) == (3, "range of launches", 0.75)
        assert row["factor"] == pytest.approx(1.5, rel=0.03)
        assert (row["low"], row["high"]) == pytest.approx((1.2, 1.9), rel=0.03)


def test_with_one_launch_the_interval_of_a_factor_says_that_it_is_within_it() -> None:
    for row in class_rows([1.5]):
        assert (row["launches"], row["interval"]) == (1, "within one launch")
        assert 1.4 < row["low"] < row["factor"] < row["high"] < 1.6


def test_a_modelled_factor_has_no_interval() -> None:
    assert {(row["low"], row["high"], row["interval"]) for row in class_rows([1.5], modelled=True)} == {
        (None, None, "none")
    }
