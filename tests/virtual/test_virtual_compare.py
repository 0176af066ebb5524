# SPDX-License-Identifier: BSD-3-Clause
"""Two real networks that differ in the rate of their links alone: `weft compare` names the slower, and by how much."""

import json
from pathlib import Path

import pytest
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over

from weft.cli.app import main
from weft.fabric import load_fabric

pytestmark = OVER_FABRIC

STUDY = """
name = "two-networks"
title = "A broadcast over one link"
kernel = "collective"
[measure]
launches = 4
min_samples = 5
max_samples = 8
warmup_most = 2
budget = "1 s"
limit = "60 s"
[collective]
collectives = ["Bcast"]
sizes = ["32 KiB", "128 KiB"]
[[series]]
name = "two-nodes"
nodes = 2
ranks_per_node = 1
"""

# so slow that the link takes the time, however busy the cores behind it are
FABRIC = """
name = "links-{name}"
kind = "virtual"
title = "Two namespaces"
[node]
names = "host[0-1]"
cores = 1
memory = "1 GiB"
[network]
topology = "fat-tree"
adapter_rate = "{rate} MB/s"
[network.tree]
nodes_per_leaf = 1
uplinks = 1
link_rate = "{rate} MB/s"
"""


@pytest.mark.long
def test_half_the_rate_takes_twice_the_time_and_fails_the_gate(
    installed: Installed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[str] = []
    for name, rate in (("full", 1.0), ("half", 0.5)):
        (tmp_path / f"{name}.toml").write_text(FABRIC.format(name=name, rate=rate))
        fabric = load_fabric(tmp_path / f"{name}.toml")
        runs.append(str(run_over(fabric, installed, STUDY, tmp_path / name).path))
    capsys.readouterr()
    page = tmp_path / "page" / "compare.html"
    words = ["compare", *runs, "--phase", "warm", "--format", "json"]
    assert main([*words, "--fail-if", "slower:1.10", "-o", str(page), "--figures", "png"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["comparisons"][0]["outcome"] == "slower"
    sized = [row for row in found["comparisons"][0]["rows"] if row["bytes"]]
    assert [row["bytes"] for row in sized] == [32768, 131072]
    assert all(1.5 < row["ratio"] < 3 for row in sized), sized
    assert found["runs"][0]["virtual"]
    assert main([*words, "--fail-if", "faster:1.10"]) == 0
    assert "(virtual network)" in page.read_text()
    assert {path.stem for path in (page.parent / "figures").glob("*.png")} == {"times-warm", "ratio-warm"}
