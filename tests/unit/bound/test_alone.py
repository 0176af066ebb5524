# SPDX-License-Identifier: BSD-3-Clause
"""What one rank's messages need of the hardware, alone; and which link each round of a shift fills."""

from pathlib import Path

import pytest

from weft.bound.links import fullest_links
from weft.bound.placed import alone_s_per_byte
from weft.bound.terms import PlacedCell
from weft.fabric import load_fabric
from weft.fabric.model import Fabric

TREE = """
name = "t"
kind = "{kind}"
[node]
names = "n[0-3]"
cores = 4
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
latency = "1 us"
adapter_rate = "2 GB/s"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "1 GB/s"
"""


def fabric(tmp_path: Path, kind: str = "simulated") -> Fabric:
    path = tmp_path / "t.toml"
    path.write_text(TREE.format(kind=kind))
    return load_fabric(path)


def placed(nodes: int = 4, per_node: int = 2) -> PlacedCell:
    hosts = tuple(f"n{node}" for node in range(nodes))
    return PlacedCell("exchange", nodes, per_node, nodes * per_node, hosts, {})


def test_blocks_of_one_rank_wait_for_the_link_that_most_of_them_cross(tmp_path: Path) -> None:
    # three nodes by the adapter at 2 GB/s, two of them beyond the uplinks at 1 GB/s, two ranks on each
    assert alone_s_per_byte(placed(), fabric(tmp_path)) == pytest.approx(2 * 2 / 1e9)
    assert alone_s_per_byte(placed(2), fabric(tmp_path)) == pytest.approx(2 / 2e9)


def test_one_node_has_no_messages_that_leave_it(tmp_path: Path) -> None:
    assert alone_s_per_byte(placed(1), fabric(tmp_path)) is None


def test_the_rounds_of_a_shift_fill_the_uplinks_most_where_everybody_crosses(tmp_path: Path) -> None:
    rounds = fullest_links(placed(4, 1), "block", fabric(tmp_path))
    assert len(rounds) == 4
    assert rounds[0] == ("", 0.0), "a rank's own block crosses no link"
    assert rounds[2][1] == pytest.approx(2 / 1e9), "round 2: both nodes of a leaf cross its one uplink"
    assert rounds[1][1] == pytest.approx(1 / 1e9), "round 1: one of them does"
    assert "leaf" in rounds[2][0]


def test_cyclic_ranks_cross_in_other_rounds(tmp_path: Path) -> None:
    block = [seconds for _, seconds in fullest_links(placed(2, 2), "block", fabric(tmp_path))]
    cyclic = [seconds for _, seconds in fullest_links(placed(2, 2), "cyclic", fabric(tmp_path))]
    assert block == pytest.approx([0, 0.5e-9, 1e-9, 0.5e-9])
    assert cyclic == pytest.approx([0, 1e-9, 0, 1e-9])


def test_routes_that_nobody_knows_are_not_drawn(tmp_path: Path) -> None:
    assert fullest_links(placed(), "block", fabric(tmp_path, "slurm")) == []
