# SPDX-License-Identifier: BSD-3-Clause
"""Bisection bandwidth and oversubscription."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from made.networks import names, networks
from weft.fabric.network.build import star, torus
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TorusSection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.fabric.summary import _flow_from, bisection, levels  # pyright: ignore[reportPrivateUsage]


def tree(hosts: int, **numbers: object) -> Network:
    return fat_tree(names(hosts), TreeSection.model_construct(**{"link_rate": 1e9, **numbers}), rate=1e9)


def test_a_star_has_full_bisection() -> None:
    cut = bisection(star(names(10), rate=2e9))
    assert (cut.rate, cut.share) == (10e9, 1.0)


def test_oversubscription_shows_in_the_bisection() -> None:
    assert bisection(tree(36, nodes_per_leaf=18, uplinks=9)).share == pytest.approx(0.5)
    assert bisection(tree(36, nodes_per_leaf=18, uplinks=18)).share == pytest.approx(1.0)


def test_a_third_level_can_be_the_narrow_one() -> None:
    network = tree(32, nodes_per_leaf=4, uplinks=4, leaves_per_pod=4, pod_uplinks=4)
    assert bisection(network).rate == pytest.approx(4e9)


def test_a_torus_is_cut_across_its_longest_dimension() -> None:
    cut = bisection(
        torus(names(4 * 4 * 8), TorusSection.model_construct(dimensions=(4, 4, 8), link_rate=1e9), rate=1e9)
    )
    assert (cut.rate, cut.split) == (2 * 16 * 1e9, "z")


def test_without_rates_there_is_no_bisection() -> None:
    assert np.isnan(bisection(star(names(4), rate=float("nan"))).rate)


@settings(max_examples=40, deadline=None)
@given(networks())
def test_a_split_is_the_cheapest_set_of_links_that_parts_it(network: Network) -> None:
    """Max-flow against min-cut found by trying every side for every switch."""
    hosts, switches = len(network.hosts), len(network.switches)
    if switches > 9 or hosts < 2:
        return
    half = np.arange(hosts) < hosts // 2
    cheapest = float("inf")
    for size in range(switches + 1):
        for chosen in combinations(range(switches), size):
            side = np.concatenate([half, np.isin(np.arange(switches), chosen)])
            # A host's links are cut or not with its switch: hosts are sources and sinks of any amount.
            crossing = side[network.links.source] & ~side[network.links.target]
            cheapest = min(cheapest, float(network.links.rate[crossing].sum()))
    assert _flow_from(network, half) == pytest.approx(cheapest)


def test_oversubscription_is_told_by_level_and_for_the_worst_switch() -> None:
    leaf, spine, core = levels(tree(32, nodes_per_leaf=4, uplinks=2, leaves_per_pod=4, pod_uplinks=2))
    assert (leaf.least, leaf.typical, leaf.most, leaf.switches, leaf.down, leaf.up) == (2, 2, 2, 8, 32, 16)
    assert (spine.most, spine.up) == (4, 4)
    assert np.isnan(core.most)


def test_a_leaf_with_fewer_hosts_is_less_oversubscribed() -> None:
    leaf = levels(tree(6, nodes_per_leaf=4, uplinks=2))[0]
    assert (leaf.least, leaf.most, leaf.worst) == (1, 2, "leaf0")
