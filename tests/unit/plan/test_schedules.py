# SPDX-License-Identifier: BSD-3-Clause
"""Which all-to-alls are computed in rounds, by which schedule; tests/simulated/test_rounds.py has their times."""

from pathlib import Path
from typing import Any

import pytest

from weft.fabric import Fabric, load_fabric
from weft.plan.records import LaunchCell
from weft.plan.schedules import KINDS, foreseen, in_rounds, scheduled, selected
from weft.plan.simulation_budget import simulation_of

FABRIC = """
name = "made"
kind = "simulated"
[node]
names = "n[0-127]"
cores = 96
copy_rate = "80 GB/s"
[network]
adapter_rate = "25 GB/s"
latency = "2 us"
eager_limit = "8 KiB"
[simulation]
collectives = "mpich"
"""


def fabric(tmp_path: Path, more: str = "") -> Fabric:
    (tmp_path / "made.toml").write_text(FABRIC + more)
    return load_fabric(tmp_path / "made.toml")


def cell(ranks: int, **values: Any) -> LaunchCell:
    asked: dict[str, Any] = {"collective": "alltoallv", "form": "plain", "bytes": [8]}
    return LaunchCell("c000", "collective", asked | values, ranks)


def test_size_decides_and_what_was_refused_has_a_time(tmp_path: Path) -> None:
    """12,288 ranks were refused."""
    own = fabric(tmp_path)
    for ranks, is_large in ((96, False), (12288, True)):
        cells = [cell(ranks, algorithm="flat.pairwise")]
        assert bool(in_rounds(own, cells, ranks, 96, {})) is is_large
        assert foreseen(own, cells, ranks, 96, {}) == ""
    assert "over the budget" in foreseen(fabric(tmp_path, 'engine = "ranks"\n'), cells, 12288, 96, {})
    assert in_rounds(fabric(tmp_path, 'engine = "rounds"\n'), [cell(96)], 96, 96, {})
    assert in_rounds(own, [cell(96)], 96, 96, {}, most_bytes=1)


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "node.multi"}, {"algorithm": "flat.window{w=8,order=xor}"}, {"pattern": "linear"},
        {"form": "inplace"}, {"collective": "allgather"}, {"members": [0, 5]},
        {"algorithm": "flat.window", "bytes": [2**20]},
    ],
)  # fmt: skip
def test_what_has_no_schedule_is_not_computed(tmp_path: Path, values: dict[str, Any]) -> None:
    assert scheduled(cell(64, **values), 8, simulation_of(fabric(tmp_path)), {}) == ()


def test_each_call_follows_the_librarys_schedule(tmp_path: Path) -> None:
    own = simulation_of(fabric(tmp_path))
    calls = scheduled(cell(64, collective="alltoall", bytes=[8, 4096, 2**20]), 8, own, {})
    assert [(call.algorithm, call.kind, call.parameter) for call in calls] == [
        ("bruck", "bruck", 0), ("mvapich2_scatter_dest", "scattered", 32), ("ring", "ring", 0),
        ("ompi_bruck", "dissemination", 0),
    ]  # fmt: skip
    (call, _) = scheduled(cell(64), 8, own, {"WEFT_SMPI_ALLTOALLV": "mvapich2"})
    assert (call.algorithm, call.kind) == ("ring", "exclusive-or")
    assert {call.kind for call in calls} <= set(KINDS)


@pytest.mark.parametrize(
    ("library", "ranks", "block", "name"),
    [
        ("ompi", 8, 4, "basic_linear"), ("ompi", 100, 512, "bruck"), ("ompi", 300, 32768, "pair"),
        ("ompi", 8192, 1024, "bruck"), ("mvapich2", 2, 8, "pair"), ("mvapich2", 288, 4, "rdb"),
        ("mvapich2", 288, 65536, "mvapich2_scatter_dest"), ("mpich", 7, 8, "mvapich2_scatter_dest"),
        ("mpich", 9, 65536, "pair"), ("bruck", 9, 65536, "bruck"),
    ],
)  # fmt: skip
def test_selectors_choose_as_simgrids(library: str, ranks: int, block: int, name: str) -> None:
    """smpi_openmpi_selector.cpp, smpi_mpich_selector.cpp and the tables of Stampede; impi is not among them."""
    assert selected(library, "alltoall", ranks, block) == name
    assert selected("impi", "alltoall", ranks, block) == "impi"
