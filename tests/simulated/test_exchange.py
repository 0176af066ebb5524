# SPDX-License-Identifier: BSD-3-Clause
"""The exchange kernel in the simulator: times that can be worked out by hand, and records like any other."""

import json
import os
import resource
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from simulated_cells import TARA, Simulate, Simulated

from weft.fabric import load_fabric
from weft.launch.launcher import LaunchRequest
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
ARRAY = 1492992 * 512 * 8


def test_copies_inside_a_node_share_its_copy_rate(simulate: Simulate) -> None:
    assert simulate(nodes=1).seconds("C", "warm") == pytest.approx(ARRAY / 5.36e9, rel=0.01)


def test_what_leaves_a_node_shares_its_adapter(simulate: Simulate) -> None:
    free = TARA.replace('"160 us"', '"0 us"').replace('"5.36 GB/s"', '"500 GB/s"')
    leaving = ARRAY / 3 * 2 / 3
    assert simulate(nodes=3, text=free).seconds("C", "warm") == pytest.approx(leaving / 2.62e9, rel=0.03)


def test_a_narrow_uplink_is_what_binds(simulate: Simulate) -> None:
    narrow = TARA.replace("nodes_per_leaf = 18", "nodes_per_leaf = 1").replace("uplinks = 18", "uplinks = 1")
    narrow = narrow.replace('"3.5 GB/s"', '"0.5 GB/s"')
    bound = ARRAY / 4 / 0.5e9
    # Ranks that exchange pair by pair wait for each other; nothing is faster than the link.
    assert bound < simulate(nodes=2, text=narrow).seconds("C", "warm") < 1.15 * bound


def test_each_message_costs_its_sender_what_the_fabric_says(simulate: Simulate) -> None:
    dear = TARA.replace('"160 us"', '"50 ms"')
    extra = simulate(nodes=2, text=dear).seconds("C", "warm") - simulate(nodes=2).seconds("C", "warm")
    assert extra == pytest.approx(8 * (0.05 - 160e-6), rel=0.1)


@pytest.mark.parametrize("nodes", [3, 33])
def test_ranks_of_open_mpi_that_pair_up_need_not_be_a_power_of_two(simulate: Simulate, nodes: int) -> None:
    # 3 and 66 ranks waited for ever: SMPI's namesake of Open MPI's algorithm pairs by exclusive or.
    text, ranks = TARA.replace("mvapich2", "ompi"), 1 if nodes == 3 else 2
    run = simulate(nodes=nodes, ranks_per_node=ranks, n=(nodes * ranks) ** 2, m=8, text=text)
    assert run.outcome.returncode == 0, run.log


def test_small_messages_do_not_ask_first(simulate: Simulate) -> None:
    dear = TARA.replace('"160 us"', '"100 ms"')
    small = {"n": 256, "m": 8}
    assert simulate(nodes=2, text=dear, **small).seconds("C", "warm") < 0.01


def test_the_same_cell_gives_identical_bytes_twice(simulate: Simulate) -> None:
    first, second = simulate(nodes=3), simulate(nodes=3)
    for name in ("c000.l1.npy", "c000.l1.json"):
        assert (first.folder / "cells" / name).read_bytes() == (second.folder / "cells" / name).read_bytes()


def test_large_arrays_are_not_allocated_and_nothing_is_said_to_be_proven(simulate: Simulate) -> None:
    record = simulate(nodes=9, m=4608).cell.record
    assert record.memory["need_node_bytes"] > 11 * 2**30
    assert record.validation.performed is False


def test_sorted_data_is_real_and_proven(simulate: Simulate) -> None:
    record = simulate(nodes=2, ranks_per_node=2, n=4000, m=4, values={"data": "uniform"}).cell.record
    assert record.validation.performed is True
    assert record.status == "ok"


def test_connections_are_paid_for_once_and_only_in_large_jobs(simulate: Simulate) -> None:
    large = simulate(nodes=9)
    # 71 others, of whom A has met some: each rank asks half of the rest, and waits for both ends
    assert large.seconds("B", "cold") == pytest.approx(0.142, rel=0.02)
    assert large.seconds("B", "warm") < 0.005
    small = simulate(nodes=6)  # 48 ranks connect everybody at start-up
    assert small.seconds("B", "cold") < 0.005


def met(run: Simulated) -> dict[str, int | None]:
    return {each.op: each.peers_met for each in run.cell.record.segments if each.phase == "cold"}


def test_first_calls_are_made_before_any_traffic_of_wefts_own(simulate: Simulate) -> None:
    # Weft's own barrier had opened the very connections that A would have opened: A was as fast cold as warm.
    fresh = simulate(nodes=9, m=1)
    assert met(fresh) == {"A": 0, "B": 71, "C": 71}
    # recursive doubling: three steps to other nodes, in which both ends send at once and each does its own half
    assert fresh.seconds("A", "cold") - fresh.seconds("A", "warm") == pytest.approx(3 * 2e-3, rel=0.01)


def test_what_start_up_connects_is_paid_for_before_the_first_call(simulate: Simulate) -> None:
    begun = simulate(nodes=9, m=1, text=TARA + 'start_up = "barrier"\n')
    assert begun.seconds("A", "cold") == pytest.approx(begun.seconds("A", "warm"), rel=0.02)
    assert begun.seconds("B", "cold") == pytest.approx(0.118, rel=0.02)
    assert met(begun) == {"A": 0, "B": 71, "C": 71}  # of Weft's own traffic


def test_an_algorithm_that_is_asked_for_runs_and_is_named(simulate: Simulate) -> None:
    asked = simulate(nodes=9, m=1, text=TARA + 'algorithms = { alltoall = "bruck" }\n')
    ran = {each.op: each.algorithm for each in asked.cell.record.segments if each.phase == "cold"}
    assert (ran["A"], ran["B"]) == ("bruck", "ring")
    # one step after the other, in each of which some rank asks one that does not ask it
    assert asked.seconds("A", "cold") == pytest.approx(0.024, rel=0.02)


def test_ranks_lie_where_the_order_puts_them(simulate: Simulate) -> None:
    run = simulate(nodes=2, ranks_per_node=2, n=576, m=8, order="cyclic")
    launch = json.loads((run.folder / "launches" / "c000.l1.json").read_text())
    assert [rank["host"] for rank in launch["ranks"]] == ["n37", "n38", "n37", "n38"]


def test_a_cell_that_does_not_fit_the_described_node_is_a_memory_row(simulate: Simulate) -> None:
    record = simulate(nodes=1, text=TARA.replace('"24 GiB"', '"8 GiB"')).cell.record
    assert record.status == "memory"
    assert record.memory["available_node_bytes"] == 8 * 2**30


def test_what_would_take_too_long_is_refused_with_the_estimate(simulate: Simulate) -> None:
    hasty = TARA + 'budget = "1 ms"\n'
    run = simulate(nodes=2, text=hasty)
    assert run.outcome.returncode == 1
    assert "messages takes about" in run.log
    assert run.outcome.refused in run.log


def test_a_crash_of_the_kernel_is_an_outcome(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_PLANT", "crash:c000")
    assert simulate(nodes=1, n=576, m=8).outcome.returncode != 0


def test_a_hung_kernel_is_found_by_the_simulator(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_PLANT", "hang:c000")
    run = simulate(nodes=1, n=576, m=8)
    assert run.outcome.returncode == 124
    assert "deadlock" in run.log


def test_a_broken_description_is_told_with_its_line(simulate: Simulate, programs: Programs, tmp_path: Path) -> None:
    run = simulate(nodes=2, ranks_per_node=2, n=576, m=8)
    machine = run.folder / "launches" / "c000.l1.machine"
    for broken, said in (
        (machine.read_text().replace("copies ", "copies x"), ": expected a number"),
        (
            "\n".join(line for line in machine.read_text().splitlines() if not line.startswith("next")),
            "no route from n3",
        ),
    ):
        bad = tmp_path / "bad.machine"
        bad.write_text(broken + "\n")
        done = subprocess.run(
            ["smpirun", "-np", "4", "-platform", str(programs.machine), "-hostfile",
             str(run.folder / "launches" / "c000.l1.hosts"), "--cfg=smpi/privatization:no",
             "--cfg=smpi/simulate-computation:no", "--cfg=smpi/host-speed:1f",
             str(programs.kernels), str(run.folder / "launches" / "c000.l1.plan")],
            env={**os.environ, "WEFT_PLATFORM": str(bad)}, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode != 0
        assert said in done.stderr


def asked(run: Simulated, programs: Programs, limit_s: float) -> tuple[SimulatedLauncher, LaunchRequest]:
    """A simulated cell once more, by hand."""
    fabric = load_fabric(run.folder / "fabric.toml")
    return SimulatedLauncher(fabric, programs), LaunchRequest(
        id="c000.l1", ranks=4, nodes=fabric.hosts[:2], ranks_per_node=2, order="block", oversubscribed=False,
        plan=run.folder / "launches" / "c000.l1.plan", folder=run.folder, limit_s=limit_s,
    )  # fmt: skip


def test_a_busy_host_does_not_end_a_simulation(simulate: Simulate, programs: Programs, tmp_path: Path) -> None:
    # Its limit was one of wall clock, four times the budget: a simulation that waited for a core was a `timeout`.
    run = simulate(nodes=2, ranks_per_node=2, n=576, m=8, text=TARA + 'budget = "0.25 s"\n')
    waits = tmp_path / "smpirun"
    waits.write_text('#!/bin/sh\nsleep 3\nexec smpirun "$@"\n')
    waits.chmod(0o755)
    slow = replace(programs, simgrid=replace(programs.simgrid, smpirun=waits))
    launcher, request = asked(run, slow, 0.1)
    (outcome,) = launcher.run([request])
    assert not outcome.timed_out
    assert outcome.returncode == 0, run.log


def test_a_simulation_ends_when_its_processor_time_does(simulate: Simulate, programs: Programs, tmp_path: Path) -> None:
    run = simulate(nodes=2, ranks_per_node=2, n=576, m=8, text=TARA + 'budget = "0.6 s"\n')
    spins = tmp_path / "smpirun"
    spins.write_text("#!/bin/sh\nwhile :; do :; done\n")
    spins.chmod(0o755)
    launcher, request = asked(run, replace(programs, simgrid=replace(programs.simgrid, smpirun=spins)), 0.1)
    (outcome,) = launcher.run([request])
    assert outcome.timed_out
    assert outcome.limit == "2 s of processor time"  # twice the budget, in whole seconds


def test_ranks_share_the_files_of_their_process(simulate: Simulate) -> None:
    # With a descriptor each for their status, a thousand ranks were over the usual limit of 1,024.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (80, hard))
    try:
        run = simulate(nodes=12, m=8, values={"data": "contention", "calls": ["A"]})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert run.outcome.returncode == 0, run.log
    assert run.cell.record.ranks == 96
