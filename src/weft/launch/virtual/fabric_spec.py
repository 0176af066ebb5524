# SPDX-License-Identifier: BSD-3-Clause
"""A virtual cluster from a network: each switch as a router, or parallel ones merged into one bridge."""

from collections.abc import Sequence

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost_ways
from weft.fabric.network.pair_loads import name_link
from weft.fabric.network.tree import fold_parallel, sideways
from weft.launch.virtual.spec import VirtualLink, VirtualSpec


def spec_of(fabric: Fabric) -> VirtualSpec:
    """The cluster of a fabric file of kind ``virtual``; FabricError without ``adapter_rate``, or for no tree."""
    if fabric.kind != "virtual":
        what = f"{fabric.name} is a fabric of kind {fabric.kind}, which cannot be brought up here"
        raise FabricError(what, "name one of kind virtual, e.g. virtual-default")
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
    cables = tuple(tuple(tuple(way // 2 for way in each) for each in row) for row in ways)
    switches = tuple(switch.name for switch in network.switches)
    return VirtualSpec(name, network.hosts, switches, _links(name, network), cables, hash_seed)


def spec_of_network(name: str, network: Network) -> VirtualSpec:
    """Fold a tree of any width into one that is free of loops, as `fold_parallel` has it.

    What a leaf can send up stays what it was, and so does every oversubscription; what is lost is the imbalance that
    routing makes among parallel cables. Raises FabricError: No tree (dragonfly, torus); or a cable with two rates.
    """
    if (between := sideways(network)) is not None:
        a, b = (network.vertex_name(int(end[between])) for end in (network.links.source, network.links.target))
        raise FabricError(
            f"{name}: a cable joins {a} and {b}, so this {network.topology} is no tree, and bridges carry trees only",
            'write routing = "tables" or "ecmp" in [network] for switches that route, or use kind = "simulated"',
        )
    folded = fold_parallel(network)
    switches = tuple(switch.name for switch in folded.switches)
    return VirtualSpec(name, folded.hosts, switches, _links(name, folded))


def _links(name: str, network: Network) -> tuple[VirtualLink, ...]:
    """A link for each cable, the lower end first; FabricError for one with two rates."""
    for k in range(0, len(network.links), 2):
        if network.links.rate[k] != network.links.rate[k + 1]:
            what = f"{name}: {network.link_name(k)} has another rate than the way back, and a virtual link has one"
            raise FabricError(what, 'write network.rates with " - " for both directions, or use kind = "simulated"')
    level = [0] * len(network.hosts) + [switch.level for switch in network.switches]
    links: list[VirtualLink] = []
    for k in range(0, len(network.links), 2):
        up = k if level[network.links.source[k]] <= level[network.links.target[k]] else k + 1
        lower, upper = (network.vertex_name(int(end[up])) for end in (network.links.source, network.links.target))
        called = name_link(network, up).replace(" -> ", "-")
        links.append(VirtualLink(called, lower, upper, float(network.links.rate[k])))
    return tuple(links)
