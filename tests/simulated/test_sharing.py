# SPDX-License-Identifier: BSD-3-Clause
"""How flows share a link, where one rank stands alone behind an uplink and the three others under one leaf."""

import pytest
from simulated_cells import Simulate

TREE = """
name = "three-and-one"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 1
copy_rate = "5000 GB/s"
[network]
topology = "fat-tree"
latency = "{latency}"
adapter_rate = "16 MB/s"
[network.tree]
nodes_per_leaf = 3
uplinks = 1
link_rate = "8 MB/s"
[simulation]
collectives = "ompi"
sharing = "{sharing}"
"""
N, M = 3600, 512  # a block is a sixteenth of the array of n m doubles
LEAST = 3 * (N * M * 8 / 16) / 8e6  # seconds: three blocks over the uplink, each way


def seconds(simulate: Simulate, sharing: str, latency: str = "20 us") -> float:
    """The linear all-to-all of Open MPI's selector, in which all flows begin at once."""
    text = TREE.format(sharing=sharing, latency=latency)
    values = {"data": "contention", "calls": ["C"]}
    return simulate(nodes=4, ranks_per_node=1, n=N, m=M, text=text, values=values).seconds("C", "warm")


def test_flows_that_share_alike_keep_the_uplink_full(simulate: Simulate) -> None:
    assert seconds(simulate, "equal") == pytest.approx(LEAST, rel=0.005)


def test_a_flow_over_more_links_gets_less_by_path(simulate: Simulate) -> None:
    """In the hosts' links, as long as those inside the leaf last: meanwhile the uplink is not full."""
    assert 1.05 < seconds(simulate, "by-path") / LEAST < 1.08


@pytest.mark.parametrize("sharing", ["equal", "by-path"])
def test_without_a_latency_all_bytes_arrive(simulate: Simulate, sharing: str) -> None:
    assert seconds(simulate, sharing, "0 us") == pytest.approx(LEAST, rel=0.08)
