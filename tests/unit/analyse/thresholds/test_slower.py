# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 18: t(size) > t(2 x size) is one test, whether sizes are calls of one cell or cells of their own."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from made.sizes import made_series, with_jump
from weft.analyse.tables.answers import SlowerRow
from weft.analyse.thresholds.series import block_series, size_series
from weft.analyse.thresholds.switches import slower_than_double
from weft.analyse.thresholds.trials import protocol_findings

Row = dict[str, Any]
SIZES = [1024 * 2**k for k in range(6)]
LAUNCHES = 4


def tables(factor: float, noise: float, *, cells: bool, seed: int = 1) -> tuple[list[Row], list[Row]]:
    """Calls and medians of sizes that take as long as each other, but 4 KiB ``factor`` times that."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    medians: list[Row] = []
    for index, size in enumerate(SIZES):
        usual = 1e-3 * (factor if size == 4096 else 1.0)
        own = usual * (1 + noise * rng.standard_normal(LAUNCHES))
        where = {"cell": f"c{index:03d}" if cells else "c000", "call": "C" if cells else f"C@{size}", "phase": "warm"}
        medians += [
            where | {"launch": launch, "median_s": time, "min_s": time, "samples": 20, "least_s": time}
            for launch, time in enumerate(own, 1)
        ]
        middle = float(np.median(own))
        rows.append(
            where
            | {"kernel": "exchange", "status": "ok", "nodes": 2, "ranks_per_node": 2, "ranks": 4, "block_bytes": size}
            | {"median_s": middle, "low_s": middle * (1 - noise / 4), "high_s": middle * (1 + noise / 4)}
            | {"launch_low_s": own.min(), "launch_high_s": own.max()}
        )
    return rows, medians


def found(factor: float, noise: float, *, cells: bool, seed: int = 1) -> list[SlowerRow]:
    rows, medians = tables(factor, noise, cells=cells, seed=seed)
    series: Any = block_series(rows, medians, "C") if cells else size_series(rows, medians)
    return [row for each in series for row in slower_than_double(each)]


@pytest.mark.parametrize("cells", [False, True])
def test_a_size_that_is_surely_slower_than_its_double_is_told_either_way(cells: bool) -> None:
    (row,) = found(1.5, 0.01, cells=cells)
    assert (row["size"], row["double"], row["nodes"], row["ranks"]) == (4096, 8192, 2, 4)
    assert (row["cell"], row["double_cell"]) == (("c002", "c003") if cells else ("c000", "c000"))
    assert row["seconds"] / row["double_seconds"] == pytest.approx(1.5, rel=0.05)


def test_sizes_of_half_steps_are_rounded_and_still_have_a_double() -> None:
    rng = np.random.default_rng(29)
    sizes = [round(64 * 2 ** (k / 2)) for k in range(12)]
    series = made_series(rng, with_jump(lambda size: 2e-6 + size / 5e9, 91, 0.4), sizes, 0.01, launches=4)
    assert [(row["size"], row["double"]) for row in slower_than_double(series)] == [(64, 128), (91, 181)]


@pytest.mark.parametrize("cells", [False, True])
def test_half_of_all_sizes_are_slower_by_chance_and_none_is_told(cells: bool) -> None:
    # the median of one in two is above its double's: the old test of cells told each of them
    told = [found(1.0, 0.03, cells=cells, seed=seed) for seed in range(40)]
    assert sum(map(bool, told)) <= 2


def test_only_cells_of_one_shape_and_the_main_call_are_compared() -> None:
    rows, medians = tables(1.5, 0.01, cells=True)
    assert block_series(rows, medians, "A") == []
    rows[3]["ranks"] = 8
    assert [row for each in block_series(rows, medians, "C") for row in slower_than_double(each)] == []


def test_the_finding_has_both_times_and_a_remedy() -> None:
    cells = {f"c{index:03d}": SimpleNamespace(parameters={}, oversubscribed=False) for index in range(len(SIZES))}
    (note,) = protocol_findings([], found(1.5, 0.001, cells=True), cells)
    assert (note["level"], note["rule"], note["where"]) == ("note", "slower-than-double", "C, N = 2, p = 4")
    assert note["what"] == "4 KiB take 1.50 ms, 8 KiB only 1.00 ms"
    assert "eager limit" in note["remedy"]
