# SPDX-License-Identifier: BSD-3-Clause
"""Nights of a watch one after the other, by a faked clock and a kernel without MPI."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.report.compare.history import Nights, write_nights
from weft.run.nightly import make_watch, read_history, run_night
from weft.run.progress import Progress

STUDY = """\
name = "nightly"
kernel = "exchange"
[measure]
launches = 1
seed = 7
[[series]]
name = "two"
nodes = [2]
ranks_per_node = 1
n = 4608
m = "p"
"""
FABRIC = """\
name = "four"
kind = "slurm"
[node]
names = "n[0-3]"
cores = 2
memory = "8 GiB"
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
adapter_rate = "1 GB/s"
latency = "1 us"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "1 GB/s"
"""


def test_each_night_is_a_run_on_the_nodes_whose_turn_it_is_and_a_line_of_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[0-3]")  # the nodes of a reservation
    for name, text in (("study", STUDY), ("four", FABRIC)):
        (tmp_path / f"{name}.toml").write_text(text)
    watch = make_watch(
        load_study(tmp_path / "study.toml"), load_fabric(tmp_path / "four.toml"), "1d", "2 s", tmp_path / "watch"
    )
    assert watch.round == 2
    begun = datetime(2026, 3, 1, 2, 17, tzinfo=UTC)
    for night in range(2):
        history = run_night(watch, FakeLauncher(), Progress(), begun + timedelta(days=night))
    assert history == read_history(watch)
    assert [night.hosts for night in history.nights] == [("n0", "n2"), ("n1", "n3")], "of each leaf one, each in turn"
    assert [night.run for night in history.nights] == ["night-20260301-021700", "night-20260302-021700"]
    assert all((watch.folder / night.run / "tables" / "calls.parquet").is_file() for night in history.nights)
    first, second = history.nights
    assert first.seconds.keys() == second.seconds.keys()
    assert all(0 < seconds < 1e-3 for seconds in first.seconds.values())
    assert first.facts["MPI library"] == "Fake MPI 1.0"
    found = Nights(history.study, history.fabric, history.nights, history.precision, watch.fabric.hosts)
    assert found.alarms == []
    assert write_nights(found, watch.folder).is_file()
