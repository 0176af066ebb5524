# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of real ranks over virtual links: a narrow uplink shows in the pairs that cross it."""

import statistics
from pathlib import Path

from clusters import Installed
from over_fabric import OVER_FABRIC, run_over
from walked import rows_of

from weft.fabric import load_fabric

pytestmark = OVER_FABRIC

STUDY = """
name = "four-hosts"
kernel = "pairs"
[measure]
launches = 1
min_samples = 5
max_samples = 10
budget = "1 s"
seed = 7
[pairs]
bytes = ["1 B", "256 KiB"]
concurrency = "isolated"
[[series]]
name = "all"
nodes = 4
ranks_per_node = 1
"""
UPLINK = 15.625e6  # bytes a second, of virtual-narrow-uplinks


def test_pairs_across_the_narrow_uplink_take_as_long_as_it_lets_them(installed: Installed, tmp_path: Path) -> None:
    folder = run_over(load_fabric("virtual-narrow-uplinks"), installed, STUDY, tmp_path)
    found = {(row["bytes"], row["source"], row["target"]): row for row in rows_of(folder, "pairs")}
    assert len(found) == 2 * 12
    node = {row["rank"]: row["node"] for row in rows_of(folder, "ranks") if row["launch_id"] == "g000.l1"}
    assert [node[rank] for rank in range(4)] == [0, 1, 2, 3]
    near = [r["median_s"] for (size, s, t), r in found.items() if size == 262_144 and s // 2 == t // 2]
    far = [r["median_s"] for (size, s, t), r in found.items() if size == 262_144 and s // 2 != t // 2]
    assert (len(near), len(far)) == (4, 8)
    # what the links' buckets of tokens let through at once makes a message a little faster than the rate
    assert min(far) > 0.8 * 262_144 / UPLINK
    assert statistics.median(far) > 1.5 * statistics.median(near)
    assert statistics.median(r["median_s"] for (size, _, _), r in found.items() if size == 1) < 0.01
