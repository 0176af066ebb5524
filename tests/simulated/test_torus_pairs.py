# SPDX-License-Identifier: BSD-3-Clause
"""All pairs of a torus at once: its links are loaded unequally, which is no fault; a slow cable is one."""

from pathlib import Path

import pytest
from walked import walked

from weft.analyse.tables.pairs import BLAME
from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.programs import Programs

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
nodes = 16
ranks_per_node = 1
"""
CABLE = "switch-0-0 - switch-0-1"


@pytest.mark.parametrize("slow", [False, True])
def test_a_healthy_torus_accuses_nobody_and_one_with_a_slow_cable_that_cable(
    tmp_path: Path, programs: Programs, slow: bool
) -> None:
    # Two pairs of the healthy one were told to be slow, 1.6 and 1.8 times: their rounds take three flows over one link.
    rates = f'[network.rates]\n"{CABLE}" = "1 GB/s"\n' if slow else ""
    (tmp_path / "fabric.toml").write_text(TORUS + rates)
    fabric = load_fabric(tmp_path / "fabric.toml")
    folder = walked(tmp_path, STUDY, fabric, SimulatedLauncher(fabric, programs))
    found = [(row["kind"], row["name"]) for row in BLAME.read(folder.path)]
    assert found == ([("cable", CABLE)] if slow else [])
