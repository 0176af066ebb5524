# SPDX-License-Identifier: BSD-3-Clause
"""Routes, names and refusals of a network."""

from itertools import pairwise

import numpy as np
import pytest

from made.networks import hops_of
from weft.errors import FabricError
from weft.fabric.hops import walk
from weft.fabric.network.build import star
from weft.fabric.network.graph import Cables, Network, Switch
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree

HOSTS = tuple(f"n{i}" for i in range(12))


def small_tree() -> Network:
    return fat_tree(
        HOSTS,
        TreeSection.model_construct(nodes_per_leaf=4, uplinks=2, link_rate=2e9, link_latency=1e-7),
        rate=1e9,
        latency=5e-7,
    )


def test_a_route_starts_at_its_host_ends_at_the_other_and_hangs_together() -> None:
    network = small_tree()
    for a in range(12):
        for b in range(12):
            route = network.route(a, b)
            if a == b:
                assert route == ()
                continue
            assert network.links.source[route[0]] == a
            assert network.links.target[route[-1]] == b
            for one, following in pairwise(route):
                assert network.links.target[one] == network.links.source[following]


def test_hosts_on_one_switch_are_no_hops_apart_and_two_over_a_spine() -> None:
    network = small_tree()
    assert hops_of(network, "n0", "n3") == 0
    assert hops_of(network, "n0", "n4") == 2
    assert hops_of(network, "n5", "n5") == 0


def test_latency_adds_up_over_the_links_of_a_route() -> None:
    network = small_tree()
    assert network.latency("n0", "n1") == pytest.approx(1e-6)
    assert network.latency("n0", "n11") == pytest.approx(1e-6 + 2e-7)


def test_every_link_has_a_name_of_its_own_and_a_reverse() -> None:
    network = small_tree()
    names = [network.link_name(i) for i in range(len(network.links))]
    assert len(set(names)) == len(names)
    assert names[0] == "n0:1->leaf0:1"
    for link in range(len(network.links)):
        back = link ^ 1
        assert network.links.source[link] == network.links.target[back]
        assert network.links.source_port[link] == network.links.target_port[back]


def test_many_routes_at_once_are_the_single_ones() -> None:
    network = small_tree()
    a, b = (grid.ravel().astype(np.int32) for grid in np.meshgrid(np.arange(12), np.arange(12)))
    for row, one, other in zip(walk(network, a, b), a, b, strict=True):
        assert tuple(link for link in row if link >= 0) == network.route(int(one), int(other))


def test_an_unknown_host_is_named_in_the_error() -> None:
    with pytest.raises(FabricError, match="no host 'x9'"):
        star(HOSTS, rate=1e9).route("x9", "n0")


def test_a_missing_table_entry_is_an_error_that_names_both_hosts() -> None:
    network = small_tree()
    forward = network.forward.copy()
    forward[0, 5] = -1
    broken = network.with_tables(forward, "broken")
    with pytest.raises(FabricError, match="no route from n0 to n5"):
        broken.route("n0", "n5")
    with pytest.raises(FabricError, match="no route from n1 to n5"):
        walk(broken, np.array([1], dtype=np.int32), np.array([5], dtype=np.int32))


def test_tables_that_turn_in_a_circle_are_found_out() -> None:
    network = small_tree()
    forward = network.forward.copy()
    up = forward[0, 5]
    forward[int(network.links.target[up]) - 12, 5] = up ^ 1  # the spine sends it back to the leaf it came from
    circle = network.with_tables(forward, "circle")
    with pytest.raises(FabricError, match="loop"):
        circle.route("n0", "n5")
    with pytest.raises(FabricError, match="loop"):
        walk(circle, np.array([0], dtype=np.int32), np.array([5], dtype=np.int32))


def test_tables_of_another_fabric_are_refused() -> None:
    with pytest.raises(FabricError, match="3 switches and 9 hosts"):
        small_tree().with_tables(np.zeros((3, 9), dtype=np.int32), "other")


def test_a_host_with_two_cables_uses_the_one_on_its_lowest_port() -> None:
    cables = Cables()
    second = cables.add(0, 2, 1e9, ports=(2, 1))
    first = cables.add(0, 2, 1e9, ports=(1, 2))
    other = cables.add(1, 2, 1e9, ports=(1, 3))
    forward = np.array([[first + 1, other + 1]], dtype=np.int32)
    network = Network("dump", ("a", "b"), (Switch("s", 1),), cables.links(), forward)
    assert network.uplink.tolist() == [first, other]
    assert second not in network.route("a", "b")


def test_links_at_the_ends_count_as_hops_where_a_fabric_says_so() -> None:
    from dataclasses import replace

    network = replace(small_tree(), end_hops=2)
    assert (hops_of(network, "n0", "n0"), hops_of(network, "n0", "n1"), hops_of(network, "n0", "n4")) == (0, 2, 4)
