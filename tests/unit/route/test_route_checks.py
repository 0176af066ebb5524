# SPDX-License-Identifier: BSD-3-Clause
"""Checks of routes: each fault is planted, found, and told with the hosts concerned; a sound network has none."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from made.routes import network_of_cables, random_networks, routes, tree
from weft.errors import FabricError
from weft.fabric.network.graph import Network
from weft.route.checks import Lanes, check_routes, dependencies, find_circle
from weft.route.given import fail, fail_random, users_of
from weft.route.routes import all_to_all


def told(network: Network) -> str:
    return "\n".join(f"{f.severity}: {f.what}" for f in check_routes(routes(network)))


def link(network: Network, text: str) -> int:
    names = [network.link_name(i) for i in range(len(network.links))]
    found = [i for i, name in enumerate(names) if name == text]
    assert found, names
    return found[0]


def ring() -> Network:
    """Four switches in a ring with a host each, all traffic sent clockwise."""
    cables = [(h, 4 + h) for h in range(4)] + [(4 + s, 4 + (s + 1) % 4) for s in range(4)]
    network = network_of_cables(4, 4, cables)
    forward = network.forward.copy()
    for end in range(4):
        for at in range(4):
            if at != end:
                forward[at, end] = 8 + 2 * at  # the link from s to s + 1
    return network.with_tables(forward, "clockwise")


def test_a_sound_tree_has_no_finding() -> None:
    assert told(tree(8, 4, 4)) == ""


def test_a_missing_entry_is_told_with_both_sides() -> None:
    network = tree(4, 2, 2)
    forward = network.forward.copy()
    forward[0, 3] = -1
    said = told(network.with_tables(forward, "broken"))
    assert "error: 2 pairs of hosts have no route, on 1 leaf switch: from leaf0 (n0, n1) to n3" in said


def test_a_circle_of_tables_is_told() -> None:
    network = network_of_cables(3, 3, [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)])
    forward = network.forward.copy()
    forward[1, 2], forward[0, 2] = link(network, "s1:2->s0:2"), link(network, "s0:2->s1:2")
    said = told(network.with_tables(forward, "circle"))
    assert (
        "error: 2 pairs of hosts are routed in a circle, on 2 leaf switches: from s0 (n0) to n2; from s1 (n1) to n2"
        in said
    )


def test_a_wrong_host_is_told() -> None:
    network = tree(4, 2, 2)
    forward = network.forward.copy()
    forward[0, 1] = network.uplink[0] ^ 1
    said = told(network.with_tables(forward, "crossed"))
    # n1 itself needs no route
    assert "error: 3 pairs of hosts are routed to another host, on 2 leaf switches: from leaf0 (n0, n1) to n1" in said


def test_routes_around_a_ring_can_deadlock_and_lanes_free_them() -> None:
    found = routes(ring())
    circle = find_circle(found)
    assert circle is not None
    assert sorted(circle[0]) == [8, 10, 12, 14]
    said = told(ring())
    assert "error: a circle of 4 links that wait for each other on virtual lane 0" in said
    assert "(n0 to " in said or "(n1 to " in said
    # level 1 for routes that pass from switch 3 to switch 0, but for the one that would close the circle there
    ways = found.between(np.arange(4)[:, np.newaxis], np.arange(len(found.network.hosts)))
    level = (ways == 14).any(axis=2).astype(int)
    assert find_circle(found, by_level(level)) is not None
    level[3, 2] = 2
    assert find_circle(found, by_level(level)) is None
    # levels that a switch sends on one lane are one
    same = Lanes(by_level(level).used, np.zeros((4, 16), dtype=np.int64))
    assert find_circle(found, same) is not None


def by_level(level: NDArray[np.integer]) -> Lanes:
    """Lanes of the same number as the level of each route, shape (leaves, hosts)."""
    lane = np.tile(np.arange(16, dtype=np.int64), (4, 1))
    return Lanes({int(number): level == number for number in np.unique(level)}, lane)


def test_each_lane_is_looked_at_alone() -> None:
    found = routes(ring())
    circle = find_circle(found, by_level(np.full(found.lengths.shape, 3)))
    assert circle is not None
    assert circle[1] == 3


@settings(max_examples=60, deadline=None)
@given(random_networks())
def test_dependencies_are_those_of_every_route_walked_alone(network: Network) -> None:
    count = len(network.hosts)
    want: set[tuple[int, int]] = set()
    for a in range(count):
        for b in range(count):
            way = network.route(a, b)[1:-1] if a != b else ()
            want |= set(pairwise(way))
    first, second = dependencies(routes(network))
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == want
    assert (find_circle(routes(network)) is None) == _acyclic(want)


def _acyclic(edges: set[tuple[int, int]]) -> bool:
    import graphlib

    sorter: graphlib.TopologicalSorter[int] = graphlib.TopologicalSorter()
    for a, b in edges:
        sorter.add(a, b)
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return False
    return True


def test_detours_uneven_cables_and_idle_uplinks_are_told_with_their_hosts() -> None:
    network = tree(8, 4, 4, spines=2)  # two cables from each leaf to each spine
    forward = network.forward.copy()
    leaf1 = np.flatnonzero(network.leaf == 1)
    forward[0, leaf1] = link(network, "leaf0:5->spine0:1")
    said = told(network.with_tables(forward, "piled up"))
    assert (
        "warning: 1 group of parallel cables is used unevenly in an all-to-all: leaf0:5->spine0:1 carries 16, " in said
    )
    assert "(to n4, n5, n6 and 1 more)" in said
    assert "warning: 3 uplinks that no route takes: leaf0:6->spine1:1 (of n0, n1, n2 and 1 more)" in said
    three = network_of_cables(3, 3, [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)])
    forward = three.forward.copy()
    forward[0, 2] = link(three, "s0:2->s1:2")
    assert "warning: 1 routes take more links than need be, on 1 leaf switch: from s0 (n0) to n2" in told(
        three.with_tables(forward, "detour")
    )


def test_failed_links_leave_the_tables_without_their_routes() -> None:
    network = tree(4, 2, 2)
    broken = fail(network, ["leaf0 - spine0"])
    assert len(broken.links) == len(network.links) - 2
    assert [broken.link_name(i) for i in broken.route("n0", "n3")] == [
        network.link_name(i) for i in network.route("n0", "n3")
    ]
    lost = all_to_all(routes(broken)).lost
    assert lost == 4  # to n2 over spine0 from two hosts, and to n0 from two
    assert lost == all_to_all(routes(fail(network, ["leaf0:3->spine0:1"]))).lost
    assert "1 cable failed since" in broken.routing


def test_a_failed_switch_takes_all_its_cables() -> None:
    broken = fail(tree(4, 2, 2), ["leaf1"])
    assert (broken.uplink >= 0).tolist() == [True, True, False, False]
    assert "error: 2 hosts without a cable: n2; n3" in told(broken)


def test_random_failures_are_as_many_as_asked_and_repeatable() -> None:
    network = tree(64, 8, 8)
    one, two = fail_random(network, 5, seed=1), fail_random(network, 5, seed=1)
    assert len(network.links) - len(one.links) == 10
    assert one.forward.tolist() == two.forward.tolist()
    assert (one.uplink >= 0).all()
    with pytest.raises(FabricError, match="has 64 cables between switches"):
        fail_random(network, 65, seed=1)


@pytest.mark.parametrize("name", ["n0", "leaf9", "leaf0 - leaf1", "leaf0:1->spine0:9", ""])
def test_an_unknown_link_is_refused(name: str) -> None:
    with pytest.raises(FabricError, match="no link or switch"):
        fail(tree(4, 2, 2), [name])


def test_the_users_of_a_link_are_the_hosts_whose_messages_cross_it() -> None:
    network = tree(8, 4, 2)
    for at in range(len(network.links)):
        sources, targets, _ = users_of(routes(network), at)
        pairs = [(a, b) for a in range(8) for b in range(8) if a != b and at in network.route(a, b)]
        if network.switch_links[at]:
            assert set(sources.tolist()) == {a for a, _ in pairs}
            assert set(targets.tolist()) == {b for _, b in pairs}
