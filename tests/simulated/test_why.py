# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown in the simulator, where times are exact: each cause that is planted moves its own step and no other."""

from collections.abc import Callable
from pathlib import Path

import pytest
from walked import walked

from weft.analyse.tables.breakdown import BREAKDOWN, REMEDIES, ROUND_TIMES, BreakdownRow, RoundRow
from weft.fabric import load_fabric
from weft.launch.simulated import launcher
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs, options

pytestmark = [pytest.mark.simulated, pytest.mark.timeout(900)]  # the kernels may have to be built first

FABRIC = """
name = "small"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 2
memory = "24 GiB"
copy_rate = "{copy_rate}"
[network]
topology = "fat-tree"
latency = "1 us"
adapter_rate = "2 GB/s"
eager_limit = "16 KiB"
rendezvous_stall = "{rendezvous}"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "{link_rate}"
[simulation]
collectives = "{collectives}"
"""
USUAL = {"copy_rate": "50 GB/s", "rendezvous": "0 us", "link_rate": "1 GB/s", "collectives": "mvapich2"}
STUDY = """
name = "why"
kernel = "exchange"
explain = {explain}
[exchange]
calls = ["C"]
[[series]]
name = "s"
nodes = [{nodes}]
ranks_per_node = 1
n = 1600
m = 12800
"""


ALLTOALL = """
name = "why"
kernel = "collective"
explain = {explain}
[collective]
collectives = ["Alltoall"]
sizes = ["1 MiB"]
[[series]]
name = "s"
nodes = [{nodes}]
ranks_per_node = 1
"""


def forced(name: str, value: str) -> Callable[..., dict[str, str]]:
    """The simulator's options, one of them forced."""
    return lambda *arguments: options(*arguments) | {name: value}


def run(
    programs: Programs, folder: Path, nodes: int = 4, explain: str = "true", study: str = STUDY, **turned: str
) -> Path:
    folder.mkdir(parents=True)
    (folder / "fabric.toml").write_text(FABRIC.format(**(USUAL | turned)))
    fabric = load_fabric(folder / "fabric.toml")
    text = study.format(nodes=nodes, explain=explain)
    return walked(folder, text, fabric, SimulatedLauncher(fabric, programs)).path


def breakdown(path: Path) -> dict[str, BreakdownRow]:
    return {row["step"]: row for row in BREAKDOWN.read(path)}


def factors(path: Path) -> dict[str, float]:
    return {step: row["factor"] for step, row in breakdown(path).items() if row["factor"] is not None}


def rounds(path: Path) -> list[RoundRow]:
    return ROUND_TIMES.read(path)


def test_an_ideal_machine_has_a_breakdown_of_hardware_alone(programs: Programs, tmp_path: Path) -> None:
    """Four hosts, two a leaf, one uplink: it carries four blocks of a tenth of a millisecond each and more nothing."""
    found = breakdown(run(programs, tmp_path / "ideal"))
    assert found["hardware"]["name"].startswith("link leaf0")
    assert found["hardware"]["seconds"] == pytest.approx(4 * 10_240_000 / 1e9, rel=0.01)
    assert found["messages"]["factor"] == pytest.approx(1.0, abs=0.05)
    assert found["arrival"]["factor"] == pytest.approx(1.0, abs=0.01)


def test_the_same_breakdown_comes_out_twice(programs: Programs, tmp_path: Path) -> None:
    first, second = (BREAKDOWN.read(run(programs, tmp_path / name)) for name in ("a", "b"))
    assert first == second


def test_a_slower_link_raises_the_floor_and_no_factor(programs: Programs, tmp_path: Path) -> None:
    usual, slow = run(programs, tmp_path / "usual"), run(programs, tmp_path / "slow", link_rate="0.25 GB/s")
    floor_s = breakdown(usual)["hardware"]["seconds"]
    assert breakdown(slow)["hardware"]["seconds"] == pytest.approx(4 * floor_s, rel=0.02)
    assert factors(slow) == pytest.approx(factors(usual), rel=0.15)


def test_a_question_before_each_message_is_a_cost_of_messages(programs: Programs, tmp_path: Path) -> None:
    usual, dear = run(programs, tmp_path / "usual"), run(programs, tmp_path / "dear", rendezvous="10 ms")
    before, after = factors(usual), factors(dear)
    assert after["messages"] > 1.5 * before["messages"]
    assert after["contention"] < 1.1 * before["contention"]
    assert after["algorithm"] < 1.1 * before["algorithm"]
    assert after["arrival"] == pytest.approx(before["arrival"], abs=0.01)


def test_a_forced_bad_algorithm_is_the_algorithms_step_exactly(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bruck's algorithm sends each block of a megabyte on by way of others; pairs send it once."""
    usual = run(programs, tmp_path / "usual", study=ALLTOALL)
    monkeypatch.setattr(launcher, "options", forced("smpi/alltoall", "bruck"))
    bad = run(programs, tmp_path / "bad", study=ALLTOALL)
    before, after = breakdown(usual), breakdown(bad)
    assert (after["algorithm"]["factor"] or 0) > 1.3 * (before["algorithm"]["factor"] or 9)
    for step in ("hardware", "messages", "contention"):
        assert after[step]["seconds"] == pytest.approx(before[step]["seconds"], rel=0.001), step
    assert after["arrival"]["factor"] == pytest.approx(before["arrival"]["factor"], abs=0.001)


def test_a_rank_that_comes_late_is_no_slow_algorithm(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = factors(run(programs, tmp_path / "usual"))
    monkeypatch.setenv("WEFT_PLANT", "late")
    found = breakdown(run(programs, tmp_path / "late"))
    assert found["arrival"]["seconds"] - found["algorithm"]["seconds"] == pytest.approx(0.02, rel=0.01)
    assert found["messages"]["factor"] == pytest.approx(before["messages"], rel=0.001)
    assert found["contention"]["factor"] == pytest.approx(before["contention"], rel=0.001)
    assert (found["algorithm"]["factor"] or 9) <= before["algorithm"] * 1.001


def test_rounds_in_which_everybody_crosses_take_longest_by_time_and_by_load(programs: Programs, tmp_path: Path) -> None:
    found = rounds(run(programs, tmp_path / "rounds"))
    assert [row["distance"] for row in found] == [0, 1, 2, 3]
    loads = [row["link_s"] or 0.0 for row in found]
    assert loads[2] == pytest.approx(2 * loads[1])
    assert found[2]["seconds"] == max(row["seconds"] for row in found)
    assert found[2]["seconds"] >= loads[2] * 0.99, "no round is faster than its fullest link"
    assert "leaf" in found[2]["link"]


def test_what_would_help_is_said_to_be_simulated_or_bounded(programs: Programs, tmp_path: Path) -> None:
    rows = REMEDIES.read(run(programs, tmp_path / "help"))
    assert "second-cable" in {row["id"] for row in rows}
    assert {row["basis"] for row in rows} <= {"simulated", "only bounded"}
    assert all(row["saves_s"] < row["seconds"] for row in rows)


def test_a_study_that_does_not_ask_has_no_breakdown(programs: Programs, tmp_path: Path) -> None:
    assert breakdown(run(programs, tmp_path / "plain", explain="false")) == {}
