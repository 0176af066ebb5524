# SPDX-License-Identifier: BSD-3-Clause
"""Matchings: nodes meet in rounds of one level, nobody twice in one, and no link is loaded beyond its rate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made.checks import machine
from weft.fabric.loads import both_ways, loads_of
from weft.fabric.network.build import dragonfly
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import DragonflySection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.kernel.pairs.matchings import draw_alone, draw_matchings


@pytest.mark.parametrize("leaves", [[4, 4], [5, 4, 3], [8] * 5, [1] * 9, [7]])
def test_a_round_is_a_matching_of_one_level(leaves: list[int]) -> None:
    leaf = np.repeat(np.arange(len(leaves)), leaves).astype(np.int32)
    for each in draw_matchings(leaf, None, 6, 3):
        assert len(np.unique(each.pairs)) == each.pairs.size
        same = leaf[each.pairs[:, 0]] == leaf[each.pairs[:, 1]]
        assert set(same.tolist()) == {each.level == "leaf"}


def _small(kind: str) -> Network:
    """48 nodes, four on a leaf: of three pods or groups, or of two levels."""
    names = [f"n{i}" for i in range(48)]
    if kind == "dragonfly":
        own = DragonflySection.model_construct(
            nodes_per_router=4, routers_per_group=4, global_links=2, local_rate=2e9, global_rate=2e9
        )
        return dragonfly(names, own, rate=1e9)
    pods: dict[str, Any] = {"leaves_per_pod": 4, "pod_uplinks": 4} if kind == "pods" else {}
    return fat_tree(names, TreeSection.model_construct(nodes_per_leaf=4, uplinks=2, link_rate=1e9, **pods), rate=1e9)


@pytest.mark.parametrize("kind", ["pods", "dragonfly", "tree"])
@pytest.mark.parametrize("routed", [True, False])
def test_every_node_of_a_scattered_allocation_meets_somebody(kind: str, routed: bool) -> None:
    """The halves of pods of single nodes are empty in part: such rounds are left out, not an error."""
    network, dice = _small(kind), np.random.default_rng(41)
    scattered = [[0, 16, 32], [0, 16, 32, 36], [0, 4, 16, 20, 32, 36], [7, 20, 26, 30, 38], [0, 1, 16], [0, 16, 20]]
    scattered += [sorted(dice.choice(48, int(dice.integers(2, 13)), replace=False).tolist()) for _ in range(14)]
    leaf, pod = network.leaf, network.coordinates.get("pod", network.coordinates.get("group"))
    for seed, nodes in enumerate(scattered):
        hosts = np.array(nodes, np.int32)
        given = (leaf[hosts], None if pod is None else pod[hosts])
        known = (network, hosts) if routed else (None, None)
        aimed = draw_matchings(*given, 4, seed, *known, apart=[0, 1])
        rounds = draw_matchings(*given, 16, seed, *known)
        for each in (*rounds, *aimed):
            assert 0 < each.pairs.size == len(np.unique(each.pairs)), nodes
        assert aimed, nodes
        assert len(np.unique(np.concatenate([each.pairs for each in rounds]))) == len(nodes), nodes


@pytest.mark.parametrize(("kind", "fresh"), [("tree", 1.0), ("pods", 1.0), ("dragonfly", 0.85)])
def test_a_healthy_round_is_flat_and_no_pair_meets_twice(kind: str, fresh: float) -> None:
    """Of two messages on one full cable, each hides what slows the other elsewhere by less than twice."""
    of = machine(kind, 256)
    rounds = of.rounds(16, 1)
    met = [tuple(sorted(pair)) for each in rounds for pair in each.pairs.tolist()]
    assert len(set(met)) >= fresh * len(met)
    assert len(met) == 16 * 128
    for each in rounds:
        loads = loads_of(both_ways(each.pairs, of.network, of.hosts), of.network)
        assert set(loads.tolist()) == {2.0 if kind == "dragonfly" else 1.0}  # there a cable has twice a node's rate


def test_a_cable_of_twice_a_nodes_rate_carries_two_messages() -> None:
    """One alone leaves a quarter of such a cable's rate unseen."""
    of, flows = machine("dragonfly", 256), list[int]()
    for each in of.rounds(16, 1):
        routes = both_ways(each.pairs, of.network, of.hosts)
        on = np.bincount(routes[routes >= 0], minlength=len(of.network.links))[of.network.switch_links]
        flows += on[on > 0].tolist()
    assert max(flows) == 2
    assert np.mean(flows) > 1.45


@pytest.mark.parametrize("nodes", [range(0, 64, 2), range(32)], ids=["mixed", "apart"])
def test_messages_of_fast_adapters_share_no_cable_of_their_rate(nodes: range) -> None:
    """Half of the nodes have 1 GB/s, the others 2 GB/s as the cables: two of the former share one."""
    tree = TreeSection.model_construct(nodes_per_leaf=16, uplinks=8, link_rate=2e9)
    network = fat_tree([f"n{i}" for i in range(64)], tree, rate=1e9)
    hosts = np.arange(64, dtype=np.int32)
    fast = np.isin(network.links.source, nodes) | np.isin(network.links.target, nodes)
    rate = np.where(fast, 2e9, network.links.rate)
    network = replace(network, links=replace(network.links, rate=rate))
    own, most = np.where(np.isin(hosts, nodes), 2e9, 1e9), list[float]()
    rounds = draw_matchings(network.leaf, None, 8, 1, network, hosts)
    for each in rounds:
        speed = own[each.pairs].min(axis=1)
        routes = both_ways(each.pairs, network, hosts)
        carried = np.zeros(len(rate))
        np.add.at(carried, routes.ravel(), (np.append(speed, speed)[:, None] * (routes >= 0)).ravel())
        most.append((carried / rate).max())
    assert max(most) == 1.0
    assert len(rounds) > 8


def test_every_cable_of_a_dragonfly_is_crossed() -> None:
    of = machine("dragonfly", 256)
    crossed = np.zeros(len(of.network.links))
    for each in of.rounds(16, 1):
        routes = both_ways(each.pairs, of.network, of.hosts)
        crossed += np.bincount(routes[routes >= 0], minlength=len(crossed))
    # a dragonfly's spare global links carry no minimal route
    used = np.unique(of.network.forward[of.network.forward >= 0])
    assert (crossed[used] > 0).mean() > 0.95


def test_rounds_aim_at_a_part() -> None:
    of = machine("dragonfly", 256)
    used = np.unique(of.network.forward[of.network.forward >= 0])
    link = int(used[of.network.switch_links[used]][-1])
    aimed = of.rounds(8, 2, [np.array([link], np.int32)])
    assert sum(link in both_ways(each.pairs, of.network, of.hosts) for each in aimed) >= 4


@pytest.mark.parametrize("count", [3, 8])
def test_rounds_that_aim_leave_no_node_out(count: int) -> None:
    """The one round within leaves gave the fifth of seven nodes a bye, and those between leaves never had it."""
    shape = TreeSection.model_construct(nodes_per_leaf=7, uplinks=2, link_rate=1e9)
    network = fat_tree([f"n{i}" for i in range(8)], shape, rate=1e9)
    hosts, leaf = np.arange(8, dtype=np.int32), network.coordinates["leaf"]
    cables = np.flatnonzero(network.switch_links[::2])
    for cable in cables.tolist():
        aim = [np.array([2 * cable, 2 * cable + 1], np.int32)]
        rounds = draw_matchings(leaf, None, count, 27, network, hosts, aim)
        assert {node for each in rounds for node in each.pairs.ravel().tolist()} == set(range(8))


def test_without_a_topology_few_nodes_send_at_a_time() -> None:
    rounds = draw_alone(64, 4, 1)
    assert max(len(each.pairs) for each in rounds) == 8
    assert sorted(np.concatenate([each.pairs.ravel() for each in rounds]).tolist()) == sorted([*range(64)] * 4)
