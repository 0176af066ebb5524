# SPDX-License-Identifier: BSD-3-Clause
"""A study with the real kernels over virtual links: all cells measured, none beats its bound, the bytes are counted."""

import json
from pathlib import Path

import numpy as np
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over

from weft.fabric import load_fabric
from weft.plan.stored import plan_of
from weft.store.links import links_file, read_links

pytestmark = OVER_FABRIC

# 9.8 MB in all: at N = 4 each leaf sends 2.46 MB of them over an uplink of 15.625 MB/s
STUDY = """
name = "tiny"
title = "One host, two on a leaf, four over the uplinks"
kernel = "exchange"
[measure]
launches = 1
min_samples = 5
max_samples = 10
budget = "300 ms"
seed = 7
[exchange]
data = "contention"
[[series]]
name = "strong"
scaling = "strong"
nodes = [1, 2, 4]
ranks_per_node = 1
n = 19200
m = 64
"""


def test_a_study_runs_over_the_links(installed: Installed, tmp_path: Path) -> None:
    folder = run_over(load_fabric("virtual-narrow-uplinks"), installed, STUDY, tmp_path)
    cells = {cell.nodes: cell for cell in plan_of(folder).cells if cell.kernel == "exchange"}
    assert set(cells) == {1, 2, 4}
    for nodes, cell in cells.items():
        record = json.loads(folder.cell_record(cell.id, 1).read_text())
        assert record["status"] == "ok", record
        counts = {(count.link, count.source): count for count in read_links(links_file(folder.path, f"{cell.id}.l1"))}
        uplink = counts["leaf0-spine0", "leaf0"].bytes
        if nodes < 4:
            assert uplink < 300_000
            continue
        samples = np.load(folder.cells / f"{cell.id}.l1.npy")
        segments = [segment for segment in record["segments"] if segment["op"] == "C"]
        calls = sum(segment["warmup"] + segment["count"] * segment["batch"] for segment in segments)
        leaf_sends = 19200 * 64 * 8 / 4
        assert calls * leaf_sends < uplink
        warm = segments[-1]
        durations = samples[:, warm["first"] : warm["first"] + warm["count"], 1].max(axis=0) / warm["batch"] / 1e9
        assert durations.min() > leaf_sends / 15.625e6
        assert cell.bound.name == "link leaf0 up"
        assert durations.min() > cell.bound.seconds * 0.99
