# SPDX-License-Identifier: BSD-3-Clause
"""A simulated fabric sends along its forwarding tables: its phases take what loads say of good tables and bad."""

from pathlib import Path

import numpy as np
import pytest

from made.view import load_view
from weft.fabric import load_fabric
from weft.fabric.importing import import_dump
from weft.fabric.network.build import build_network
from weft.kernel.studies import load_study
from weft.launch.preload import route_library
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.route.routes import Routes, phases
from weft.run.one import run_study

pytestmark = pytest.mark.simulated
DATA = Path(__file__).parents[1] / "data" / "networks"
SIZE = 4 << 20
STUDY = """
name = "tables"
kernel = "collective"
[measure]
seed = 7
[collective]
collectives = ["alltoall"]
sizes = ["4 MiB"]
[[series]]
name = "four"
nodes = [4]
ranks_per_node = 1
"""


@pytest.mark.parametrize(("changed", "expected"), [(b"", 3.0), (b"0x0007 007", 4.0)])
def test_phases_take_as_long_as_the_fullest_link_of_each(
    tmp_path: Path, programs: Programs, changed: bytes, expected: float
) -> None:
    """With one entry changed, two routes share a cable in one of three phases."""
    lines = (DATA / "small-lfts.dump").read_bytes()
    (tmp_path / "tables.dump").write_bytes(lines.replace(b"0x0007 008", changed, 1) if changed else lines)
    file = tmp_path / "small.toml"
    import_dump(DATA / "small-subnet.lst", file, tables=tmp_path / "tables.dump")
    text = file.read_text().replace("cores = 1 ", 'memory = "1 GiB"\ncopy_rate = "1000 GB/s"\ncores = 1 ')
    file.write_text(text.replace('# latency = "1.2 us"', 'latency = "1 us"') + '[simulation]\ncollectives = "mpich"\n')
    (tmp_path / "study.toml").write_text(STUDY)
    fabric = load_fabric(str(file))
    network = build_network(fabric)
    own = float(network.links.rate[network.uplink].min())
    static = phases(Routes(network, route_library()), "shift").time
    assert float(static.sum()) == expected
    folder = run_study(
        load_study(tmp_path / "study.toml"), fabric, tmp_path / "run", SimulatedLauncher(fabric, programs)
    )
    (simulated,) = [
        row["median_s"]
        for row in load_view(folder.path).rows
        if row["call"] == f"alltoall@{SIZE}" and row["phase"] == "warm"
    ]
    assert simulated == pytest.approx(np.sum(static) * SIZE / own, rel=0.035)
