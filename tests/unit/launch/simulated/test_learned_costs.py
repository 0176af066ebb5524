# SPDX-License-Identifier: BSD-3-Clause
"""A run that simulates learns from its launches what the next ones cost, and decides by that."""

import json
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from weft.fabric import load_fabric
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated import launcher as module
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.learned import FILE, Learned, Seen, in_waves, read_seen
from weft.launch.simulated.simgrid import Programs, SimGrid
from weft.plan.records import LaunchCell
from weft.plan.simulation_budget import START_S

FABRIC = """
name = "made"
kind = "simulated"
[node]
names = "n[0-127]"
cores = 8
copy_rate = "5 GB/s"
[network]
adapter_rate = "3 GB/s"
eager_limit = "16 KiB"
[simulation]
collectives = "{library}"
budget = "{budget}"
engine = "ranks"
"""


class Machine:
    """A simulator of which each launch takes ``factor`` times its estimate, and that simulates nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Path, budget: str, library: str = "mpich") -> None:
        (place / "launches").mkdir(parents=True, exist_ok=True)
        (place / "made.toml").write_text(FABRIC.format(budget=budget, library=library))
        programs = Programs(place, SimGrid(place, place, "3.32"))
        self.place, self.said, self.factor = place, list[str](), 1.0
        self.started: list[str] = []
        self.launcher = SimulatedLauncher(load_fabric(place / "made.toml"), programs, self.said.append, workers=2)
        monkeypatch.setattr(module, "kept", self.kept)
        monkeypatch.setattr(module, "processor_s", self.processor_s)
        self.taken: dict[int, float] = {}

    @contextmanager
    def kept(self, _command: Any, _variables: Any, log: Path, *_: Any) -> Generator[Any]:
        self.started.append(log.stem)
        with subprocess.Popen(["true"]) as keeper:
            request = self.request(int(log.stem[1:4]))
            self.taken[id(keeper)] = START_S + self.factor * self.launcher.cost(request).seconds
            yield keeper

    def processor_s(self, keeper: subprocess.Popen[bytes]) -> float:
        keeper.poll()
        return self.taken[id(keeper)]

    def request(self, ranks: int, values: dict[str, Any] | None = None) -> LaunchRequest:
        told = {"collective": "alltoallv", "bytes": [65536], "form": "plain"} | (values or {})
        name = f"c{ranks:03}.l1"
        return LaunchRequest(
            id=name, ranks=ranks, nodes=self.launcher.fabric.hosts[: ranks // 8], ranks_per_node=8, order="block",
            oversubscribed=False, plan=self.place / "plan", folder=self.place, limit_s=60.0,
            cells=(LaunchCell("c000", "collective", told, ranks),),
        )  # fmt: skip

    def run(self, *ranks: int) -> dict[int, Outcome]:
        return dict(zip(ranks, self.launcher.run([self.request(each) for each in ranks]), strict=True))

    def estimate(self, ranks: int) -> float:
        return self.launcher.cost(self.request(ranks)).seconds


Make = Callable[[str], Machine]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    def make(budget: str) -> Machine:
        return Machine(monkeypatch, tmp_path, budget)

    return make


def budget_between(machine: Make, share: float) -> tuple[Machine, float]:
    """A budget that is ``share`` of the estimate of 512 ranks."""
    at = machine("1 h").estimate(512)
    return machine(f"{share * at} s"), at


def test_a_later_cell_is_refused_by_what_an_earlier_one_has_taken(machine: Make) -> None:
    made, _ = budget_between(machine, 2.0)
    made.factor = 5.0
    outcomes = made.run(512, 256)
    assert outcomes[256].refused == ""
    told = outcomes[512].refused
    assert "over the budget of" in told
    assert "but c256.l1 of this run (alltoallv by mpich, 256 ranks) took 5 times its estimate" in told
    assert made.started == ["c256.l1"]


def test_a_later_cell_is_admitted_by_what_an_earlier_one_has_taken(machine: Make) -> None:
    made, _ = budget_between(machine, 0.5)
    made.factor = 0.2
    outcomes = made.run(512, 256)
    assert [outcome.refused for outcome in outcomes.values()] == ["", ""]
    (told,) = made.said
    assert told.startswith("c512.l1 is simulated after all, in about ")
    assert "took 0.2 times its estimate" in told


@pytest.mark.parametrize("factor", [0.55, 1.0, 1.8])
@pytest.mark.parametrize("share", [0.7, 1.4])
def test_a_busy_or_a_fast_host_decides_nothing(machine: Make, factor: float, share: float) -> None:
    made, _ = budget_between(machine, share)
    made.factor = factor
    assert bool(made.run(256, 512)[512].refused) == (share < 1)


@pytest.mark.parametrize(("factor", "share"), [(0.2, 0.5), (5.0, 2.0)])
def test_where_results_are_to_repeat_the_estimates_alone_decide(machine: Make, factor: float, share: float) -> None:
    # the page of tara extended told N = 288 on one host and N = 144 on a slower one
    made, _ = budget_between(machine, share)
    made.launcher.learns, made.factor = False, factor
    assert bool(made.run(256, 512)[512].refused) == (share < 1)
    assert made.said == []


def test_a_launch_of_a_few_ranks_teaches_nothing_by_its_start(machine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    # 8 ranks of tara took 1.1 s where 7 ms were expected: 150 times as much, and with it all that came next
    made, _ = budget_between(machine, 2.0)

    def at_least_its_start(keeper: "subprocess.Popen[bytes]") -> float:
        return max(1.4, made.processor_s(keeper))

    monkeypatch.setattr(module, "processor_s", at_least_its_start)
    assert [outcome.refused for outcome in made.run(8, 512).values()] == ["", ""]


def test_another_algorithm_teaches_nothing(machine: Make) -> None:
    made, _ = budget_between(machine, 2.0)
    made.factor = 5.0
    other = made.request(256, {"collective": "alltoall"})
    both = list(made.launcher.run([other, made.request(512)]))
    assert [outcome.refused for outcome in both] == ["", ""]


def test_a_run_that_goes_on_knows_what_its_launches_had_cost(machine: Make, tmp_path: Path) -> None:
    made, at = budget_between(machine, 2.0)
    made.factor = 5.0
    made.run(256)
    again = machine(f"{2.0 * at} s")
    assert "took 5 times its estimate" in again.run(512)[512].refused
    stored = json.loads((tmp_path / "launches" / FILE).read_text())
    assert [(row["launch"], row["kind"]) for row in stored["launches"]] == [("c256.l1", "alltoallv by mpich")]


def test_a_foreign_file_of_costs_is_no_knowledge(tmp_path: Path) -> None:
    for text in ("", "[]", '{"schema": "weft-simulated-costs/1", "launches": [{"launch": 1}]}', '{"schema": "x"}'):
        (tmp_path / FILE).write_text(text)
        assert read_seen(tmp_path / FILE) == {}


def test_the_nearest_number_of_ranks_teaches_and_short_launches_do_not(tmp_path: Path) -> None:
    learned = Learned()
    (tmp_path / "launches").mkdir()
    for ranks, taken_s in ((8, 0.5), (64, 30.0), (256, 400.0)):
        learned.take(tmp_path, Seen(f"c{ranks}", ranks, "alltoallv by mpich", taken_s / 10, taken_s))
    found = learned.nearest(tmp_path, "alltoallv by mpich", 8)
    assert found is not None
    assert found.ranks == 64
    assert learned.nearest(tmp_path, "alltoallv by ompi", 8) is None


def flat(waves: Sequence[Sequence[str]]) -> list[str]:
    return [name for wave in waves for name in wave]


def test_waves_rise_in_cost_and_begin_with_their_dearest() -> None:
    costs = {"a": 1.0, "b": 8.0, "c": 30.0, "d": 200.0, "e": 599.0, "f": 601.0, "g": 2.0}
    waves = in_waves(costs, 600.0)
    assert waves == [["b", "g", "a"], ["c"], ["e", "d"], ["f"]]
    assert sorted(flat(waves)) == sorted(costs)
