# SPDX-License-Identifier: BSD-3-Clause
"""The specification of a virtual cluster, from a network: hosts, switches, and rate-limited links.

Bridges need links that form a tree. Switches with `VirtualSpec.ways` route instead, over links of any shape.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

from weft.errors import FabricError
from weft.fabric.loads import name_link
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import equal_cost_ways
from weft.fabric.network.tree import fold_parallel, sideways
from weft.format import format_rate

HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
MOST_HOSTS = 250
SLOWEST = 1e3  # bytes per second under which tbf can no longer be trusted to pass a jumbo frame in time
ROUTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # it becomes a file's, a host's and an alias
MOST_ROUTERS = 64  # a namespace each, and what crosses one costs the cores as much as a host's own traffic
CARRIED_PER_CORE = 0.35e9
"""Bytes of TCP per second that one core carries through veth, bridge and tbf in all (0.7 GB/s on two cores)."""


@dataclass(frozen=True)
class VirtualLink:
    """One cable, both directions at the same rate."""

    name: str
    lower: str
    upper: str
    rate: float  # bytes per second, each way


@dataclass(frozen=True)
class VirtualSpec:
    """A cluster of namespaces; FabricError for a bad host name, a link to nowhere, or bridges that are no tree."""

    name: str
    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[VirtualLink, ...]
    # for each switch and host the links to choose from, as places in ``links``; empty where switches are bridges
    ways: tuple[tuple[tuple[int, ...], ...], ...] = ()
    hash_seed: int = 0  # what the switches' hashes differ by; 0: by chance

    def __post_init__(self) -> None:
        for what, *remedy in chain(_names(self), _links(self), _ways(self) if self.ways else _tree(self)):
            raise FabricError(what, *remedy)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The specification from `dataclasses.asdict`, as JSON holds it."""
        return cls(
            *(record["name"], tuple(record["hosts"]), tuple(record["switches"])),
            tuple(VirtualLink(**link) for link in record["links"]),
            tuple(tuple(map(tuple, row)) for row in record["ways"]),
            record["hash_seed"],
        )

    @property
    def spaces(self) -> tuple[str, ...]:
        """Hosts and switches with a network namespace of their own: bridges have none."""
        return (*self.hosts, *self.switches) if self.ways else self.hosts


def too_fast(spec: VirtualSpec, cores: int) -> str:
    """A warning if this machine's processors, not the links, would limit the traffic; otherwise empty."""
    carried, hosts = CARRIED_PER_CORE * cores, set(spec.hosts)
    injected = sum(link.rate for link in spec.links if link.lower in hosts)  # by all hosts together
    if injected <= carried:
        return ""
    return (
        f"the hosts of {spec.name} inject {format_rate(injected)} in all, but {cores} core(s) carry about "
        f"{format_rate(carried)} of TCP: the processors will be the bottleneck, not the links; "
        f"set adapter_rate to {format_rate(carried / len(spec.hosts))} or less, and the other links in proportion"
    )


# what is wrong with a specification, and what to do about it: the first is the error
Wrong = Iterator[tuple[str] | tuple[str, str]]


def _names(spec: VirtualSpec) -> Wrong:
    for name in spec.hosts:
        if not HOST_NAME.fullmatch(name):
            allowed = "use letters, digits and hyphens, at most 63 of them"
            yield f"{spec.name}: {name!r} cannot be the name of a virtual host", allowed
    twice = [name for name, count in Counter(spec.hosts + spec.switches).items() if count > 1]
    if twice:
        yield f"{spec.name}: {twice[0]!r} names two nodes or switches", "give each a name of its own"
    if not spec.hosts:
        yield f"{spec.name} has no nodes", 'name them: names = "node[0-3]" in [node]'
    if len(spec.hosts) > MOST_HOSTS:
        what = f"{spec.name} has {len(spec.hosts)} nodes; a virtual cluster on one machine takes {MOST_HOSTS} at most"
        yield what, 'use kind = "simulated" for a fabric of this size'


def _links(spec: VirtualSpec) -> Wrong:
    ends = [(link, end) for link in spec.links for end in (link.lower, link.upper)]
    for link, end in ends:
        if end not in spec.hosts and end not in spec.switches:
            yield (f"{spec.name}: link {link.name} ends at {end!r}, which is no node or switch",)
        if not link.rate >= SLOWEST or link.rate == float("inf"):
            what = f"{spec.name}: link {link.name} has a rate of {link.rate:g} B/s"
            yield what, "give it 1 kB/s or more, e.g. 62.5 MB/s"
    if len({link.name for link in spec.links}) != len(spec.links):
        yield f"{spec.name}: two links have the same name", "give each a name of its own"
    adapters = Counter(end for _, end in ends)
    for host in spec.hosts:
        if adapters[host] != 1:
            what = f"{spec.name}: {host} has {adapters[host]} links; a virtual host has exactly one"
            yield what, "sum parallel links of a host into one rate"


def _tree(spec: VirtualSpec) -> Wrong:
    parent = {name: name for name in spec.hosts + spec.switches}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for link in spec.links:
        lower, upper = root(link.lower), root(link.upper)
        if lower == upper:
            what = f"{spec.name}: link {link.name} closes a loop, which bridges cannot carry"
            yield what, 'sum parallel links into one; a virtual fabric is topology = "star" or "fat-tree"'
        parent[lower] = upper
    apart = [name for name in spec.hosts if root(name) != root(spec.hosts[0])]
    if apart:
        yield f"{spec.name}: no link leads from {spec.hosts[0]} to {apart[0]}", "join them by a switch"


def _ways(spec: VirtualSpec) -> Wrong:
    if len(spec.switches) > MOST_ROUTERS:
        what = f"{spec.name} has {len(spec.switches)} switches that route; one machine takes {MOST_ROUTERS} at most"
        yield what, 'leave out routing, or use kind = "simulated"'
    for name in spec.switches:
        if not ROUTER_NAME.fullmatch(name):
            allowed = "use letters, digits, dots, hyphens and underscores, at most 63 of them"
            yield f"{spec.name}: {name!r} cannot be the name of a switch that routes", allowed
    lower = {link.lower: link.upper for link in spec.links}
    for host in spec.hosts:
        if lower.get(host) not in spec.switches:
            yield f"{spec.name}: no cable joins {host} to a switch", "give it one, or leave it out"
    place = {name: row for row, name in enumerate(spec.switches)}
    for start, host in enumerate(spec.hosts):
        for end, other in enumerate(spec.hosts):
            if start != end and not _arrives(spec, place, lower[host], end):
                what = f"{spec.name}: no route from {host} to {other}, or one that forms a loop"
                yield what, 'take other tables, or routing = "ecmp" for the shortest ways'


def _arrives(spec: VirtualSpec, place: Mapping[str, int], at: str, end: int) -> bool:
    here = {at}
    for _ in range(len(spec.switches) + 1):
        onward: set[str] = set()
        for switch in here:
            links = [spec.links[way] for way in spec.ways[place[switch]][end]]
            if not links:
                return False
            onward.update(*({link.lower, link.upper} - {switch} for link in links))
        onward.discard(spec.hosts[end])
        if not onward:
            return True
        if not onward <= place.keys():
            return False
        here = onward
    return False


def spec_of(fabric: Fabric) -> VirtualSpec:
    """The cluster of a fabric file of kind ``virtual``; FabricError without ``adapter_rate``, or for no tree."""
    if fabric.kind != "virtual":
        what = f"{fabric.name} is a fabric of kind {fabric.kind}, which cannot be brought up here"
        raise FabricError(what, "name one of kind virtual, e.g. virtual-default")
    if fabric.network is None or fabric.network.adapter_rate is None:
        what = f"{fabric.name} does not say what a host's link carries"
        raise FabricError(what, 'add adapter_rate = "62.5 MB/s" to [network]')
    network = build_network(fabric)
    if fabric.network.routing not in ("ecmp", "tables"):
        return spec_of_network(fabric.name, network)
    if fabric.network.routing == "ecmp":
        ways, seed = equal_cost_ways(network), fabric.network.hash_seed
    else:
        ways, seed = [[[way] if way >= 0 else [] for way in row] for row in network.forward.tolist()], 0
    # every switch and cable as it is
    cables = tuple(tuple(tuple(way // 2 for way in each) for each in row) for row in ways)
    switches = tuple(switch.name for switch in network.switches)
    return VirtualSpec(fabric.name, network.hosts, switches, _cables(fabric.name, network), cables, seed)


def spec_of_network(name: str, network: Network) -> VirtualSpec:
    """A tree folded as `fold_parallel`, oversubscribed as it was; FabricError for none, or a cable of two rates."""
    if (between := sideways(network)) is not None:
        a, b = (network.vertex_name(int(end[between])) for end in (network.links.source, network.links.target))
        what = f"{name}: a cable joins {a} and {b}, so this {network.topology} is no tree, and bridges carry trees only"
        remedy = 'write routing = "tables" or "ecmp" in [network] for switches that route, or use kind = "simulated"'
        raise FabricError(what, remedy)
    folded = fold_parallel(network)
    return VirtualSpec(name, folded.hosts, tuple(switch.name for switch in folded.switches), _cables(name, folded))


def _cables(name: str, network: Network) -> tuple[VirtualLink, ...]:
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
