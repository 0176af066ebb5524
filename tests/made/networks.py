# SPDX-License-Identifier: BSD-3-Clause
"""Networks of every kind, small enough to walk each pair of hosts."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.fabric.hops import LEVELS, NODE, HopClass, host_hops, host_levels
from weft.fabric.network.build import dragonfly, star, torus
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Ints, Network
from weft.fabric.network.sections import DragonflySection, TorusSection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.fabric.readers import Lines
from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover

Matrix = NDArray[Any]


def hops_of(network: Network, a: str | int, b: str | int) -> int:
    """Switch-to-switch links on a route (0 on the same switch, 2 over a spine, 4 over a core), and its `end_hops`."""
    route = network.route(a, b)
    return sum(bool(network.switch_links[link]) for link in route) + (network.end_hops if route else 0)


def rank_pairs(network: Network, host: Sequence[int] | Ints, socket: Ints | None = None) -> tuple[Matrix, Matrix]:
    """Level and hops of each pair of ranks by their hosts and sockets, one by one."""
    used, place = np.unique(np.asarray(host, dtype=np.int32), return_inverse=True)
    level, hops = (each(network, used)[np.ix_(place, place)] for each in (host_levels, host_hops))
    if socket is not None:
        level[(level == NODE) & (socket[:, np.newaxis] == socket)] = 0
    return level, hops


def classes_of_ranks(network: Network, host: Sequence[int] | Ints, socket: Ints | None = None) -> tuple[HopClass, ...]:
    """Hop classes of all ordered pairs of ranks, counted one by one."""
    level, hops = (each[~np.eye(len(host), dtype=bool)] for each in rank_pairs(network, host, socket))
    counted = Counter(zip(level.tolist(), hops.tolist(), strict=True))
    return tuple(HopClass(LEVELS[near], far, counted[near, far]) for near, far in sorted(counted))


def names(count: int) -> list[str]:
    return [f"n{i}" for i in range(count)]


def random_dump(draw: st.DrawFn) -> Network:
    """Switches joined at random into one piece, with hosts on some of them."""
    switches, hosts = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    links: list[tuple[str, str]] = []
    for s in range(1, switches):
        links.append((f"s{s}", f"s{draw(st.integers(0, s - 1))}"))
    for _ in range(draw(st.integers(0, 6))):
        a, b = draw(st.integers(0, switches - 1)), draw(st.integers(0, switches - 1))
        if a != b:
            links.append((f"s{a}", f"s{b}"))
    links += [(f"h{h}", f"s{draw(st.integers(0, switches - 1))}") for h in range(hosts)]
    ports: dict[str, list[str]] = {f"s{s}": [] for s in range(switches)} | {f"h{h}": [] for h in range(hosts)}
    told: list[tuple[str, int, str, int]] = []
    for a, b in links:
        ports[a].append(b)
        ports[b].append(a)
        told += [(a, len(ports[a]), b, len(ports[b])), (b, len(ports[b]), a, len(ports[a]))]
    text = "".join(
        f'{"Hca" if box[0] == "h" else "Switch"} 64 "{box}"\n'
        + "".join(f'[{port}] "{peer}"[{there}]\n' for key, port, peer, there in told if key == box)
        for box in ports
    )
    return network_of(read_ibnetdiscover(Lines.of("random", text)), adapter_rate=1e9, link_rate=1e9)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    kind = draw(st.sampled_from(["star", "tree", "pods", "dragonfly", "torus", "dump"]))
    hosts = draw(st.integers(1, 24))
    if kind == "star":
        return star(names(hosts), rate=1e9)
    if kind == "tree":
        return fat_tree(
            names(hosts),
            TreeSection.model_construct(nodes_per_leaf=draw(st.integers(1, 5)), uplinks=4, spines=2, link_rate=1e9),
            rate=1e9,
        )
    if kind == "pods":
        shape = TreeSection.model_construct(
            nodes_per_leaf=2, uplinks=2, leaves_per_pod=draw(st.integers(1, 3)), pod_uplinks=4, link_rate=1e9
        )
        return fat_tree(names(hosts), shape, rate=1e9)
    if kind == "dragonfly":
        shape2 = DragonflySection.model_construct(
            nodes_per_router=2, routers_per_group=4, global_links=1, local_rate=1e9, global_rate=1e9
        )
        return dragonfly(names(hosts), shape2, rate=1e9)
    if kind == "torus":
        return torus(names(hosts), TorusSection.model_construct(dimensions=(4, 3, 2), link_rate=1e9), rate=1e9)
    return random_dump(draw)
