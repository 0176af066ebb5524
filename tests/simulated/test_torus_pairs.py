# SPDX-License-Identifier: BSD-3-Clause
"""All pairs of a torus or of narrow uplinks at once: links are loaded unequally, no fault; a slow cable is one."""

from pathlib import Path

import pytest
from walked import walked

from weft.analyse.tables.pairs import OUTLIERS
from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
TORUS = """
name = "torus"
kind = "simulated"
[node]
names = "n[0-15]"
cores = 1
copy_rate = "50 GB/s"
latency = "300 ns"
[network]
topology = "torus"
latency = "1 us"
adapter_rate = "4 GB/s"
[network.torus]
dimensions = [4, 4]
link_rate = "4 GB/s"
link_latency = "100 ns"
"""
NARROW = """
name = "narrow"
kind = "simulated"
[node]
names = "n[1-8]"
cores = 4
copy_rate = "20 GB/s"
latency = "300 ns"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "12 GB/s"
eager_limit = "16 KiB"
[network.tree]
nodes_per_leaf = 4
uplinks = 2
link_rate = "12 GB/s"
"""
STUDY = """
name = "all-pairs"
kernel = "pairs"
[measure]
launches = 1
seed = 7
[pairs]
bytes = ["8 B", "64 KiB"]
concurrency = "all"
[[series]]
name = "all"
nodes = {nodes}
ranks_per_node = {ranks}
"""
CABLE = "switch-0-0 - switch-0-1"
UPLINK = "leaf0 - spine0"


@pytest.mark.parametrize("slow", [False, True])
def test_a_healthy_torus_accuses_nobody_and_one_with_a_slow_cable_that_cable(
    tmp_path: Path, programs: Programs, slow: bool
) -> None:
    # Two pairs of the healthy one were told to be slow, 1.6 and 1.8 times: their rounds take three flows over one link.
    rates = f'[network.rates]\n"{CABLE}" = "1 GB/s"\n' if slow else ""
    (tmp_path / "fabric.toml").write_text(TORUS + rates)
    fabric = load_fabric(tmp_path / "fabric.toml")
    folder = walked(tmp_path, STUDY.format(nodes=16, ranks=1), fabric, SimulatedLauncher(fabric, programs))
    found = [(row["kind"], row["name"]) for row in OUTLIERS.read(folder.path)]
    assert found == ([("cable", CABLE)] if slow else [])


@pytest.mark.parametrize("rate", ["12 GB/s", "8 GB/s"])
def test_healthy_narrow_uplinks_make_no_two_groups_of_pairs_and_a_slow_one_is_named(
    tmp_path: Path, programs: Programs, rate: str
) -> None:
    # "in two groups ... neither a node nor a link explains it": of some pairs one way alone is crowded
    (tmp_path / "fabric.toml").write_text(f'{NARROW}[network.rates]\n"{UPLINK}" = "{rate}"\n')
    fabric = load_fabric(tmp_path / "fabric.toml")
    folder = walked(tmp_path, STUDY.format(nodes=8, ranks=4), fabric, SimulatedLauncher(fabric, programs))
    found = [(row["kind"], row["name"]) for row in OUTLIERS.read(folder.path)]
    assert found[:1] == ([("cable", UPLINK)] if rate == "8 GB/s" else [])
