# SPDX-License-Identifier: BSD-3-Clause
"""Dragonflies: wiring and minimal routes."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import FabricError
from weft.fabric.network.build import dragonfly
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import DragonflySection


def make(groups: int, routers: int, nodes: int, global_links: int, hosts: int | None = None) -> Network:
    count = groups * routers * nodes if hosts is None else hosts
    shape = DragonflySection.model_construct(
        nodes_per_router=nodes,
        routers_per_group=routers,
        global_links=global_links,
        groups=groups,
        local_rate=1e9,
        global_rate=2e9,
    )
    return dragonfly([f"n{i}" for i in range(count)], shape, rate=1e9)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_a_route_has_at_most_one_local_one_global_and_one_local_link(g: int, a: int, p: int, h: int) -> None:
    if g - 1 > a * h:
        with pytest.raises(FabricError, match="cannot all be joined"):
            make(g, a, p, h)
        return
    network = make(g, a, p, h)
    group = network.coordinates["pod"]
    hosts = len(network.hosts)
    for one in range(hosts):
        for other in range(hosts):
            between = [link for link in network.route(one, other) if network.switch_links[link]]
            kinds = "".join(
                "l" if (network.links.source[link] - hosts) // a == (network.links.target[link] - hosts) // a else "g"
                for link in between
            )
            allowed = {"", "l"} if group[one] == group[other] else {"g", "lg", "gl", "lgl"}
            assert kinds in allowed


def test_every_two_groups_are_joined_and_no_router_has_more_global_links_than_it_may() -> None:
    network = make(9, 4, 2, 2)
    hosts = len(network.hosts)
    joined: set[tuple[int, int]] = set()
    used = [0] * len(network.switches)
    for link in range(0, len(network.links), 2):
        a, b = int(network.links.source[link]) - hosts, int(network.links.target[link]) - hosts
        if a >= 0 and a // 4 != b // 4:
            joined.add((min(a // 4, b // 4), max(a // 4, b // 4)))
            used[a] += 1
            used[b] += 1
    assert joined == set(combinations(range(9), 2))
    assert max(used) <= 2


def test_several_global_links_between_two_groups_are_shared_out_by_destination() -> None:
    network = make(2, 2, 4, 2)
    ways = {network.route(0, b)[-2] for b in range(8, 16)} | {network.route(0, b)[1] for b in range(8, 16)}
    assert len(ways) > 2


def test_groups_that_cannot_hold_the_hosts_are_refused() -> None:
    with pytest.raises(FabricError, match="groups = 2 of 4 nodes hold 8 nodes, the fabric has 9"):
        make(2, 2, 2, 1, hosts=9)
