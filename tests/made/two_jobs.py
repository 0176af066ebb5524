# SPDX-License-Identifier: BSD-3-Clause
"""Simulated machines of eight hosts on two leaves, of which two jobs take parts."""

EIGHT_HOSTS = """
name = "{name}"
kind = "simulated"
[node]
names = "{nodes}"
cores = 1
memory = "8 GiB"
copy_rate = "8 GB/s"
latency = "1 us"
[network]
topology = "fat-tree"
adapter_rate = "1 GB/s"
latency = "2 us"
[network.tree]
nodes_per_leaf = 4
uplinks = 2
link_rate = "1 GB/s"
"""
ONE_CABLE = (
    EIGHT_HOSTS.format(name="one-cable", nodes="n[0-7]").replace("uplinks = 2", "uplinks = 1")
    + '[simulation]\nsharing = "equal"\n'
)
