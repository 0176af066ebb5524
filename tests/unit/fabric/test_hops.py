# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes of pairs of ranks."""

import time
from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from made.networks import classes_of_ranks, hops_of, names, networks, rank_pairs
from weft.fabric.hops import LEVELS, HopClass, hop_classes, host_hops
from weft.fabric.network.build import star
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree


def three_levels(hosts: int = 4518) -> Network:
    shape = TreeSection.model_construct(
        nodes_per_leaf=18, uplinks=18, spines=9, leaves_per_pod=9, pod_uplinks=162, link_rate=1e9
    )
    return fat_tree(names(hosts), shape, rate=1e9)


@settings(max_examples=60, deadline=None)
@given(networks())
def test_hops_of_all_pairs_are_those_of_their_routes(network: Network) -> None:
    hops = host_hops(network)
    for a in range(len(network.hosts)):
        for b in range(len(network.hosts)):
            assert hops[a, b] == hops_of(network, a, b)


def test_classes_of_two_sockets_two_nodes_a_leaf_are_counted() -> None:
    network = fat_tree(names(4), TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=1e9), rate=1e9)
    assert hop_classes(network, (2, 2)) == (
        HopClass("socket", 0, 4 * 2 * 2),
        HopClass("node", 0, 4 * 2 * 4),
        HopClass("leaf", 0, 4 * 16),
        HopClass("core", 2, 8 * 16),
    )


def test_the_counted_classes_are_those_of_the_ranks_one_by_one() -> None:
    network = three_levels(200)
    host, socket = np.repeat(np.arange(200), 3), np.tile([0, 0, 1], 200)
    assert classes_of_ranks(network, host, socket) == hop_classes(network, (2, 1))


def test_classes_hold_every_ordered_pair_once() -> None:
    classes = hop_classes(three_levels(), (16,), np.arange(0, 4518, 71, dtype=np.int32))
    assert sum(c.pairs for c in classes) == 1024 * 1023


def test_yellowstones_pairs_are_0_2_4_6_hops_apart_when_host_links_count() -> None:
    network = replace(three_levels(), end_hops=2)
    classes = hop_classes(network, (1,) * 16, np.arange(0, 256, 4, dtype=np.int32))
    assert [(c.level, c.hops) for c in classes] == [("node", 0), ("leaf", 2), ("pod", 4), ("core", 6)]


def test_a_pair_is_as_near_as_its_ranks_hosts_whatever_their_order() -> None:
    network = three_levels(400)
    level, hops = rank_pairs(network, [0, 399, 0, 17, 18])
    assert [LEVELS[each] for each in level[0]] == ["node", "core", "node", "leaf", "pod"]
    assert hops[0].tolist() == [0, 4, 0, 0, 2]


def test_1024_ranks_take_well_under_a_second_and_4518_hosts_a_few() -> None:
    network = three_levels()
    start = time.process_time()
    hop_classes(network, (16,), np.arange(64, dtype=np.int32))
    assert time.process_time() - start < 0.5
    start = time.process_time()
    classes = hop_classes(network)
    assert time.process_time() - start < 5
    assert sum(c.pairs for c in classes) == 4518 * 4517


def test_a_star_has_one_class_between_nodes() -> None:
    assert hop_classes(star(names(5), rate=1e9)) == (HopClass("leaf", 0, 20),)
