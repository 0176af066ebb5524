# SPDX-License-Identifier: BSD-3-Clause
"""A simulated machine of eight hosts on two leaves, of which two jobs take parts."""

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
