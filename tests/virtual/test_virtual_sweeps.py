# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over sizes across virtual links: pairs of each hop class, and collectives on parts of a launch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over

from weft.fabric import load_fabric
from weft.plan.records import Plan
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.links import links_file, read_links

pytestmark = OVER_FABRIC

MEASURE = """
[measure]
launches = 1
min_samples = 3
max_samples = 5
warmup_most = 2
budget = "300 ms"
limit = "60 s"
seed = 7
"""
BANDWIDTH = f"""
name = "pairs"
kernel = "bandwidth"
{MEASURE}
[bandwidth]
patterns = ["inter-node"]
sizes = ["64 KiB", "1 MiB"]
refine = 0
window = 4
cache = "cold"
cold_footprint = "16 MiB"
[[series]]
name = "pairs"
ranks_per_node = 1
"""
COLLECTIVE = f"""
name = "parts"
kernel = "collective"
{MEASURE}
[collective]
collectives = ["Bcast", "Alltoall"]
sizes = ["64 KiB"]
[[series]]
name = "parts"
nodes = 4
ranks_per_node = 1
processes = [2, 4]
"""


def measured(installed: Installed, folder: Path, text: str) -> tuple[RunFolder, Plan, dict[str, dict[str, Any]]]:
    """A study over the links: its folder, its plan, and the records of its cells."""
    run = run_over(load_fabric("virtual-default"), installed, text, folder)
    plan = plan_of(run)
    cells = [cell.id for cell in plan.measured]
    return run, plan, {name: json.loads(run.cell_record(name, 1).read_text()) for name in cells}


def test_a_pair_of_each_hop_class_streams_over_the_links_no_faster_than_they_are(
    installed: Installed, tmp_path: Path
) -> None:
    run, plan, records = measured(installed, tmp_path, BANDWIDTH)
    assert [cell.parameters["level"] for cell in plan.measured] == ["leaf", "core"]
    assert {record["status"] for record in records.values()} == {"ok"}, records
    segments: list[dict[str, Any]] = []
    for cell in plan.measured:
        samples = np.load(run.cells / f"{cell.id}.l1.npy")
        segments = records[cell.id]["segments"]
        warm = next(part for part in segments if (part["op"], part["phase"]) == ("send@1048576", "warm"))
        seconds = samples[:, warm["first"] : warm["first"] + warm["count"], 1].max(axis=0) / warm["batch"] / 1e9
        assert 2**20 / seconds.max() < 1.05 * 62.5e6
        assert 2**20 / np.median(seconds) > 0.3 * 62.5e6
    sent = {(count.link, count.source): count.bytes for count in read_links(links_file(run.path, "g000.l1"))}
    windows = sum(part["warmup"] + part["count"] * part["batch"] for part in segments if part["op"] == "send@1048576")
    assert sent["leaf0-spine0", "leaf0"] > windows * 2**20


def test_parts_of_a_launch_are_the_first_hosts_and_the_others_do_not_disturb(
    installed: Installed, tmp_path: Path
) -> None:
    _, plan, records = measured(installed, tmp_path, COLLECTIVE)
    assert len([launch for launch in plan.launches if launch.id.startswith("g")]) == 1
    for cell in plan.measured:
        record = records[cell.id]
        assert (record["status"], record["ranks"]) == ("ok", cell.ranks), record
        assert record["validation"]["performed"]
        assert cell.hosts == tuple(f"node{k}" for k in range(cell.ranks))
