# SPDX-License-Identifier: BSD-3-Clause
"""Every pair of real ranks."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from real_weft import EACH_MPI, MPIS, Weft, eventually

from weft.launch.build import Kernels

STUDY = """\
name = "few-pairs"
kernel = "pairs"

[measure]
launches = {{launches}}
min_samples = 6
max_samples = 20
warmup_most = 5
budget = "0.05 s"
limit = "{{limit}}"
seed = 5

[placement]
oversubscribe = true

[pairs]
bytes = ["0 B", "16 KiB"]
{keys}

[[series]]
name = "all"
nodes = 1
ranks_per_node = {ranks}
"""
WHOLE = ("-m", "weft.cli.app")


def pairs_of(weft: Weft) -> list[dict[str, Any]]:
    return pq.read_table(weft.folder / "tables" / "pairs.parquet").to_pylist()


def check_pairs(weft: Weft, ranks: int, modes: set[str], launches: int = 1) -> None:
    """Every ordered pair at both sizes and in all modes, in each launch, with times that can be."""
    found = pairs_of(weft)
    keys = {(row["launch"], row["bytes"], row["mode"], row["source"], row["target"]) for row in found}
    assert len(keys) == len(found) == launches * 2 * len(modes) * ranks * (ranks - 1)
    assert {row["mode"] for row in found} == modes
    for row in found:
        assert row["samples"] >= 1
        assert 0 < row["min_s"] <= row["p25_s"] <= row["median_s"] <= row["p75_s"] <= row["max_s"] < 1
        assert row["low_s"] <= row["median_s"] <= row["high_s"]
        assert row["cold_s"] > 0


@pytest.mark.parametrize("name", EACH_MPI)
def test_both_ranks_of_a_pair_begin_in_turn_under_each_mpi(name: str, make: Callable[..., Weft]) -> None:
    if not MPIS[name].exists():
        pytest.skip(f"{name} is not installed: {MPIS[name]}")
    weft = make(launches=2, text=STUDY.format(keys="contention = true", ranks=2))
    weft.mpicxx, weft.program = MPIS[name], WHOLE
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    check_pairs(weft, 2, {"isolated", "all"}, launches=2)
    assert (weft.folder / "report.html").stat().st_size > 10_000
    weft.nothing_is_left()


@pytest.mark.parametrize("ranks", [3, 5, 8])
def test_every_pair_of_several_ranks_is_measured(ranks: int, make: Callable[..., Weft], kernels: Kernels) -> None:
    if kernels.library.family == "MPICH":
        pytest.skip("MPICH waits busily: more ranks than cores would take minutes")
    weft = make(launches=1, text=STUDY.format(keys='concurrency = "node"', ranks=ranks))
    weft.program = WHOLE
    done = weft.run(seconds=200)
    assert done.returncode == 0, done.stderr
    check_pairs(weft, ranks, {"node"})


def test_ranks_of_several_nodes_keep_their_nodes_in_the_tables(make: Callable[..., Weft], kernels: Kernels) -> None:
    if kernels.library.family == "MPICH":
        pytest.skip("MPICH waits busily: more ranks than cores would take minutes")
    weft = make(launches=1, text=STUDY.format(keys='store = "summary"', ranks=4), WEFT_FAKE_RANKS_PER_NODE="2")
    weft.program = WHOLE
    assert weft.run(seconds=200).returncode == 0
    check_pairs(weft, 4, {"all"})
    histogram = pq.read_table(weft.folder / "tables" / "pair_histogram.parquet").to_pylist()
    assert {(row["source_node"], row["target_node"]) for row in histogram} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert sum(row["count"] for row in histogram) == sum(row["samples"] for row in pairs_of(weft))


def test_a_flipped_bit_makes_the_cell_invalid(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, text=STUDY.format(keys="", ranks=2), WEFT_PLANT="corrupt")
    done = weft.run()
    assert done.returncode == 1
    assert weft.statuses()["c000.l1"] == "invalid"
    assert "are not what was sent" in str(weft.records()["c000.l1"]["reason"])


def test_a_kill_in_mid_run_loses_one_block_of_rounds_at_most(make: Callable[..., Weft], kernels: Kernels) -> None:
    if kernels.library.family == "MPICH":
        pytest.skip("MPICH waits busily: more ranks than cores would take minutes")
    weft = make(launches=2, text=STUDY.format(keys='block = "1 ms"', ranks=8))  # seven rounds: a cell each
    process = weft.start()
    assert eventually(lambda: len(blocks_of(weft)) >= 3 or process.poll() is not None, 100)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = blocks_of(weft)
    assert 3 <= len(kept) < 14, "the run was killed in its midst"
    assert weft.run(seconds=200).returncode == 0
    now = blocks_of(weft)
    assert len(now) == 14
    assert kept.items() <= now.items(), "a finished block was measured anew"
    weft.nothing_is_left()


def blocks_of(weft: Weft) -> dict[str, tuple[bytes, bytes]]:
    """Finished cells that are no floors."""
    if not Path(weft.folder / "cells").is_dir():
        return {}
    return {name: files for name, files in weft.finished().items() if name.startswith("c")}
