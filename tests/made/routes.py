# SPDX-License-Identifier: BSD-3-Clause
"""Networks for tests of routes: random ones with random trees of routes, and small ones whose loads are known."""

from functools import cache

import numpy as np
from hypothesis import strategies as st

from weft.fabric.network.graph import Cables, Network, Switch
from weft.fabric.network.minimal import minimal_tables
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree
from weft.launch.preload import route_library
from weft.route.library import Library
from weft.route.routes import Routes


@cache
def library() -> Library:
    """The library, built once a session."""
    return route_library()


def routes(network: Network, threads: int = 2) -> Routes:
    return Routes(network, library(), threads)


def tree(hosts: int, nodes_per_leaf: int, uplinks: int, **more: float) -> Network:
    """A fat tree with links of 1 GB/s."""
    shape = TreeSection.model_construct(nodes_per_leaf=nodes_per_leaf, uplinks=uplinks, **{"link_rate": 1e9, **more})  # type: ignore[arg-type]
    return fat_tree([f"n{h}" for h in range(hosts)], shape, rate=1e9)


def network_of_cables(
    hosts: int, switches: int, cables: list[tuple[int, int]], levels: list[int] | None = None
) -> Network:
    """A network of cables of 1 GB/s between vertices (hosts first), with minimal routes."""
    made = Cables()
    for a, b in cables:
        made.add(a, b, 1e9)
    links = made.links()
    return Network(
        topology="dump",
        hosts=tuple(f"n{h}" for h in range(hosts)),
        switches=tuple(Switch(f"s{s}", levels[s] if levels else 1) for s in range(switches)),
        links=links,
        forward=minimal_tables(hosts, switches, links),
    )


@st.composite
def random_networks(draw: st.DrawFn, minimal: bool = False) -> Network:
    """A connected network with parallel cables, hosts anywhere, and for each host a random tree of routes to it."""
    switches = draw(st.integers(1, 8))
    hosts = draw(st.integers(2, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    cables = [(h, hosts + int(random.integers(switches))) for h in range(hosts)]
    cables += [(hosts + s, hosts + int(random.integers(s))) for s in range(1, switches)]
    for _ in range(draw(st.integers(0, 12))):
        a, b = random.integers(switches, size=2)
        if a != b:
            cables.append((hosts + int(a), hosts + int(b)))
    network = network_of_cables(hosts, switches, cables)
    if minimal:
        return network
    forward = np.full((switches, hosts), -1, dtype=np.int32)
    links = network.links
    for end in range(hosts):
        home = int(network.leaf[end])
        forward[home, end] = network.uplink[end] ^ 1
        reached = [home]
        while len(reached) < switches:
            ways = [
                link
                for link in np.flatnonzero(network.switch_links).tolist()
                if int(links.target[link]) - hosts in reached and int(links.source[link]) - hosts not in reached
            ]
            chosen = int(random.choice(ways))
            forward[int(links.source[chosen]) - hosts, end] = chosen
            reached.append(int(links.source[chosen]) - hosts)
    return network.with_tables(forward, "random trees")


def walked_loads(network: Network, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Loads by walking every message alone: the oracle."""
    load = np.zeros(len(network.links), dtype=np.int64)
    for a, b in pairs:
        for link in network.route(a, b):
            load[link] += 1
    return load
