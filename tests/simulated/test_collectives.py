# SPDX-License-Identifier: BSD-3-Clause
"""Collectives in the simulator: the library's algorithms in all nine, each named by what ran."""

from pathlib import Path
from typing import Any

import pytest
from simulated_cells import TARA
from walked import rows_of, walked

from made.view import load_view
from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.report import tables

pytestmark = pytest.mark.simulated
ALL = ["Bcast", "Alltoall", "Alltoallv", "Scatter", "Gather", "Allgather", "Allreduce", "Reduce", "Reduce_scatter"]
STUDY = """
name = "small"
kernel = "collective"
[collective]
collectives = {calls}
sizes = {sizes}
root = {root}
[[series]]
name = "one"
nodes = {nodes}
ranks_per_node = {ranks}
"""


class Collectives:
    """Calls of a library on some nodes of tara: the table of calls, by call and phase."""

    def __init__(
        self,
        place: Path,
        programs: Programs,
        library: str = "mpich",
        simulation: str = "",
        machine: str = TARA,
        **study: Any,
    ) -> None:
        place.mkdir()
        said = {"calls": ALL, "sizes": ["8 B", "64 KiB"], "root": '"rotating"', "nodes": 2, "ranks": 4} | study
        (place / "fabric.toml").write_text(machine.replace("mvapich2", library) + simulation)
        fabric = load_fabric(place / "fabric.toml")
        self.folder = walked(place, STUDY.format(**said), fabric, SimulatedLauncher(fabric, programs))
        self.rows = {(row["call"], row["phase"]): row for row in rows_of(self.folder, "calls")}

    def algorithm(self, call: str) -> str:
        return str(self.rows[call, "warm"]["algorithm"])

    def seconds(self, call: str, phase: str = "warm") -> float:
        assert self.rows[call, phase]["status"] == "ok", self.rows[call, phase]["reason"]
        return float(self.rows[call, phase]["median_s"])


def test_every_call_names_the_algorithm_of_the_library_that_ran(tmp_path: Path, programs: Programs) -> None:
    mpich = Collectives(tmp_path / "a", programs)
    for call in ALL:
        for size in (8, 65536):
            assert mpich.algorithm(f"{call.lower()}@{size}"), call
    # what MPICH takes: short allgathers double, long ones go round; an all-to-all of few bytes is Bruck's
    assert mpich.algorithm("allgather@8") == "rdb"
    assert mpich.algorithm("allgather@65536") == "ring"
    assert mpich.algorithm("alltoall@8") == "bruck"
    assert mpich.algorithm("reduce_scatter@8").startswith("mpich")
    text = tables.render(load_view(mpich.folder.path), "text")
    assert "algorithm" in text
    assert "rdb" in text


def test_two_libraries_differ_where_their_algorithms_do(tmp_path: Path, programs: Programs) -> None:
    # Reduce, Allreduce, Reduce_scatter and Allgather were the same whatever library the fabric file named.
    calls = ["Reduce", "Allreduce", "Reduce_scatter", "Allgather"]
    ours, others = (Collectives(tmp_path / name, programs, name, calls=calls) for name in ("mpich", "ompi"))
    for call in calls:
        pairs = [(each.algorithm(f"{call.lower()}@{size}")) for each in (ours, others) for size in (8, 65536)]
        assert pairs[:2] != pairs[2:], call


@pytest.mark.parametrize(("library", "nodes"), [("mpich", 3), ("ompi", 3), ("mvapich2", 3), ("impi", 3), ("ompi", 2)])
def test_no_number_of_ranks_makes_a_call_wait_for_ever(
    tmp_path: Path, programs: Programs, library: str, nodes: int
) -> None:
    # SMPI's selectors take an algorithm that pairs by exclusive or among 3 ranks (mpich, mvapich2: all-to-alls of
    # 64 KiB and more hung), and Open MPI's broadcast of nothing divided by none.
    run = Collectives(tmp_path / "a", programs, library, nodes=nodes, ranks=1, sizes=["8 B", "64 KiB", "1 MiB"])
    assert {row["status"] for row in run.rows.values()} == {"ok"}


def test_intel_mpis_reductions_run_at_any_number_of_ranks(tmp_path: Path, programs: Programs) -> None:
    # SMPI's selector took an algorithm for 15 ranks that refuses all but powers of two.
    run = Collectives(tmp_path / "a", programs, "impi", calls=["Allreduce"], nodes=5, ranks=3, sizes=["16 KiB"])
    assert run.seconds("allreduce@16384") > 0
    assert run.algorithm("allreduce@16384") == "rab_rdb"


def test_a_name_is_the_outermost_algorithms_and_a_collective_within_is_told(tmp_path: Path, programs: Programs) -> None:
    """Not the selector's, nor that of the last function that sends."""
    run = Collectives(tmp_path / "a", programs, "mvapich2", calls=["Allreduce"], sizes=["8 B"], nodes=4, ranks=2)
    assert run.algorithm("allreduce@8") == "mvapich2_two_level"
    # Intel MPI's selector ends at SMPI's default here, which has no algorithm of its own: it reduces, and scatters
    run = Collectives(tmp_path / "b", programs, "impi", calls=["Reduce_scatter"], sizes=["256 KiB"], nodes=15, ranks=1)
    assert run.algorithm("reduce_scatter@262144") == "reduce/default"


def test_what_an_algorithm_refuses_is_said_by_its_row(tmp_path: Path, programs: Programs) -> None:
    # The others then waited for ever, and the row said "hung: not done after its limit of 120 s".
    asked = 'algorithms = { allreduce = "rab1" }'
    run = Collectives(
        tmp_path / "a", programs, simulation=asked, calls=["Allreduce"], nodes=3, ranks=1, sizes=["8 KiB"]
    )
    for row in run.rows.values():
        assert row["status"] == "crash"
        assert "rab1 algorithm can't be used with non power of two" in row["reason"]


def test_a_large_message_within_a_collective_asks_first(tmp_path: Path, programs: Programs) -> None:
    # SMPI charged it to nonblocking sends alone: a broadcast of 64 KiB to one other cost what its bytes cost.
    run = Collectives(tmp_path / "a", programs, calls=["Bcast"], nodes=2, ranks=1, sizes=["64 KiB"], root=0)
    assert run.seconds("bcast@65536") == pytest.approx(160e-6 + 65536 / 2.62e9 + 1.2e-6, rel=0.02)


@pytest.mark.parametrize(
    ("nodes", "size", "algorithm", "messages"),
    [(8, 524288, "flattree", 7), (4, 1048576, "chain", 3), (7, 1024, "binary_tree", 4)],
)
def test_open_mpis_broadcasts_send_the_message_whole(
    nodes: int, size: int, algorithm: str, messages: int, tmp_path: Path, programs: Programs
) -> None:
    """Its "basic linear" was a chain of pieces of 8 KiB in SMPI: 0.45 of the measured time of a replay."""
    call, said = f"bcast@{size}", {"calls": ["Bcast"], "ranks": 1, "sizes": [f"{size} B"], "root": 0}
    run = Collectives(tmp_path / "a", programs, "ompi", nodes=nodes, **said)
    assert run.algorithm(call) == algorithm
    one = Collectives(tmp_path / "b", programs, "ompi", nodes=2, **said)
    assert run.seconds(call) >= messages * size / 2.62e9
    assert run.seconds(call) <= messages * one.seconds(call) * 1.05


def test_open_mpis_split_binary_broadcast_sends_each_half_whole(tmp_path: Path, programs: Programs) -> None:
    # SMPI cut the halves into pieces of 1 KiB, none of which asks first
    machine = TARA.replace("n[37-72]", "n[1-256]").replace('eager_limit = "16 KiB"', 'eager_limit = "4 KiB"')
    said = {"calls": ["Bcast"], "nodes": 256, "ranks": 1, "sizes": ["24 KiB"], "root": 0}
    run = Collectives(tmp_path / "a", programs, "ompi", machine=machine, **said)
    assert run.algorithm("bcast@24576") == "split_binary_tree"
    # the last place has its half after 14 sends, one after the other, and then exchanges it for the other one
    assert run.seconds("bcast@24576") == pytest.approx(15 * (160e-6 + 12288 / 2.62e9 + 1.2e-6), rel=0.01)


@pytest.mark.parametrize(
    ("nodes", "size", "algorithm", "levels"), [(16, 24576, "ompi_binomial", 4), (4, 32768, "ompi_pipeline", 3)]
)
def test_open_mpis_reductions_send_the_message_whole(
    nodes: int, size: int, algorithm: str, levels: int, tmp_path: Path, programs: Programs
) -> None:
    # SMPI cut it into pieces of 1 KiB, which no longer ask first, and sent along two chains at once
    said = {"calls": ["Reduce"], "ranks": 1, "nodes": nodes, "sizes": [f"{size} B"], "root": 0}
    run = Collectives(tmp_path / "a", programs, "ompi", **said)
    assert run.algorithm(f"reduce@{size}") == algorithm
    assert run.seconds(f"reduce@{size}") == pytest.approx(levels * (160e-6 + size / 2.62e9 + 1.2e-6), rel=0.05)


def test_splitting_a_communicator_by_node_opens_no_connection(tmp_path: Path, programs: Programs) -> None:
    # At 72 ranks connections are opened on demand, 2 ms for each end. The first MPI_Reduce took 120 ms: SMPI had every
    # rank tell every other which node it is on.
    run = Collectives(tmp_path / "a", programs, "mvapich2", calls=["Reduce"], nodes=9, ranks=8, sizes=["8 B"])
    assert run.seconds("reduce@8", "cold") < 0.03


def test_all_roots_take_their_turn_and_no_interval_is_made_of_them(tmp_path: Path, programs: Programs) -> None:
    run = Collectives(tmp_path / "a", programs, calls=["Gather"], nodes=3, ranks=1, sizes=["64 KiB"])
    row = run.rows["gather@65536", "warm"]
    assert row["samples"] == 3
    assert (row["interval"], row["coverage"]) == ("range of presets", None)
    fixed = [
        Collectives(tmp_path / f"r{root}", programs, calls=["Gather"], nodes=3, ranks=1, sizes=["64 KiB"], root=root)
        for root in range(3)
    ]
    alone = sorted(each.seconds("gather@65536") for each in fixed)
    assert row["min_s"] == pytest.approx(alone[0], rel=1e-3)
    assert row["max_s"] == pytest.approx(alone[-1], rel=1e-3)


def test_many_ranks_give_an_even_sample_of_roots(tmp_path: Path, programs: Programs) -> None:
    run = Collectives(tmp_path / "a", programs, calls=["Gather"], nodes=5, ranks=8, sizes=["8 B"])
    assert run.rows["gather@8", "warm"]["samples"] == 32


def test_two_plans_of_one_study_draw_the_same_order(tmp_path: Path, programs: Programs) -> None:
    # The seed was drawn anew each time, and with it the order of the sizes, hence the root of each.
    first, second = (
        Collectives(tmp_path / name, programs, calls=["Gather", "Bcast"], nodes=3, ranks=1) for name in "ab"
    )
    kept = ("call", "phase", "median_s", "min_s", "max_s", "samples", "algorithm")
    for key, row in first.rows.items():
        assert {name: row[name] for name in kept} == {name: second.rows[key][name] for name in kept}


@pytest.mark.parametrize("copies", ["", "library_copies = true\n"])
def test_no_call_on_one_node_is_faster_than_its_lower_bound(copies: str, tmp_path: Path, programs: Programs) -> None:
    """Own blocks of gathers and scatters are copied by the library: for nothing, unless the fabric says otherwise."""
    found = Collectives(
        tmp_path / "run", programs, "mvapich2", copies, sizes=["64 KiB", "1 MiB"], nodes=1, ranks=8, root=0
    )
    shares = {
        call: row["min_s"] / row["bound_s"]
        for (call, phase), row in found.rows.items()
        if phase == "warm" and row["bound_s"]
    }
    assert len(shares) == 2 * len(ALL)
    assert min(shares.values()) > 0.999, sorted(shares.items(), key=lambda each: each[1])
    assert shares["gather@65536"] == pytest.approx(1.0, abs=0.01)
