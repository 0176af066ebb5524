# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs, against numbers worked out by hand or by NumPy."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from made.pair_cells import MadePairs, enclosing_ranks, write_pairs_cell
from weft.analyse.engine import connect
from weft.analyse.pairs.pair_table import STATISTICS, make_pair_tables
from weft.analyse.statistics.quantile import quantile_rank
from weft.store.parquet import convert

NODE_OF = [0, 0, 1, 1]


def times_of(count: int) -> Any:
    """Samples that differ by pair, size and mode; the same in every process."""

    def times(mode: str, size: int, source: int, target: int) -> Any:
        dice = np.random.default_rng([len(mode), size, source, target])
        return dice.lognormal(9.0, 0.5, count).astype(np.int64)

    return times


def make(root: Path, count: int = 30, **changes: Any) -> Path:
    write_pairs_cell(root, MadePairs(**({"node_of": NODE_OF, "times": times_of(count)} | changes)))
    convert(root)
    make_pair_tables(root, connect(), ["c000"])
    return root


def rows(root: Path, name: str = "pairs") -> list[dict[str, Any]]:
    return pq.read_table(root / "tables" / f"{name}.parquet").to_pylist()


@pytest.mark.parametrize("count", [1, 5, 6, 20, 99, 100, 240])
def test_statistics_are_order_statistics_of_half_the_round_trip(tmp_path: Path, count: int) -> None:
    found = rows(make(tmp_path, count, batch=4))
    assert len(found) == 4 * 3 * 2
    for row in found:
        times = times_of(count)("all", row["bytes"], row["source"], row["target"])
        x = np.sort(times) / 4 / 1e9
        low, high = enclosing_ranks(times)
        expected = {"min_s": x[0], "max_s": x[-1], "mean_s": x.mean(), "median_s": np.median(x)}
        expected |= {f"p{q}_s": x[quantile_rank(count, q / 100) - 1] for q in (5, 25, 75, 95, 99)}
        expected |= {"low_s": x[low - 1], "high_s": x[high - 1]}
        if count < 100:
            assert row["p99_s"] is None, "p99 of fewer than 100 samples is their maximum"
            del expected["p99_s"]
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)
        assert row["samples"] == count
        assert row["cold_s"] == pytest.approx(45e-6)


def test_the_interval_of_a_pair_is_that_of_its_effective_samples(tmp_path: Path) -> None:
    """With a correlation of 0.5 the interval of 60 raw samples covers the median in 84 of 100 cases, not in 95."""

    def alike(mode: str, size: int, source: int, target: int) -> Any:
        dice = np.random.default_rng([size, source, target])
        state = [dice.normal()]
        for _ in range(59):
            state.append(0.5 * state[-1] + math.sqrt(0.75) * dice.normal())
        return (2e4 * np.exp(0.2 * np.array(state))).astype(np.int64)

    found = rows(make(tmp_path, node_of=[0, 0, 1, 1] * 3, times=alike))
    covered = sum(row["low_s"] <= 1e-5 <= row["high_s"] for row in found)
    assert len(found) == 2 * 12 * 11
    assert covered >= 0.92 * len(found)


@pytest.mark.parametrize("count", [7, 120])
def test_summaries_give_the_table_that_their_samples_would_have_given(tmp_path: Path, count: int) -> None:
    raw = rows(make(tmp_path / "raw", count))
    summarised = rows(make(tmp_path / "summary", count, raw=False))
    assert len(raw) == len(summarised)
    for one, other in zip(raw, summarised, strict=True):
        for name, value in one.items():
            # the kernel rounds medians and a mean to whole ns of a sample of two messages
            slack = 0.51e-9 if name in ("median_s", "mean_s", "least_s") else 1e-15
            assert other[name] == (
                value if value is None or isinstance(value, str) else pytest.approx(value, abs=slack)
            )


@pytest.mark.parametrize("raw", [True, False])
def test_the_histogram_counts_each_sample_by_the_nodes_of_its_ranks(tmp_path: Path, raw: bool) -> None:
    found = rows(make(tmp_path, 50, raw=raw), "pair_histogram")
    counts: dict[tuple[int, int, int], int] = {}
    for row in found:
        key = (row["bytes"], row["source_node"], row["target_node"])
        counts[key] = counts.get(key, 0) + row["count"]
    assert counts == {(size, a, b): 50 * (2 if a == b else 4) for size in (0, 262_144) for a in (0, 1) for b in (0, 1)}
    own = [times_of(50)("all", 0, source, 1 - source) for source in (0, 1)]
    expected = {math.floor(math.log2(time / 2) * 32) for times in own for time in times}
    assert {r["bucket"] for r in found if (r["bytes"], r["source_node"], r["target_node"]) == (0, 0, 0)} == expected


def test_isolated_and_concurrent_rounds_are_rows_of_their_own(tmp_path: Path) -> None:
    found = rows(make(tmp_path, modes=("isolated", "all")))
    assert len(found) == 2 * 4 * 3 * 2
    assert {row["mode"] for row in found} == {"isolated", "all"}


def test_launches_are_rows_of_their_own_and_add_up_in_the_histogram(tmp_path: Path) -> None:
    write_pairs_cell(tmp_path, MadePairs(NODE_OF, times_of(9)), launch=2)
    found = rows(make(tmp_path, 9))
    assert {(row["launch"], row["launch_id"]) for row in found} == {(1, "g000.l1"), (2, "g000.l2")}
    assert sum(row["count"] for row in rows(tmp_path, "pair_histogram")) == 2 * 12 * 2 * 9


@pytest.mark.parametrize(
    ("method", "residual_ns", "given"), [("shared", 0, True), ("tree", 69, True), ("tree", 71, False)]
)
def test_a_forward_time_is_given_where_the_clocks_allow_it(
    tmp_path: Path, method: str, residual_ns: float, given: bool
) -> None:
    found = rows(make(tmp_path, method=method, residual_ns=residual_ns, forward_ns=700))
    for row in found:
        assert row["forward_s"] == (pytest.approx(700e-9) if given else None)


def test_second_looks_are_kept_beside_the_first(tmp_path: Path) -> None:
    found = rows(make(tmp_path, again=[(262_144, 1, 3)]))
    looked = [row for row in found if row["again_1_s"] is not None]
    assert [(row["bytes"], row["source"], row["target"]) for row in looked] == [(262_144, 1, 3)]
    assert looked[0]["again_2_s"] > looked[0]["again_1_s"] > looked[0]["median_s"]


def test_an_invalid_cell_gives_no_rows(tmp_path: Path) -> None:
    make(tmp_path)
    path = tmp_path / "cells" / "c000.l1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "invalid"}))
    convert(tmp_path)
    make_pair_tables(tmp_path, connect(), ["c000"])
    assert rows(tmp_path) == []
    assert rows(tmp_path, "pair_histogram") == []


def test_a_run_without_a_finished_cell_has_empty_tables(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "launches").mkdir()
    convert(tmp_path)
    make_pair_tables(tmp_path, connect(), ["c000"])
    assert rows(tmp_path) == []
    assert set(STATISTICS) <= set(pq.read_schema(tmp_path / "tables" / "pairs.parquet").names)
