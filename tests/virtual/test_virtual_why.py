# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown over a virtual network: the limit of the uplinks is turned, for real, and the floor follows."""

from pathlib import Path

import pytest
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over

from weft.analyse.tables.breakdown import BREAKDOWN, REMEDIES, ROUND_TIMES, BreakdownRow
from weft.fabric import load_fabric

pytestmark = OVER_FABRIC

STUDY = """
name = "why"
kernel = "exchange"
[measure]
launches = 2
min_samples = 5
max_samples = 10
budget = "1 s"
seed = 7
[exchange]
calls = ["C"]
[[series]]
name = "strong"
nodes = [4]
ranks_per_node = 1
n = 9600
m = 64
"""


def measured(installed: Installed, folder: Path, fabric_name: str) -> dict[str, BreakdownRow]:
    run = run_over(load_fabric(fabric_name), installed, STUDY, folder)
    return {row["step"]: row for row in BREAKDOWN.read(run.path)}


@pytest.fixture(scope="module")
def narrow_run(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose uplinks are narrow."""
    folder = tmp_path_factory.mktemp("narrow")
    measured(installed, folder, "virtual-narrow-uplinks")
    return folder / "run"


def test_slower_uplinks_raise_the_floor_and_messages_stay_what_they_cost(
    installed: Installed, narrow_run: Path, tmp_path: Path
) -> None:
    narrow = {row["step"]: row for row in BREAKDOWN.read(narrow_run)}
    wide = measured(installed, tmp_path / "wide", "virtual-narrow-hosts")
    assert narrow["hardware"]["name"] == "link leaf0 up"
    assert wide["hardware"]["name"] == "injection"
    for rows in (narrow, wide):
        told = rows["hardware"]
        factor = rows["messages"]["factor"]
        # what headers, acknowledgements and this machine's scheduling cost; nothing is faster than its link
        assert factor is not None and 0.95 < factor < 2.0, told
        assert rows["contention"]["seconds"] > 0.9 * rows["hardware"]["seconds"], told
    # four blocks over an uplink, three over a host's own link, at the same rate
    assert narrow["hardware"]["seconds"] > 1.2 * wide["hardware"]["seconds"]
    remedies = {row["id"] for row in REMEDIES.read(narrow_run)}
    assert "second-cable" in remedies
    assert not any("adapter" in remedy for remedy in remedies)


def test_the_rounds_stand_beside_the_link_that_each_fills(narrow_run: Path) -> None:
    rounds = {row["distance"]: row for row in ROUND_TIMES.read(narrow_run)}
    loads = {distance: row["link_s"] or 0.0 for distance, row in rounds.items()}
    assert loads[2] == pytest.approx(2 * loads[1]), "in round 2 both hosts of a leaf cross its uplink, in round 1 one"
    assert loads[0] == 0.0
    # one begins before the other has ended everywhere, so only their sum is held to what the link needs
    assert sum(row["seconds"] for row in rounds.values()) > 0.9 * sum(loads.values())
