# SPDX-License-Identifier: BSD-3-Clause
"""Which all-to-alls are computed in rounds, by which schedule; tests/simulated/test_rounds.py has their times."""

from pathlib import Path
from typing import Any

import pytest

from weft.fabric import Fabric, load_fabric
from weft.plan.records import LaunchCell
from weft.plan.schedules import KINDS, foreseen, foreseen_s, in_rounds, messages_of, rounds_cost, scheduled, selected
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
        {"algorithm": "sched.matrix"}, {"algorithm": "flat.window{bytes_in_flight=1MiB}"},
        {"pattern": "linear", "algorithm": "node.direct"},
        {"form": "inplace"}, {"collective": "allgather"}, {"members": [0, 5]},
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
    ("algorithm", "call", "expected"),
    [
        ("flat.window{w=4,order=node-rotated}", "alltoall", ("flat.window", "window", 4, 2, 0)),
        ("flat.window", "alltoallv", ("flat.window", "window", 8, 0, 0)),
        ("bruck{r=4}", "alltoall", ("bruck", "own-bruck", 4, 0, 0)),
        ("bruck", "alltoallv", ("bruck", "own-bruck", 2, 1, 1)),
        ("node.direct", "alltoallv", ("node.direct", "node-direct", 64, 0, 0)),
        ("node.multi{nl=4,stages=3}", "alltoall", ("node.multi", "node-multi", 4, 3, 0)),
        ("node.bruck{r=3}", "alltoallv", ("node.bruck", "node-bruck", 3, 0, 1)),
    ],
)  # fmt: skip
def test_wefts_own_all_to_alls_have_schedules(
    tmp_path: Path, algorithm: str, call: str, expected: tuple[str, str, int, int, int]
) -> None:
    own = simulation_of(fabric(tmp_path))
    (found, _) = scheduled(cell(64, collective=call, algorithm=algorithm), 8, own, {})
    assert (found.algorithm, found.kind, found.parameter, found.second, found.asked) == expected
    assert found.own


def test_own_all_to_alls_that_are_left_to_others_follow_them(tmp_path: Path) -> None:
    own = simulation_of(fabric(tmp_path))
    assert scheduled(cell(8, algorithm="node.multi"), 8, own, {}) == ()  # one node: the library's
    (found, _) = scheduled(cell(1024, algorithm="node.bruck", bytes=[2**22]), 8, own, {})  # too many passes
    assert (found.algorithm, found.kind) == ("node.multi", "node-multi")
    (smpis, _) = scheduled(cell(64, collective="alltoall", bytes=[8]), 8, own, {})
    assert (smpis.kind, smpis.own) == ("bruck", False)


@pytest.mark.parametrize(
    ("algorithm", "messages"),
    [
        ("flat.pairwise", 64 * 63), ("bruck", 64 * 6), ("bruck{r=4}", 64 * 3 * 3), ("node.direct", 64 * 7),
        ("node.bruck", 64 * 3), ("node.multi{stages=3}", 8 * 7 + 64 * 5),
    ],
)  # fmt: skip
def test_the_cost_of_rounds_counts_an_algorithms_own_messages(tmp_path: Path, algorithm: str, messages: int) -> None:
    calls = scheduled(cell(64, collective="alltoall", algorithm=algorithm), 8, simulation_of(fabric(tmp_path)), {})
    assert messages_of(calls[0], 64, 8) == messages
    assert rounds_cost({"c000": calls[:1]}, 64, 8, 2).messages == 3 * messages


def test_large_exchanges_of_cray_have_several_steps_under_way(tmp_path: Path) -> None:
    text = FABRIC.replace('"mpich"', '"cray"')
    (tmp_path / "cray.toml").write_text(text)
    cray = simulation_of(load_fabric(tmp_path / "cray.toml"))
    calls = scheduled(cell(64, collective="alltoall", bytes=[256, 4096, 2**20]), 8, cray, {})
    assert [(call.kind, call.parameter) for call in calls] == [
        ("bruck", 0), ("scattered", 24), ("scattered", 24), ("dissemination", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("library", "ranks", "block", "name"),
    [
        ("ompi", 8, 4, "basic_linear"), ("ompi", 100, 512, "bruck"), ("ompi", 300, 32768, "pair"),
        ("ompi", 8192, 1024, "bruck"), ("mvapich2", 2, 8, "pair"), ("mvapich2", 288, 4, "rdb"),
        ("mvapich2", 288, 65536, "mvapich2_scatter_dest"), ("mpich", 7, 8, "mvapich2_scatter_dest"),
        ("mpich", 9, 65536, "pair"), ("bruck", 9, 65536, "bruck"), ("ompi", 7, 2**19, "pair"),
        ("ompi", 7, 2**20, "basic_linear"), ("ompi", 8, 2**19, "basic_linear"), ("ompi", 16, 3, "basic_linear"),
        ("ompi", 16, 4, "bruck"), ("ompi", 32, 3, "bruck"),
    ],
)  # fmt: skip
def test_selectors_choose_as_simgrids(library: str, ranks: int, block: int, name: str) -> None:
    """smpi_openmpi_selector.cpp, smpi_mpich_selector.cpp and the tables of Stampede; impi is not among them."""
    assert selected(library, "alltoall", ranks, block) == name
    assert selected("impi", "alltoall", ranks, block) == "impi"


def test_three_ranks_of_open_mpi_exchange_unequal_blocks_in_pairs() -> None:
    """They were computed as a linear exchange, 30 % off."""
    names = [selected("ompi", "alltoallv", ranks, 8) for ranks in (3, 4, 63, 64, 128, 256, 1024)]
    linear = "ompi_basic_linear"
    assert names == ["pair", linear, linear, "pair", linear, "pair", linear]


def test_a_busy_host_takes_longer_for_the_same_processor_time() -> None:
    assert foreseen_s([8.0, 4.0], cores=2, load=0.0) == 8.0  # side by side: the dearer one
    assert foreseen_s([8.0], cores=2, load=1.0) == 8.0  # a core is free
    assert foreseen_s([8.0], cores=2, load=3.0) == 16.0  # four want two cores
    assert foreseen_s([4.0] * 10, cores=2, load=2.0) == 40.0
