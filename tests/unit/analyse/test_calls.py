# SPDX-License-Identifier: BSD-3-Clause
"""The table of calls: collective times by both definitions, exact order statistics, and rows that have no numbers."""

import json
import math
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made.folder import write_cell
from made.run import Made, make_run, tara_like
from weft.analyse.floor import Bounds, Floor
from weft.analyse.make import make_tables
from weft.analyse.statistics.interval import NO_INTERVAL, interval_over_launches
from weft.analyse.statistics.quantile import median_ranks
from weft.analyse.times import order_statistics
from weft.errors import DataError
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.parquet import convert

Row = dict[str, Any]

DURATIONS = st.lists(st.integers(1, 10**9), min_size=1, max_size=60)


def tables(run: Path) -> dict[tuple[str, str, str], Row]:
    convert(run)
    make_tables(run)
    rows = pq.read_table(run / "tables" / "calls.parquet").to_pylist()
    return {(row["cell"], row["call"], row["phase"]): row for row in rows}


def replace_samples(run: Path, samples: np.ndarray, launch: int = 1, **segment: Any) -> None:
    """Put one warm segment of C in the place of what cell c001 (two ranks) holds."""
    path = run / "cells" / f"c001.l{launch}.json"
    one = {
        "op": "C",
        "phase": "warm",
        "first": 0,
        "count": samples.shape[1],
        "batch": 1,
        "definition": "global",
        "columns": ["start_ns", "duration_ns", "delay"],
    } | segment
    write_cell(run, json.loads(path.read_text()) | {"segments": [one]}, samples)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    study = Made().study.replace("launches = 3", "launches = 1")
    return make_run(tmp_path / "run", Made(study=study, samples=3))


def two_ranks(starts: list[list[int]], durations: list[list[int]]) -> np.ndarray:
    return np.stack([np.array(starts), np.array(durations), np.zeros_like(starts)], axis=2)


def test_a_global_time_reaches_from_the_first_start_to_the_last_end(run: Path) -> None:
    replace_samples(run, two_ranks([[100], [150]], [[200], [100]]))  # 100..300 and 150..250
    assert tables(run)["c001", "C", "warm"]["median_s"] == pytest.approx(200e-9)
    replace_samples(run, two_ranks([[100], [150]], [[100], [300]]))  # 100..200 and 150..450
    assert tables(run)["c001", "C", "warm"]["median_s"] == pytest.approx(350e-9)


def test_a_local_time_is_the_longest_duration_whatever_the_clocks_say(run: Path) -> None:
    replace_samples(run, two_ranks([[100], [99_000]], [[200], [100]]), definition="local")
    row = tables(run)["c001", "C", "warm"]
    assert row["median_s"] == pytest.approx(200e-9)
    assert row["definition"] == "local"


def test_a_batched_sample_is_divided_by_its_batch(run: Path) -> None:
    replace_samples(run, two_ranks([[0], [0]], [[5000], [4000]]), batch=100)
    row = tables(run)["c001", "C", "warm"]
    assert row["median_s"] == pytest.approx(50e-9)
    assert row["batch"] == 100


def test_order_statistics_are_exact(run: Path) -> None:
    """1 .. 200 in any order: each quantile is a number one can name."""
    durations = np.random.default_rng(3).permutation(np.arange(1, 201)) * 1000
    replace_samples(run, two_ranks([[0] * 200] * 2, [durations.tolist(), [1] * 200]))
    row = tables(run)["c001", "C", "warm"]
    low, high, coverage = median_ranks(200)
    found = {name: row[name] and round(row[name] * 1e6, 6) for name in row if name.endswith("_s")}
    assert found["median_s"] == 100.5
    assert (found["min_s"], found["p5_s"], found["p95_s"], found["p99_s"], found["max_s"]) == (1, 10, 190, 198, 200)
    assert (found["low_s"], found["high_s"]) == (low, high)
    assert row["coverage"] == pytest.approx(coverage)
    assert found["mean_s"] == 100.5
    assert row["samples"] == 200


@pytest.mark.parametrize(("count", "given"), [(99, False), (100, True)])
def test_p99_needs_a_hundred_samples(run: Path, count: int, given: bool) -> None:
    replace_samples(run, two_ranks([[0] * count] * 2, [list(range(1, count + 1))] * 2))
    assert (tables(run)["c001", "C", "warm"]["p99_s"] is not None) is given


def test_ties_do_not_confuse_the_ranks(run: Path) -> None:
    replace_samples(run, two_ranks([[0] * 20] * 2, [[7] * 19 + [9]] * 2))
    row = tables(run)["c001", "C", "warm"]
    assert [round(row[name] * 1e9, 9) for name in ("low_s", "median_s", "high_s", "p95_s", "max_s")] == [7, 7, 7, 7, 9]


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(every=st.lists(DURATIONS, min_size=20, max_size=40), seed=st.integers(0, 99))
def test_the_order_of_samples_matters_only_to_the_interval(every: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(durations).tolist() for durations in every]
    found = statistics_of([[value / 1e9 for value in values] for values in (*every, *shuffled)])
    of_order = {"cell": 0, "mean_s": 0, "low_s": 0, "high_s": 0, "coverage": 0}
    for durations, first, second in zip(every, found, found[len(every) :], strict=False):
        assert first | of_order == second | of_order
        assert first["mean_s"] == pytest.approx(second["mean_s"])
        values = [first[name] for name in ("min_s", "p5_s", "median_s", "p95_s", "max_s")]
        assert values == sorted(values)
        assert first["low_s"] <= first["median_s"] <= first["high_s"]
        assert first["median_s"] == pytest.approx(np.median(durations) / 1e9, rel=1e-12)


def statistics_of(every: list[list[float]]) -> list[Row]:
    """The order statistics of several series, each a cell, in one query."""
    rows = [(cell, place, time) for cell, times in enumerate(every) for place, time in enumerate(times)]
    cells, iterations, times = zip(*rows, strict=True)
    same: Row = {"cell": cells, "least_s": times, "disturbed": [False] * len(times)}
    table = ibis.memtable(same | {"time_s": times, "iteration": iterations})
    found = order_statistics(table, ["cell"], sorted({len(each) for each in every})).to_pyarrow().to_pylist()
    return sorted(found, key=lambda row: row["cell"])


def launches_of(run: Path, values: list[int], samples: list[int]) -> Row:
    """The row of a cell whose launches take so many nanoseconds each, in so many samples."""
    for launch, (value, count) in enumerate(zip(values, samples, strict=True), 1):
        replace_samples(run, two_ranks([[0] * count] * 2, [[value - 1, *[value] * (count - 2), value + 1]] * 2), launch)
    row = tables(run)["c001", "C", "warm"]
    return row | {name: row[name] and round(row[name] * 1e9, 6) for name in row if name.endswith("_s")}


def test_a_value_is_the_median_of_the_launches_medians_and_a_few_launches_give_their_range(tmp_path: Path) -> None:
    row = launches_of(make_run(tmp_path / "run", Made(samples=3)), [100, 300, 200], [3, 3, 3])
    assert (row["samples"], row["launches"]) == (9, 3)
    assert [row[name] for name in ("median_s", "launch_low_s", "launch_high_s")] == [200, 100, 300]
    assert (row["low_s"], row["high_s"], row["coverage"]) == (100, 300, 0.75)
    assert row["interval"] == "range of launches"


def test_a_launch_counts_once_however_many_samples_it_took(tmp_path: Path) -> None:
    """Pooled, the 400 samples of the one fast launch would be the median and all its quantiles."""
    row = launches_of(make_run(tmp_path / "run", Made(samples=3)), [100, 300, 200], [400, 4, 4])
    assert (row["median_s"], row["samples"]) == (200, 408)
    assert (row["p5_s"], row["p95_s"]) == (100, 301)
    assert row["mean_s"] == pytest.approx(200)


def test_six_launches_have_an_interval_over_launches(tmp_path: Path) -> None:
    study = Made().study.replace("launches = 3", "launches = 6")
    values = [100, 110, 120, 130, 140, 150]
    row = launches_of(make_run(tmp_path / "run", Made(study=study, samples=3)), values, [30] * 6)
    expected = interval_over_launches(values, NO_INTERVAL)
    assert (row["low_s"], row["high_s"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert (row["coverage"], row["interval"], row["median_s"]) == (0.95, "over launches", 125)
    assert row["low_s"] < 110, "of 180 pooled samples it would be within 120 and 130"


def test_a_model_to_which_nothing_was_fitted_has_a_range_and_no_confidence_interval(tmp_path: Path) -> None:
    row = tables(make_run(tmp_path / "run", tara_like()))["c004", "C", "warm"]
    assert (row["interval"], row["coverage"]) == ("range of presets", None)
    assert row["low_s"] < row["median_s"] < row["high_s"]


def test_disturbed_samples_are_kept_and_counted_with_what_their_ranks_lost(run: Path) -> None:
    samples = two_ranks([[0] * 4] * 2, [[100, 200, 300, 400]] * 2)
    samples[1, 3, 2] = 30  # of 400 ns
    samples[0, 3, 2] = 10
    samples[0, 2, 2] = 1 << 48  # a major page fault: nobody knows for how long
    samples[:, 1, 2] = 1  # together 2 of 200 ns: one per cent is no disturbance
    replace_samples(run, samples)
    row = tables(run)["c001", "C", "warm"]
    assert (row["samples"], row["disturbed"], row["lost_by"]) == (4, 2, "delay")
    assert row["max_s"] == pytest.approx(400e-9)
    assert row["lost_s"] == pytest.approx(300e-9)
    medians = pq.read_table(run / "tables/medians.parquet").to_pylist()
    own = next(each for each in medians if (each["cell"], each["call"], each["phase"]) == ("c001", "C", "warm"))
    assert own["least_s"] == pytest.approx((100 + 198) / 2 * 1e-9)  # of 0, 100, 198, 360


def test_the_interval_within_a_launch_is_that_of_its_effective_samples() -> None:
    """With a correlation of 0.5 the interval of 200 raw samples covered the median in 84 of 100 cases."""
    rng = np.random.default_rng(4)
    every: list[list[float]] = []
    for _ in range(200):
        state = [rng.normal()]
        for _ in range(199):
            state.append(0.5 * state[-1] + math.sqrt(0.75) * rng.normal())
        every.append([1e-3 * math.exp(0.2 * each) for each in state])
    found = statistics_of(every)
    assert min(row["coverage"] for row in found) >= 0.95
    assert sum(row["low_s"] <= 1e-3 <= row["high_s"] for row in found) >= 184


def test_late_samples_are_counted_as_discarded(run: Path) -> None:
    replace_samples(run, two_ranks([[0] * 4] * 2, [[1, 2, 3, 4]] * 2), late=3)
    assert tables(run)["c001", "C", "warm"]["discarded"] == 3


def test_a_cell_in_two_series_is_one_row(run: Path) -> None:
    assert tables(run)["c000", "C", "warm"]["series"] == ["constant-global", "constant-local"]


def test_an_invalid_launch_makes_the_whole_cell_invalid(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(failures={("c001", 2): "invalid"}))
    row = tables(run)["c001", "C", "warm"]
    assert row["status"] == "invalid"
    assert "vector 17" in row["reason"]
    assert row["median_s"] is None
    assert row["samples"] == 0
    shown = pq.read_table(run / "tables" / "iterations.parquet", columns=["cell", "launch"]).to_pylist()
    assert ("c001", 2) not in {(row["cell"], row["launch"]) for row in shown}


def test_a_lost_launch_leaves_the_others_and_is_told(tmp_path: Path) -> None:
    row = tables(make_run(tmp_path / "run", Made(failures={("c001", 2): "crash"})))["c001", "C", "warm"]
    assert (row["status"], row["launches"]) == ("ok", 2)
    assert row["reason"].startswith("1 of 3 launches failed")
    assert "launch 2: crash" in row["reason"]


def test_a_cell_that_never_succeeded_has_a_row_for_each_call_without_numbers(tmp_path: Path) -> None:
    failures = {("c001", launch): "timeout" for launch in (1, 2, 3)}
    rows = tables(make_run(tmp_path / "run", Made(failures=failures)))
    failed = [row for row in rows.values() if row["cell"] == "c001"]
    assert [(row["call"], row["phase"]) for row in failed] == [(c, p) for c in "ABC" for p in ("cold", "warm")]
    assert {row["status"] for row in failed} == {"timeout"}
    assert all(row["median_s"] is None and row["low_s"] is None for row in failed)
    assert rows["c000", "C", "warm"]["status"] == "ok"


def test_a_cell_that_does_not_fit_is_a_row_with_its_formula(tmp_path: Path) -> None:
    rows = tables(make_run(tmp_path / "run", tara_like(memory="8 GiB")))
    row = rows["c000", "C", "warm"]
    assert row["status"] == "memory"
    assert "unsorted" in row["reason"]
    assert row["median_s"] is None


def test_a_run_without_any_cell_has_rows_that_say_so(run: Path) -> None:
    for path in (run / "cells").iterdir():
        path.unlink()
    rows = tables(run)
    assert {row["status"] for row in rows.values()} == {"planned"}
    assert {row["reason"] for row in rows.values()} == {"not measured yet"}


def test_on_a_local_fabric_the_bound_comes_from_the_measured_copy_rate(tmp_path: Path) -> None:
    """18 MiB a rank lie between the copies of 4 MiB (16 GB/s here) and 64 MiB (8 GB/s): the smaller one counts."""
    row = tables(make_run(tmp_path / "run", Made(noise=0, launch_noise=0)))["c000", "C", "warm"]
    assert row["bound"] == "memory copy"
    assert row["bound_s"] == pytest.approx(4608 * 512 * 8 / 16e9, rel=0.03)


def test_the_copy_rate_of_a_bound_is_taken_at_what_each_rank_keeps_in_its_node(tmp_path: Path) -> None:
    """Two ranks of 9 MiB in blocks of 4.5 MiB: at 4 MiB a copy stays in a cache, at 9 MiB it does not."""
    plan = plan_of(RunFolder(make_run(tmp_path / "run", Made())))
    cell = next(cell for cell in plan.cells if cell.ranks == 2 and cell.kernel == "exchange")
    kept = 4608 * 512 * 8 // 2
    shape = {"nodes": 1, "ranks_per_node": 2, "quantity": "copy", "value": 1.0}
    floor = Floor([shape | {"bytes": 4 << 20, "best": 16e9}, shape | {"bytes": kept, "best": 8e9}])
    found = Bounds(plan.planned_fabric, floor)(cell, "C")
    assert found == (pytest.approx(2 * kept / 8e9), "memory copy", "measured")


@pytest.mark.parametrize(("kind", "measured"), [("local", True), ("virtual", True), ("slurm", False)])
def test_the_rate_of_a_floor_counts_more_than_the_files_where_ranks_run_on_this_host(
    tmp_path: Path, kind: str, measured: bool
) -> None:
    """Hosts made of namespaces copy in the memory of this one; those of a cluster do as their file says."""
    plan = plan_of(RunFolder(make_run(tmp_path / "run", Made())))
    cell = next(cell for cell in plan.cells if cell.ranks == 2 and cell.kernel == "exchange")
    kept, node = 4608 * 512 * 8 // 2, plan.planned_fabric.node.model_copy(update={"copy_rate": 5e9})
    fabric = plan.planned_fabric.model_copy(update={"kind": kind, "node": node})
    shape = {"nodes": 1, "ranks_per_node": 2, "quantity": "copy", "value": 1.0}
    found = Bounds(fabric, Floor([shape | {"bytes": kept, "best": 6e9}]))(cell, "C")
    assert cell.bounds["C"].seconds != pytest.approx(2 * kept / 6e9)
    assert found is not None
    assert found[0] == pytest.approx(2 * kept / 6e9 if measured else cell.bounds["C"].seconds)


def test_on_a_simulated_fabric_the_bound_is_the_plans(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tara_like())
    row = tables(run)["c004", "C", "warm"]
    plan = json.loads((run / "plan.json").read_text())
    assert row["bound_s"] == plan["cells"][4]["bounds"]["C"]["seconds"]
    assert row["bound"] == "injection"


def test_the_floor_has_rates_of_a_node_and_times(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(noise=0, launch_noise=0))
    tables(run)
    rows = pq.read_table(run / "tables" / "floor.parquet").to_pylist()
    found = {(row["ranks_per_node"], row["quantity"], row["bytes"]): row for row in rows}
    assert found[2, "copy", 67108864]["value"] == pytest.approx(8e9, rel=0.03)
    assert found[2, "copy", 67108864]["unit"] == "B/s"
    assert (
        found[2, "copy", 67108864]["low"] <= found[2, "copy", 67108864]["value"] <= found[2, "copy", 67108864]["high"]
    )
    assert found[2, "latency", 0]["value"] == pytest.approx(4e-7, rel=0.05)
    assert (1, "latency", 0) not in found
    assert not any(row["kernel"] == "floor" for row in pq.read_table(run / "tables" / "calls.parquet").to_pylist())


def test_ranks_that_start_apart_do_not_slow_the_floors_copies(run: Path) -> None:
    """A copy of 1 us whose ranks started 1 ms apart: its rate is that of the copy, and the bound stays a lower one."""
    path = run / "cells" / "f001.l1.json"
    one = {"op": "copy-16384", "phase": "warm", "first": 0, "count": 1, "batch": 1, "definition": "global"}
    write_cell(run, json.loads(path.read_text()) | {"segments": [one]}, two_ranks([[0], [10**6]], [[1000], [800]]))
    tables(run)
    rows = pq.read_table(run / "tables" / "floor.parquet").to_pylist()
    [rate] = [row["value"] for row in rows if row["cell"] == "f001"]
    assert rate == pytest.approx(2 * 16384 / 1e-6)


def test_a_folder_with_brackets_in_its_name_is_no_pattern(tmp_path: Path) -> None:
    assert tables(make_run(tmp_path / "run [1] *", Made(samples=3)))["c000", "C", "warm"]["status"] == "ok"


@pytest.mark.parametrize("engine", ["sqlite://", "nonsense"])
def test_an_unknown_engine_is_named(run: Path, engine: str) -> None:
    convert(run)
    with pytest.raises(DataError, match="no engine"):
        make_tables(run, engine)


def test_a_plan_of_another_version_is_refused(run: Path) -> None:
    convert(run)
    (run / "plan.json").write_text('{"schema": "weft-plan/9", "cells": []}')
    with pytest.raises(DataError, match="weft-plan/9"):
        make_tables(run)
