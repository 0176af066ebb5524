# SPDX-License-Identifier: BSD-3-Clause
"""A virtual cluster from a network: each switch as a router, or parallel ones merged into one bridge."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from os.path import commonprefix

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost_ways
from weft.fabric.network.pair_loads import name_link
from weft.launch.virtual.spec import VirtualLink, VirtualSpec


def spec_of(fabric: Fabric) -> VirtualSpec:
    """The cluster of a fabric file of kind ``virtual``; FabricError without ``adapter_rate``, or for no tree."""
    if fabric.kind != "virtual":
        raise FabricError(
            f"{fabric.name} is a fabric of kind {fabric.kind}, which cannot be brought up here",
            "name one of kind virtual, e.g. virtual-default",
        )
    if fabric.network is None or fabric.network.adapter_rate is None:
        raise FabricError(
            f"{fabric.name} does not say what a host's link carries", 'add adapter_rate = "62.5 MB/s" to [network]'
        )
    network = build_network(fabric)
    if fabric.network.routing == "ecmp":
        return routed_spec(fabric.name, network, equal_cost_ways(network), fabric.network.hash_seed)
    if fabric.network.routing == "tables":
        ways = [[(way,) if way >= 0 else () for way in row] for row in network.forward.tolist()]
        return routed_spec(fabric.name, network, ways, 0)
    return spec_of_network(fabric.name, network)


def routed_spec(name: str, network: Network, ways: Sequence[Sequence[Sequence[int]]], hash_seed: int) -> VirtualSpec:
    """Every switch and cable of a network as it is; ``ways``: links from each switch to each host."""
    _refuse_uneven(name, network)
    level = [0] * len(network.hosts) + [switch.level for switch in network.switches]
    links: list[VirtualLink] = []
    for k in range(0, len(network.links), 2):
        up = k if level[network.links.source[k]] <= level[network.links.target[k]] else k + 1
        lower, upper = (network.vertex_name(int(end[up])) for end in (network.links.source, network.links.target))
        called = name_link(network, up).replace(" -> ", "-")
        links.append(VirtualLink(called, lower, upper, float(network.links.rate[k])))
    cables = tuple(tuple(tuple(way // 2 for way in each) for each in row) for row in ways)
    return VirtualSpec(name, network.hosts, tuple(s.name for s in network.switches), tuple(links), cables, hash_seed)


def spec_of_network(name: str, network: Network) -> VirtualSpec:
    """Fold a tree of any width into one that is free of loops.

    Switches above the leaves that reach the same switches below become one (all spines of a pod; all cores), and the
    cables that then run in parallel become one link of the summed rate. What a leaf can send up stays what it was,
    and so does every oversubscription; what is lost is the imbalance that routing makes among parallel cables.

    Raises FabricError: No tree: cables between switches of one level (dragonfly, torus); or a cable with two rates.
    """
    hosts = len(network.hosts)
    level = [0] * hosts + [switch.level for switch in network.switches]
    cables = [
        (int(network.links.source[k]), int(network.links.target[k]), float(network.links.rate[k]))
        for k in range(0, len(network.links), 2)
    ]
    for a, b, _ in cables:
        if abs(level[a] - level[b]) != 1:
            raise FabricError(
                f"{name}: a cable joins {network.vertex_name(a)} and {network.vertex_name(b)}, so this "
                f"{network.topology} is no tree, and bridges carry trees only",
                'write routing = "tables" or "ecmp" in [network] for switches that route, or use kind = "simulated"',
            )
    _refuse_uneven(name, network)
    upward = [(a, b, rate) if level[a] < level[b] else (b, a, rate) for a, b, rate in cables]
    group = _folded(level, upward)
    names = _names(network, group)
    rates: dict[tuple[int, int], float] = defaultdict(float)
    for lower, upper, rate in upward:
        rates[group[lower], group[upper]] += rate
    return VirtualSpec(
        name=name,
        hosts=network.hosts,
        switches=tuple(names[g] for g in sorted(set(group[hosts:]))),
        links=tuple(
            VirtualLink(f"{names[lower]}-{names[upper]}", names[lower], names[upper], rate)
            for (lower, upper), rate in sorted(rates.items(), key=lambda item: item[0])
        ),
    )


def _refuse_uneven(name: str, network: Network) -> None:
    uneven = [k for k in range(0, len(network.links), 2) if network.links.rate[k] != network.links.rate[k + 1]]
    if uneven:
        raise FabricError(
            f"{name}: {network.link_name(uneven[0])} has another rate than the way back, and a virtual link has one",
            'write network.rates with " - " for both directions, or use kind = "simulated"',
        )


def _folded(level: list[int], upward: Iterable[tuple[int, int, float]]) -> list[int]:
    """The vertex that stands for each vertex: its own up to the leaves, the first of its group above them."""
    group = list(range(len(level)))

    def root(vertex: int) -> int:
        while group[vertex] != vertex:
            vertex = group[vertex]
        return vertex

    # level by level, for what is one switch below decides who is one above it
    for lower, upper, _ in sorted(upward, key=lambda cable: level[cable[0]]):
        if level[lower] == 0:
            continue
        for other in [root(u) for low, u, _ in upward if root(low) == root(lower)]:
            first, second = sorted((root(upper), other))
            group[second] = first
    return [root(vertex) for vertex in range(len(level))]


def _names(network: Network, group: list[int]) -> dict[int, str]:
    members: dict[int, list[str]] = defaultdict(list)
    for vertex, stands in enumerate(group):
        members[stands].append(network.vertex_name(vertex))
    chosen: dict[int, str] = {}
    for stands, names in members.items():
        short = commonprefix(names).rstrip("0123456789-_.") if len(names) > 1 else names[0]  # noqa: RUF071 - names, not paths
        chosen[stands] = short if short and short not in chosen.values() else names[0]
    return chosen
