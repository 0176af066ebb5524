# SPDX-License-Identifier: BSD-3-Clause
"""Contention is the quotient of interleaved medians, whatever a second look at the end of the cell said."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from made.attributed import pair_times
from made.pairs import Cluster
from weft.analyse.pairs.hop_tables import list_contention

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
def test_a_second_look_does_not_enter_the_factor(
    tmp_path: Path, launches: int, beside: float, again: float, factor: float
) -> None:
    made = CLUSTER.pairs(modes={"isolated": 1.0, "all": 1.0}, launches=launches)
    made = looked_again(looked_again(made, "all", beside, again), "isolated", 100e-6, 250e-6)
    (found,) = list_contention(pair_times(tmp_path, CLUSTER, made))
    pairs = zip(found.ends.source.tolist(), found.ends.target.tolist(), strict=True)
    factors = dict(zip(pairs, found.factor.tolist(), strict=True))
    assert len(factors) == 56
    assert factors.pop((0, 5)) == pytest.approx(factor, rel=1e-9)
    assert list(factors.values()) == pytest.approx([1.0] * 55, abs=0.2)


def class_rows(folder: Path, slower: list[float], *, modelled: bool = False) -> list[dict[str, Any]]:
    """Rows of the classes if the crowd of each launch is so many times slower."""
    made = [CLUSTER.pairs(modes={"isolated": 1.0, "all": factor}, seed=seed) for seed, factor in enumerate(slower)]
    rows = [row | {"launch": launch} for launch, table in enumerate(made, 1) for row in table.to_pylist()]
    ways = pair_times(folder, CLUSTER, pa.Table.from_pylist(rows, schema=made[0].schema))
    return [row for each in list_contention(ways) for row in each.rows(modelled=modelled) if row["class_"]]


def test_pairs_that_only_one_of_the_two_modes_measured_have_no_factor(tmp_path: Path) -> None:
    made = CLUSTER.pairs(modes={"isolated": 1.0, "all": 1.5})
    rows = [row for row in made.to_pylist() if row["mode"] == "all" or row["source"] == 0]
    rows = [row for row in rows if row["mode"] == "isolated" or row["target"] != 5]
    (found,) = list_contention(pair_times(tmp_path, CLUSTER, pa.Table.from_pylist(rows, schema=made.schema)))
    assert found.ends.source.tolist() == [0] * 6
    assert found.ends.target.tolist() == [1, 2, 3, 4, 6, 7]
    assert found.factor.tolist() == pytest.approx([1.0, *[1.5] * 5], rel=0.05)


def test_the_interval_of_a_contention_factor_counts_the_scatter_between_launches(tmp_path: Path) -> None:
    for row in class_rows(tmp_path, [1.2, 1.5, 1.9]):
        assert (row["launches"], row["interval"], row["coverage"]) == (3, "range of launches", 0.75)
        assert row["factor"] == pytest.approx(1.5, rel=0.03)
        assert (row["low"], row["high"]) == pytest.approx((1.2, 1.9), rel=0.03)


def test_with_one_launch_the_interval_of_a_factor_says_that_it_is_within_it(tmp_path: Path) -> None:
    for row in class_rows(tmp_path, [1.5]):
        assert (row["launches"], row["interval"]) == (1, "within one launch")
        assert 1.4 < row["low"] < row["factor"] < row["high"] < 1.6


def test_a_modelled_factor_has_no_interval(tmp_path: Path) -> None:
    assert {(row["low"], row["high"], row["interval"]) for row in class_rows(tmp_path, [1.5], modelled=True)} == {
        (None, None, "none")
    }


def test_a_launch_without_isolated_pairs_has_no_factor_and_the_others_have(tmp_path: Path) -> None:
    """A run that was interrupted after the crowd of launch 2 had no tables at all."""
    made = [CLUSTER.pairs(modes={"isolated": 1.0, "all": factor}, seed=seed) for seed, factor in ((1, 1.5), (2, 9.0))]
    rows = [row | {"launch": launch} for launch, table in enumerate(made, 1) for row in table.to_pylist()]
    kept = [row for row in rows if (row["launch"], row["mode"]) != (2, "isolated")]
    (found,) = list_contention(pair_times(tmp_path, CLUSTER, pa.Table.from_pylist(kept, schema=made[0].schema)))
    between = [row for row in found.rows(modelled=False) if row["class_"]]
    assert between
    for row in between:
        assert (row["launches"], row["factor"]) == (1, pytest.approx(1.5, rel=0.05))
