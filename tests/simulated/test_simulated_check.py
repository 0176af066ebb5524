# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` of simulated trees and dragonflies names what is slow, of 1,024 nodes in 120 s of processor time."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.fabric import load_fabric
from weft.fabric.loads import name_cable
from weft.fabric.network.build import build_network
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.run.check import Asked, exit_code, run_check
from weft.run.progress import Progress
from weft.store.folder import RunFolder

pytestmark = [pytest.mark.simulated, pytest.mark.long]
MOST_S = 120  # of a processor, for both passes
OWN_S = 5.0  # of a processor, all that Weft does itself; the test fails at 1.5 times it

MACHINE = """
name = "machine"
kind = "simulated"
[node]
names = "n[0-{last}]"
sockets = 2
cores = 8
memory = "24 GiB"
copy_rate = "5 GB/s"
[network]
latency = "1.2 us"
adapter_rate = "2 GB/s"
"""
TREE = """topology = "fat-tree"
[network.tree]
nodes_per_leaf = 32
uplinks = 16
link_rate = "2 GB/s"
"""
WIDE = TREE.replace("32", "8").replace("16", "4").replace("2 GB/s", "4 GB/s")
DRAGONFLY = """topology = "dragonfly"
[network.dragonfly]
nodes_per_router = 4
routers_per_group = 8
global_links = 4
local_rate = "2 GB/s"
global_rate = "2 GB/s"
"""
FAR = "group1-router2 - group2-router2"


class Counting(SimulatedLauncher):
    """A launcher that adds up the processor time of its simulations, and notes that of the whole check in Python."""

    processor_s = 0.0
    own_s = 0.0

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Count and yield each outcome."""
        for outcome in super().run(requests):
            self.processor_s += outcome.processor_s
            yield outcome


def checked(machine: str, path: Path, programs: Programs, slow: Mapping[str, float]) -> tuple[RunFolder, Counting]:
    """A check of a machine of which the cables of some parts are slower: all that touch a node or a switch."""
    (path / "machine.toml").write_text(machine)
    network = build_network(load_fabric(path / "machine.toml"))
    names = [name_cable(network, cable) for cable in range(len(network.links) // 2)]
    rates = {name: network.links.rate[2 * cable] / factor for part, factor in slow.items()
             for cable, name in enumerate(names) if name == part or part in name.split(" - ")}  # fmt: skip
    assert bool(rates) == bool(slow)
    lines = [f'"{name}" = "{rate / 1e6:.0f} MB/s"' for name, rate in rates.items()]
    (path / "machine.toml").write_text("\n".join([machine, "[network.rates]", *lines]) + "\n")
    fabric = load_fabric(path / "machine.toml")
    launcher = Counting(fabric, programs)
    before = time.process_time()
    folder = run_check(fabric, Asked(), launcher, Progress(), path / "run")
    launcher.own_s = time.process_time() - before
    return folder, launcher


@pytest.fixture(autouse=True)
def outside_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)


@pytest.mark.parametrize(
    ("shape", "kind", "part", "factor"),
    [
        (DRAGONFLY, "cable", FAR, 4.0),  # was healthy: its messages shared cables with others by max-min
        (DRAGONFLY, "cable", "group2-router1 - group2-router5", 1.5),
        (DRAGONFLY, "node", "n77", 1.4),
        (DRAGONFLY, "switch", "group3-router6", 1.5),
        (TREE, "node", "n77", 1.4),  # of each uplink a message had half, so that most rounds showed nothing
    ],
    ids=["global cable", "local cable", "node", "switch", "node of a tree"],
)
def test_a_slow_part_of_128_nodes_is_named(
    programs: Programs, tmp_path: Path, shape: str, kind: str, part: str, factor: float
) -> None:
    folder, _ = checked(MACHINE.format(last=127) + shape, tmp_path, programs, {part: factor})
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(each["id"], extras(each)["of"], each["subject"]) for each in answers] == [
        ("check.not-healthy", kind, part)
    ]
    assert (answers[0]["value"] or 0.0) == pytest.approx(factor, rel=0.05)
    assert exit_code(folder) == 3


@pytest.mark.parametrize("shape", [DRAGONFLY, TREE], ids=["dragonfly", "tree"])
def test_128_equal_nodes_are_healthy(programs: Programs, tmp_path: Path, shape: str) -> None:
    folder, _ = checked(MACHINE.format(last=127) + shape, tmp_path, programs, {})
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], exit_code(folder)) == ("check.healthy", 0)
    assert extras(answer)["within"] <= 0.04


def test_a_slow_cable_that_is_still_faster_than_a_node_is_named(programs: Programs, tmp_path: Path) -> None:
    """Ping-pongs of two pairs did not fill it in both directions: it was healthy."""
    folder, _ = checked(MACHINE.format(last=63) + WIDE, tmp_path, programs, {"leaf3 - spine1": 1.6})
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], extras(answer)["of"], answer["subject"]) == ("check.not-healthy", "cable", "leaf3 - spine1")
    assert (answer["value"] or 0.0) == pytest.approx(1.6, rel=0.05)


@pytest.mark.parametrize(
    ("shape", "cable", "factor"),
    [(DRAGONFLY, "group7-router2 - group7-router3", 4.0), (TREE, "leaf3 - spine5", 2.0)],
    ids=["dragonfly", "tree"],
)
def test_a_slow_cable_of_1024_nodes_is_named(
    programs: Programs, tmp_path: Path, shape: str, cable: str, factor: float
) -> None:
    folder, launcher = checked(MACHINE.format(last=1023) + shape, tmp_path, programs, {cable: factor})
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], extras(answer)["of"], answer["subject"]) == ("check.not-healthy", "cable", cable)
    assert (answer["value"] or 0.0) == pytest.approx(factor, rel=0.05)
    assert 0 < launcher.processor_s < MOST_S
    print(f"{launcher.processor_s:.1f} s simulated, {launcher.own_s:.2f} s of Weft's own")
    assert 0 < launcher.own_s < 1.5 * OWN_S
