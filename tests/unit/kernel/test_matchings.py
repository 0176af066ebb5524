# SPDX-License-Identifier: BSD-3-Clause
"""Matchings: every node meets one other in a round of one level, nobody twice, and equal links carry equal loads."""

import numpy as np
import pytest

from made.checks import machine
from weft.fabric.network.pair_loads import both_ways, limiting_loads
from weft.kernel.pairs.matchings import draw_alone, draw_matchings


@pytest.mark.parametrize("leaves", [[4, 4], [5, 4, 3], [8] * 5, [1] * 9, [7]])
def test_a_round_is_a_matching_of_one_level(leaves: list[int]) -> None:
    leaf = np.repeat(np.arange(len(leaves)), leaves).astype(np.int32)
    for each in draw_matchings(leaf, None, 6, 3):
        assert len(np.unique(each.pairs)) == each.pairs.size
        same = leaf[each.pairs[:, 0]] == leaf[each.pairs[:, 1]]
        assert set(same.tolist()) == {each.level == "leaf"}


@pytest.mark.parametrize(("kind", "fresh"), [("tree", 1.0), ("pods", 1.0), ("dragonfly", 0.85)])
def test_a_healthy_round_is_flat_and_no_pair_meets_twice(kind: str, fresh: float) -> None:
    """Of two messages on one full cable, each hides what slows the other elsewhere by less than twice."""
    of = machine(kind, 256)
    rounds = of.rounds(16, 1)
    met = [tuple(sorted(pair)) for each in rounds for pair in each.pairs.tolist()]
    assert len(set(met)) >= fresh * len(met)
    assert len(met) == 16 * 128
    for each in rounds:
        loads = limiting_loads(each.pairs, of.network, of.hosts)
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


def test_without_a_topology_few_nodes_send_at_a_time() -> None:
    rounds = draw_alone(64, 4, 1)
    assert max(len(each.pairs) for each in rounds) == 8
    assert sorted(np.concatenate([each.pairs.ravel() for each in rounds]).tolist()) == sorted([*range(64)] * 4)
