# SPDX-License-Identifier: BSD-3-Clause
"""The link terms of a lower bound, on any network, and the slowest link of each round of a shift exchange.

Those of a fat tree follow from its numbers, in constant time. Other networks, and trees with single links of another
rate, are bounded by their cuts (:mod:`weft.fabric.summary`), which hold for every routing. Where routes are known, as
in a simulation, the load of each cable counts too (:func:`weft.fabric.loads.all_to_all_loads`).
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.bound.terms import INJECTION, LINK, Placed, largest, largest_s
from weft.fabric.kinds import link_seconds
from weft.fabric.loads import DOWN, UP, all_to_all_loads, link_name, pair_loads
from weft.fabric.model import Fabric
from weft.fabric.network.build import make_network
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import NetworkSection, TreeSection
from weft.fabric.placement import leaves
from weft.fabric.summary import Cut, cuts
from weft.kernel.traffic import MatrixTraffic, Traffic, Uniform

MOST_PAIRED = 256  # most nodes for which non-uniform traffic is added to the routes pair by pair
INWARD = {UP: DOWN, "out": "in"}
MOST_MESSAGES = 4_000_000  # most messages, over all rounds, whose routes are followed; this takes some seconds


def link_term(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds of the most loaded links between switches, by name, if any; FabricError without a network."""
    section = fabric.network
    if section is None or not cell.hosts or cell.nodes < 2 or section.topology == "star":
        return {}
    if section.tree and not section.rates and section.routing != "tables":
        terms = _tree_terms(traffic, cell, fabric, section.tree)
    else:
        terms = _network_terms(traffic, cell, fabric)
    most = largest(terms)
    return {most.name: most.seconds} if most else {}


def injection_term(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds that the slowest node's own link needs for the bytes that leave the node; empty if no rate is known."""
    section = fabric.network
    if section is None or cell.nodes < 2:
        return {}
    leaving = [traffic.leaving([node], cell.nodes, cell.ranks_per_node) for node in range(cell.nodes)]
    if not section.rates or not cell.hosts:
        rate = section.node_rate
        return {INJECTION: link_seconds(max(leaving), rate, shaped=fabric.is_emulated)} if rate else {}
    network, _ = network_of(fabric)
    rates = network.links.rate[network.uplink[network.indices(list(cell.hosts))]].tolist()
    known = [each for each in zip(leaving, rates, strict=True) if each[1] > 0]
    return {INJECTION: max(link_seconds(*each, shaped=fabric.is_emulated) for each in known)} if known else {}


def _tree_terms(traffic: Traffic, cell: Placed, fabric: Fabric, tree: TreeSection) -> dict[str, float]:
    """Uplinks of each leaf and of each pod: all cables together, the best that a routing can do."""
    under = leaves(fabric, cell.hosts)
    parts = {link_name(f"leaf{leaf}", UP): (group, tree.uplinks * tree.link_rate) for leaf, group in under.items()}
    if tree.leaves_per_pod and tree.pod_uplinks:
        rate = tree.pod_uplinks * (tree.pod_link_rate or tree.link_rate)
        pods: dict[int, list[int]] = {}
        for leaf, group in under.items():
            pods.setdefault(leaf // tree.leaves_per_pod, []).extend(group)
        parts.update({link_name(f"pod{pod}", UP): (group, rate) for pod, group in pods.items()})
    hot = _hottest(traffic, cell)
    ordered = sorted(parts.items(), key=lambda part: hot not in part[1][0])
    return dict(_cut_term(traffic, cell, fabric, name, group, rate, rate) for name, (group, rate) in ordered)


def _hottest(traffic: Traffic, cell: Placed) -> int:
    """The busiest node of a matrix, else -1: of links with the same bytes the one beside it counts."""
    return traffic.busiest(cell.nodes, cell.ranks_per_node) if isinstance(traffic, MatrixTraffic) else -1


def _cut_term(
    traffic: Traffic, cell: Placed, fabric: Fabric, name: str, group: list[int], rate: float, rate_in: float
) -> tuple[str, float]:
    """Name and seconds of the links out of a set of nodes, or of those into it, if they take longer."""
    shape = (group, cell.nodes, cell.ranks_per_node)
    out, into = traffic.crossing(*shape) if isinstance(traffic, MatrixTraffic) else (traffic.leaving(*shape), 0)
    seconds = link_seconds(out, rate, shaped=fabric.is_emulated)
    back = link_seconds(into, rate_in, shaped=fabric.is_emulated) if rate_in else 0.0
    if back <= seconds:
        return name, seconds
    part, _, way = name.rpartition(" ")
    return f"{part} {INWARD[way]}", back


def _network_terms(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    network, around = network_of(fabric)
    place_of: list[int] = network.indices(list(cell.hosts)).tolist()
    place = {host: index for index, host in enumerate(place_of)}
    hot = _hottest(traffic, cell)
    beside = sorted(around, key=lambda cut: hot >= 0 and place_of[hot] not in cut.hosts)
    within = ((cut, [place[host] for host in cut.hosts if host in place]) for cut in beside)
    terms = dict(
        _cut_term(traffic, cell, fabric, cut.name, inside, cut.rate, cut.rate_in)
        for cut, inside in within
        if 0 < len(inside) < cell.nodes
    )
    if fabric.routes_known:
        terms |= _cable_term(traffic, cell, fabric, above=largest_s(terms))
    return terms


def minimal_seconds(traffic: Traffic, cell: Placed, fabric: Fabric) -> float:
    """Seconds of the fullest cable under minimal routes, whatever the routing; 0 if not known. FabricError."""
    return largest_s(_cable_term(traffic, cell, fabric, above=0.0)) if cell.hosts else 0.0


def longest_way_s(cell: Placed, fabric: Fabric) -> float:
    """Seconds that links between switches add from the first node to the furthest; FabricError without a network."""
    return max((network_of(fabric)[0].latency(cell.hosts[0], host) for host in cell.hosts), default=0.0)


def _cable_term(traffic: Traffic, cell: Placed, fabric: Fabric, above: float) -> dict[str, float]:
    """The cable between switches with the longest time under the routes, if longer than the time of any cut."""
    network, _ = network_of(fabric)
    loads = _loads(traffic, cell, network)
    if loads is None or not np.isfinite(network.links.rate).all():
        return {}
    hottest = int(np.where(network.switch_links, loads / network.links.rate, 0.0).argmax())
    least_s = link_seconds(float(loads[hottest]), float(network.links.rate[hottest]), shaped=fabric.is_emulated)
    return {f"{LINK}{network.link_name(hottest)}": least_s} if least_s > above * 1.001 else {}


def _loads(traffic: Traffic, cell: Placed, network: Network) -> NDArray[np.float64] | None:
    """Bytes over each link, shape (links,); None if they would take too long to compute."""
    chosen = network.indices(list(cell.hosts))
    if isinstance(traffic, Uniform):
        weights = np.zeros(len(network.hosts), dtype=np.int64)
        weights[chosen] = cell.ranks_per_node
        return (all_to_all_loads(network, weights) * float(traffic.block_bytes)).astype(np.float64)
    between = traffic.between(cell.nodes, cell.ranks_per_node) if cell.nodes <= MOST_PAIRED else None
    if between is None:
        return None
    amounts = np.array(between, dtype=np.float64)
    source, target = np.nonzero(amounts * (1 - np.eye(cell.nodes)))
    return pair_loads(network, chosen[source], chosen[target], amounts[source, target])


def network_of(fabric: Fabric) -> tuple[Network, tuple[Cut, ...]]:
    """The network of a fabric and its cuts."""
    assert fabric.network is not None
    # latencies do not matter here, and measured ones would only build the same network again
    section = fabric.network.model_copy(update={"latency": None})
    # by its text: a section with a table in it cannot be a cache key
    return _network(section.model_dump_json(), fabric.hosts, fabric.path.parent)


@lru_cache(maxsize=8)
def _network(section: str, hosts: tuple[str, ...], folder: Path) -> tuple[Network, tuple[Cut, ...]]:
    """The network of a section and its cuts, cached: a plan needs them for each cell and operation."""
    network = make_network(NetworkSection.model_validate_json(section), hosts, folder)
    return network, cuts(network)


def fullest_links(cell: Placed, order: str, fabric: Fabric) -> list[tuple[str, float]]:
    """The slowest link of each round, from round 0, and the seconds it needs per byte of a block. FabricError. No round
    if routes or rates are not known; an empty name if no block leaves its node. By the fabric file: messages surely
    take its routes if Weft makes the network, or it names real forwarding tables.
    """
    p = cell.ranks
    even = p == cell.nodes * cell.ranks_per_node
    if fabric.network is None or not cell.hosts or not even or cell.nodes < 2 or p * p > MOST_MESSAGES:
        return []
    if not (fabric.is_model or fabric.is_emulated or fabric.network.has_tables) or fabric.network.routing == "ecmp":
        return []
    network, _ = network_of(fabric)
    if not np.isfinite(network.links.rate).all():
        return []
    node = np.arange(p) // cell.ranks_per_node if order == "block" else np.arange(p) % cell.nodes
    host = network.indices(list(cell.hosts)).astype(np.int32)[node]
    found: list[tuple[str, float]] = []
    for distance in range(p):
        target = np.roll(host, -distance)
        leaves = host != target
        seconds = pair_loads(network, host[leaves], target[leaves], np.ones(int(leaves.sum()))) / network.links.rate
        most = int(seconds.argmax())
        found.append((network.link_name(most), float(seconds[most])) if leaves.any() else ("", 0.0))
    return found
