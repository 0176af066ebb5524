# SPDX-License-Identifier: BSD-3-Clause
"""Tori: distances and dimension order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.networks import hops_of
from weft.errors import FabricError
from weft.fabric.network.build import torus
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import TorusSection


def make(*dimensions: int, nodes: int = 1, hosts: int | None = None) -> Network:
    count = nodes
    for length in dimensions:
        count *= length
    names = [f"n{i}" for i in range(count if hosts is None else hosts)]
    return torus(
        names, TorusSection.model_construct(dimensions=dimensions, nodes_per_switch=nodes, link_rate=1e9), rate=1e9
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 2))
def test_a_route_takes_the_short_way_round_each_dimension_in_order(dimensions: list[int], nodes: int) -> None:
    network = make(*dimensions, nodes=nodes)
    columns = [network.coordinates[axis] for axis in "xyz"[: len(dimensions)]]
    for a in range(len(network.hosts)):
        for b in range(len(network.hosts)):
            apart = [abs(int(c[a]) - int(c[b])) for c in columns]
            shortest = sum(min(d, n - d) for d, n in zip(apart, dimensions, strict=True))
            assert hops_of(network, a, b) == shortest
            assert turned(network, a, b) == sorted(turned(network, a, b))


def turned(network: Network, a: int, b: int) -> list[int]:
    """The dimension of each switch-to-switch link of a route."""
    found: list[int] = []
    for link in network.route(a, b):
        if network.switch_links[link]:
            ends = [
                network.vertex_name(int(v)).split("-")[1:]
                for v in (network.links.source[link], network.links.target[link])
            ]
            found.append(next(i for i, (p, q) in enumerate(zip(*ends, strict=True)) if p != q))
    return found


def test_a_dimension_of_two_has_one_cable() -> None:
    assert len(make(2).links) // 2 == 2 + 1
    assert len(make(4).links) // 2 == 4 + 4


def test_switches_too_few_for_the_hosts_are_refused() -> None:
    with pytest.raises(FabricError, match="hold 4 nodes, the fabric has 5"):
        make(2, 2, hosts=5)


def test_more_than_six_dimensions_are_refused() -> None:
    with pytest.raises(FabricError, match="one to 6 dimensions"):
        make(1, 1, 1, 1, 1, 1, 1)
