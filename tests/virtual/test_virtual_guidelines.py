# SPDX-License-Identifier: BSD-3-Clause
"""A guideline that a library violates on many ranks alone: where each frame takes two milliseconds of its link."""

from pathlib import Path

import pytest
from clusters import Installed
from over_fabric import run_over

from weft.analyse.tables.answers import GUIDELINES
from weft.analyse.tables.claims import CLAIMS, claims_of
from weft.fabric import load_fabric
from weft.launch.virtual import wiring

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.mpi,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.parametrize("installed", ["mpich"], indirect=True),
]

#: 16 hosts share two cores, and wait for these longer than a message takes on any link. So each frame counts as 2000
#: bytes at least. (A link as slow for all bytes lets MPICH's own start time out.)
LEAST_FRAME = 2000
FABRIC = """\
name = "message-bound"
kind = "virtual"
[node]
names = "node[0-15]"
cores = 1
memory = "256 MiB"
[network]
topology = "fat-tree"
adapter_rate = "1 MB/s"
[network.tree]
nodes_per_leaf = 16
uplinks = 1
link_rate = "1 MB/s"
"""
STUDY = """\
name = "twofold"
kernel = "collective"
explain = false
[measure]
launches = 7
min_samples = 10
max_samples = 20
warmup_most = 5
budget = "1.5 s"
limit = "100 s"
seed = 7
[collective]
collectives = ["Alltoallv"]
sizes = ["1 B"]
guidelines = true
[[series]]
name = "guidelines"
nodes = [16]
ranks_per_node = 1
"""


def test_the_alltoallv_of_mpich_is_slower_than_its_alltoall_of_small_blocks(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MPI_Alltoall combines blocks (Bruck, from 8 ranks on), MPI_Alltoallv sends each by itself."""
    plain = wiring.shaping
    monkeypatch.setattr(wiring, "shaping", lambda interface, rate: f"{plain(interface, rate)} mpu {LEAST_FRAME}")
    (tmp_path / "fabric.toml").write_text(FABRIC)
    run = run_over(load_fabric(tmp_path / "fabric.toml"), installed, STUDY, tmp_path / "run")
    rows = {row["guideline"]: row for row in GUIDELINES.read(run.path)}
    assert rows["alltoall"]["violated"], rows
    assert rows["alltoall"]["low"] > 1.1
    assert not rows["alltoallw"]["violated"], rows
    (answer, *_) = claims_of(CLAIMS.read(run.path), "answer")
    assert (answer["id"], answer["subject"]) == ("audit.violated", "alltoallv")
