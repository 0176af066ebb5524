# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes by groups of hosts: the same as pair by pair, in memory that does not grow with the pairs."""

import time
import tracemalloc

import numpy as np
from hypothesis import given, settings

from made.networks import names, networks
from weft.fabric.hops import groups_alike, hop_classes, host_hops, host_levels, rank_pairs
from weft.fabric.network import Network, TreeShape, fat_tree


@settings(max_examples=60, deadline=None)
@given(networks())
def test_each_host_is_in_one_group_whose_rows_are_its_own(network: Network) -> None:
    level, hops = host_levels(network), host_hops(network)
    seen: list[int] = []
    for group in groups_alike(network):
        for member in group.members.tolist():
            others = np.arange(len(network.hosts)) != member
            assert (group.level[others] == level[member, others]).all()
            assert (group.hops[others] == hops[member, others]).all()
            seen.append(member)
    assert sorted(seen) == list(range(len(network.hosts)))


@settings(max_examples=60, deadline=None)
@given(networks())
def test_classes_by_groups_are_those_of_all_pairs(network: Network) -> None:
    assert hop_classes(network) == rank_pairs(network, np.arange(len(network.hosts), dtype=np.int32)).classes()


def test_classes_of_9000_hosts_take_no_matrix_of_pairs() -> None:
    shape = TreeShape(nodes_per_leaf=30, uplinks=10, leaves_per_pod=30, pod_uplinks=100, link_rate=1e9)
    network = fat_tree(names(9000), shape, rate=1e9)
    started = time.process_time()
    tracemalloc.start()
    classes = hop_classes(network)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(c.pairs for c in classes) == 9000 * 8999
    assert peak < 9000 * 9000 * 3, "all pairs' levels and hops alone"
    assert time.process_time() - started < 10
