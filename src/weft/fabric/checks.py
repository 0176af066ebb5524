# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a fabric: its file, its dump, its network."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.cuts import levels
from weft.fabric.dump_checks import check_dump
from weft.fabric.findings import EXAMPLES, Finding, found
from weft.fabric.hops import leaf_hops
from weft.fabric.network.build import build_network, read_section_dump
from weft.fabric.network.dumped import UNROUTED
from weft.fabric.network.graph import Ints, Network, directions
from weft.format import format_factor, format_rate

if TYPE_CHECKING:
    from weft.fabric.model import Fabric

SEVERITIES = ("error", "warning", "note")


def check_fabric(fabric: "Fabric") -> tuple[Finding, ...]:
    """All findings about a fabric, worst first."""
    findings = [*_nodes(fabric), *_rates(fabric), *_latency(fabric), *_model(fabric), *_sources(fabric)]
    section = fabric.network.dump if fabric.network else None
    try:
        if section is not None:
            findings += check_dump(read_section_dump(section, fabric.path.parent))
        if fabric.network is not None:
            findings += check_network(build_network(fabric, routed=False))
    except FabricError as error:
        findings.append(Finding("error", error.what, "no network can be made of this description", error.remedy))
    return tuple(sorted(findings, key=lambda f: SEVERITIES.index(f.severity)))


def _nodes(fabric: "Fabric") -> list[Finding]:
    node, findings = fabric.node, list[Finding]()
    if node.sockets and node.cores and node.cores % node.sockets:
        findings.append(
            Finding(
                "warning",
                f"node.cores = {node.cores} is not a multiple of node.sockets = {node.sockets}",
                "cores counts all sockets together",
                "give the cores of the whole node",
            )
        )
    if node.memory and node.cores and node.memory / node.cores < 64 * 2**20:
        findings.append(
            Finding(
                "warning",
                f"node.memory = {node.memory} B leaves less than 64 MiB to each of {node.cores} cores",
                "memory is that of the whole node, in bytes with its unit",
                "look at the unit",
            )
        )
    return findings


def _rates(fabric: "Fabric") -> list[Finding]:
    node, network, findings = fabric.node, fabric.network, list[Finding]()
    if network is None:
        return findings
    if network.adapter_rate is None and network.topology != "dump" and not fabric.is_model:
        findings.append(
            Finding(
                "warning",
                "network.adapter_rate is not given",
                "no bound, bisection or load can be given in seconds",
                "give the data rate of an adapter (data sheets print the signalling rate: 4xQDR carries 4 GB/s, not 5)",
            )
        )
    elif node.copy_rate and network.adapter_rate and node.copy_rate < network.adapter_rate:
        findings.append(
            Finding(
                "warning",
                f"node.copy_rate = {format_rate(node.copy_rate)} is below network.adapter_rate = "
                f"{format_rate(network.adapter_rate)}",
                "a node would copy slower than its adapter sends: then memory is always the bottleneck",
                "check both; copy_rate counts bytes copied by all cores together",
            )
        )
    return findings


def _latency(fabric: "Fabric") -> list[Finding]:
    """A latency that is missing; reading the file refuses implausible ones."""
    network = fabric.network
    if network is None:
        return []
    if network.latency is None:
        return [
            Finding(
                "note",
                "network.latency is not given",
                "messages take no time but that of their bytes, so small messages come out too fast",
                "give the one-way latency between two nodes on one switch",
            )
        ]
    return []


def _model(fabric: "Fabric") -> list[Finding]:
    """Keys that a simulation requires: without them `weft run` refuses the file. The routes of a dump need none."""
    if not fabric.is_model:
        return []
    network = fabric.network
    dumped = network is not None and network.topology == "dump"
    alone = len(fabric.hosts) < 2  # nothing leaves the only node
    stated = {
        "node.copy_rate": fabric.node.copy_rate,
        "network.adapter_rate": alone or dumped or network is None or network.adapter_rate,
    }
    return [
        Finding(
            "warning" if dumped else "error",
            f"{key} is not given",
            "a simulation needs it, and weft run refuses a fabric without it; routes and loads do not",
            f"write {key}, from a data sheet or fitted with weft fabric fit",
        )
        for key, value in stated.items()
        if not value
    ]


def _sources(fabric: "Fabric") -> list[Finding]:
    """Numbers without a source; local and virtual fabrics need none."""
    if fabric.runs_here:
        return []
    given = [("node", fabric.node), ("network", fabric.network)]
    for name in ("tree", "dragonfly", "torus"):
        given.append((f"network.{name}", getattr(fabric.network, name, None)))
    missing = [
        f"{section}.{key}"
        for section, model in given
        if model is not None and section not in fabric.sources
        for key in sorted(model.model_fields_set)
        if f"{section}.{key}" not in fabric.sources and key not in ("preset", "tree", "dragonfly", "torus", "dump")
    ]
    return found(
        "note",
        missing,
        "{n} parameter{s} without a source",
        "a reader cannot distinguish a data sheet's value from a guess",
        "name the paper, data sheet or fit of each under [sources]",
    )


def check_network(network: Network) -> list[Finding]:
    """Findings about a network: disconnected parts, uneven leaves, oversubscription."""
    return [*_cables(network), *_unreachable(network), *_idle(network), *_uneven(network), *_oversubscribed(network)]


def _cables(network: Network) -> list[Finding]:
    hosts = len(network.hosts)
    count = np.bincount(network.links.source[network.links.source < hosts], minlength=hosts)
    loose = [network.hosts[h] for h in np.flatnonzero(count == 0)]
    several = [f"{network.hosts[h]} ({count[h]})" for h in np.flatnonzero(count > 1)]
    unrated = [network.link_name(i) for i in np.flatnonzero(np.isnan(network.links.rate))[::2]]
    return [
        *found(
            "error",
            loose,
            "{n} host{s} without a cable",
            "an adapter that is down, or an edited dump",
            "check the port, or remove the host",
        ),
        *found(
            "note",
            several,
            "{n} host{s} with several cables",
            "routes use the one on the lowest port alone",
            "loads of the other rails are not shown",
        ),
        *found(
            "note",
            unrated,
            "{n} cable{s} without a rate",
            "the description knows none: loads are counted, not timed",
            "give network.adapter_rate and, for a dump, network.dump.link_rate",
        ),
    ]


def _unreachable(network: Network) -> list[Finding]:
    cabled = np.flatnonzero(network.leaf >= 0).astype(np.int32)
    if len(cabled) < 2:
        return []
    first, count = list[tuple[int, int]](), 0  # two separate parts lose as many pairs as a matrix has entries
    try:
        for leaf, reached in _islands(network, cabled) if network.routing == UNROUTED else _routed(network, cabled):
            lost = cabled[~reached]
            first += [(leaf, host) for host in lost[:EXAMPLES].tolist()]
            count += len(lost)
    except FabricError as error:
        return [Finding("error", error.what, "the tables were not made for this fabric", error.remedy)]
    pairs = [f"{network.switches[leaf].name} to {network.hosts[host]}" for leaf, host in sorted(first)]
    return found(
        "error",
        pairs,
        "{n} pair{s} of leaf switch and host without a route",
        "islands that no cable joins",
        "look for missing cables between them; or describe the islands as fabrics of their own",
        count,
    )


def _routed(network: Network, cabled: Ints) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each switch with hosts, and which of the hosts ``cabled`` its tables reach, shape (cabled,)."""
    return ((leaf, hops >= 0) for leaf, hops in leaf_hops(network, cabled))


def _islands(network: Network, cabled: Ints) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """The same by the cables alone: whether a switch and a host are on one island."""
    hosts, links = len(network.hosts), network.links
    island = np.arange(hosts + len(network.switches))
    while True:
        before = island.copy()
        np.minimum.at(island, links.target, island[links.source])
        if (island == before).all():
            break
    of_hosts = island[cabled]
    return ((leaf, of_hosts == island[hosts + leaf]) for leaf in np.unique(network.leaf[cabled]).tolist())


def _idle(network: Network) -> list[Finding]:
    """Switches that carry no traffic: no host below, and at most one neighbour."""
    hosts, count = len(network.hosts), len(network.switches)
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in zip(network.links.source.tolist(), network.links.target.tolist(), strict=True):
        if a >= hosts:
            neighbours[int(a) - hosts].add(b)
    bearing = {int(leaf) for leaf in network.leaf}
    lowest = [s for s in range(count) if network.switches[s].level == 1 and s not in bearing]
    ends = [s for s in range(count) if s not in bearing and s not in lowest and len(neighbours[s]) < 2]
    return [
        *found(
            "note",
            [network.switches[s].name for s in lowest],
            "{n} leaf switch{es} without hosts",
            "room for more nodes, or nodes that are not described",
            "no action is needed if that is intended",
        ),
        *found(
            "warning",
            [network.switches[s].name for s in ends],
            "{n} switch{es} leading nowhere",
            "no host is connected to them, and at most one other switch",
            "look for missing cables",
        ),
    ]


def _uneven(network: Network) -> list[Finding]:
    hosts, up = len(network.hosts), directions(network) > 0
    leaf = (network.links.source >= hosts) & up
    source = network.links.source[leaf] - hosts
    cables = np.bincount(source, minlength=len(network.switches))
    bearing = np.unique(network.leaf[network.leaf >= 0])
    if not len(bearing) or not network.cables_known:
        return []
    usual = int(np.bincount(cables[bearing]).argmax())
    few = sorted((int(cables[s]), network.switches[int(s)].name) for s in bearing if cables[s] < usual)
    return found(
        "warning",
        [f"{name} has {n}" for n, name in few],
        f"{{n}} leaf switch{{es}} {{have}} fewer cables up than the usual {usual}",
        "cables missing or down: an all-to-all waits for the leaf with the fewest for its hosts",
        "compare with the cabling plan; weft fabric show prints what it costs",
    )


def _oversubscribed(network: Network) -> list[Finding]:
    places = [
        f"level {level.level}: {format_factor(level.most)} to 1 at {level.worst}"
        for level in levels(network)
        if np.isfinite(level.most) and level.most > 1.001
    ]
    return found(
        "note",
        places,
        "{n} level{s} of switches {are} oversubscribed",
        "more traffic can enter from below than can leave upwards: this limits traffic between leaves",
        "no action is needed if that is intended",
    )
