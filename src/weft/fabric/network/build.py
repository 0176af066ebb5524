# SPDX-License-Identifier: BSD-3-Clause
"""Building the network of a fabric file: a star, a dragonfly, a torus with dimension-order routing, or from elsewhere.

A dragonfly has groups of fully connected routers, with global links between every two groups: Kim, Dally, Scott and
Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008. Routes are minimal, at most one local, one
global and one local link; several global links are shared by destination. Others (Valiant, adaptive) are not modelled.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.kinds import KINDS
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Cables, Ints, Network, Switch, refuse_oversize
from weft.fabric.network.minimal import has_several_ways
from weft.fabric.network.sections import DragonflySection, DumpSection, NetworkSection, TorusSection
from weft.fabric.network.tree import fat_tree, fold_parallel, sideways
from weft.fabric.readers import Dump, read_dump, read_names, read_tables
from weft.latest import Latest

if TYPE_CHECKING:
    from weft.fabric.model import Fabric


def build_network(fabric: "Fabric", *, routed: bool = True) -> Network:
    """The network of a fabric; FabricError for numbers that describe none, or a dump that is bad or lacks a node. Each
    host link has half of ``network.latency``, so two nodes on one switch are ``latency`` apart. Rates that the file
    does not state are nan. Without ``routed`` a dump without tables gets no routes, which may take minutes.
    """
    if fabric.network is None:
        return star(fabric.hosts or ("localhost",), rate=float("nan"))
    return make_network(fabric.network, fabric.hosts, fabric.path.parent, routed=routed)


def build_followed(fabric: "Fabric") -> Network:
    """The network as its messages see it, the last one kept: its cables are unknown where a hash chooses among ways."""
    section = fabric.network
    if section is None or section.dump is not None:  # a dump may have changed
        return _followed(fabric)
    return _LAST.get((section, fabric.hosts, fabric.kind), lambda: _followed(fabric))


_LAST = Latest[Network]()


def _followed(fabric: "Fabric") -> Network:
    network = build_network(fabric)
    routing = fabric.network.routing if fabric.network else ""
    if routing == "ecmp":
        return replace(network, cables_known=False) if has_several_ways(network) else network
    folds = KINDS[fabric.kind].folds and routing != "tables" and sideways(network) is None
    return fold_parallel(network) if folds else network


def make_network(section: NetworkSection, hosts: Sequence[str], folder: Path, *, routed: bool = True) -> Network:
    """The network of a section, with ``hosts`` in this order; file names are relative to ``folder``."""
    rate = section.node_rate or float("nan")
    latency = (section.latency or 0.0) / 2
    if section.tree is not None:
        network = fat_tree(hosts, section.tree, rate=rate, latency=latency)
    elif section.dragonfly is not None:
        network = dragonfly(hosts, section.dragonfly, rate=rate, latency=latency)
    elif section.torus is not None:
        network = torus(hosts, section.torus, rate=rate, latency=latency)
    elif section.dump is not None:
        network = _from_dump(section, section.dump, hosts, folder, routed)
    else:
        network = star(hosts, rate=rate, latency=latency)
    return replace(with_rates(network, section.rates), end_hops=2 if section.hop_count == "links" else 0)


def with_rates(network: Network, rates: Mapping[str, float]) -> Network:
    """The network with other rates (B/s) of links by their ends, ``a - b``, or ``a -> b`` one way; FabricError."""
    if not rates:
        return network
    links, vertices = network.links, range(len(network.hosts) + len(network.switches))
    index = {network.vertex_name(vertex): vertex for vertex in vertices}
    changed = links.rate.copy()
    for ends, rate in rates.items():
        one_way = " -> " in ends
        source, _, target = ends.partition(" -> " if one_way else " - ")
        a, b = index.get(source.strip(), -1), index.get(target.strip(), -1)
        found = (links.source == a) & (links.target == b)
        if not one_way:
            found |= (links.source == b) & (links.target == a)
        if not found.any():
            raise FabricError(
                f'network.rates names "{ends}", and no link joins the two',
                "write A - B for both directions, A -> B for one; with this line taken out, weft fabric show FILE "
                "lists the names",
            )
        changed[found] = rate
    return replace(network, links=replace(links, rate=changed))


def read_section_dump(section: DumpSection, folder: Path) -> Dump:
    """Read the dump that a section names, with its forwarding tables."""
    dump = read_dump(folder / section.file, section.format)
    return dump if section.tables is None else replace(dump, tables=read_tables(folder / section.tables))


def _from_dump(section: NetworkSection, dump: DumpSection, hosts: Sequence[str], folder: Path, routed: bool) -> Network:
    read = read_section_dump(dump, folder)
    network = network_of(
        read,
        names=read_names(folder / dump.names) if dump.names else None,
        adapter_rate=section.adapter_rate,
        link_rate=dump.link_rate,
        latency=(section.latency or 0.0) / 2,
        link_latency=dump.link_latency,
        routed=routed or read.tables is not None,
    )
    if foreign := [name for name in hosts if name not in network.index]:
        raise FabricError(
            f"node.names has {len(foreign)} nodes that are not in {dump.file}, the first is {foreign[0]!r}",
            "weft fabric import DUMP writes the names that the dump has; or name its adapters with network.dump.names",
        )
    return network


def star(hosts: Sequence[str], *, rate: float, latency: float = 0.0) -> Network:
    """All hosts on one switch, each by a link of ``rate`` bytes/s each way and ``latency`` s: a message crosses two."""
    cables, leaf = Cables(), np.zeros(len(hosts), dtype=np.int32)
    forward = (cables.add_hosts(leaf, rate, latency) + 1)[np.newaxis, :]
    switches, routing = (Switch("switch", 1),), "one switch, one route"
    return Network("star", tuple(hosts), switches, cables.links(), forward, {"leaf": leaf}, routing)


#: Cables between groups of a dragonfly: by (from, to), the routers with such a cable and the link of each.
Between = dict[tuple[int, int], list[tuple[int, int]]]


def _groups(shape: DragonflySection, hosts: int) -> int:
    per_group = shape.nodes_per_router * shape.routers_per_group
    needed = max(1, -(-hosts // per_group))
    groups = needed if shape.groups is None else shape.groups
    if groups < needed:
        held = f"groups = {groups} of {per_group} nodes hold {groups * per_group} nodes, the fabric has {hosts}"
        raise FabricError(f"[network.dragonfly]: {held}", f"set groups to {needed} or more, or leave it out")
    most = shape.routers_per_group * shape.global_links + 1
    if groups > most:
        raise FabricError(
            f"[network.dragonfly]: {groups} groups cannot all be joined: {shape.routers_per_group} routers with "
            f"{shape.global_links} global links each reach {most - 1} other groups",
            f"raise global_links to {-(-(groups - 1) // shape.routers_per_group)}, or use at most {most} groups",
        )
    return groups


def dragonfly(hosts: Sequence[str], shape: DragonflySection, *, rate: float, latency: float = 0.0) -> Network:
    """Make a dragonfly, with rate and latency of a host's link; FabricError for too few global links."""
    groups, size = _groups(shape, len(hosts)), shape.routers_per_group
    refuse_oversize(len(hosts), groups * size, len(hosts) + groups * size * (size + shape.global_links) // 2)
    cables, first = Cables(), len(hosts)
    router_of = np.arange(first, dtype=np.int32) // shape.nodes_per_router
    down = cables.add_hosts(router_of, rate, latency) + 1
    local = np.full((groups * size, size), -1, dtype=np.int32)  # link from a router to the i-th router of its group
    for group in range(groups):
        for i, j in combinations(range(size), 2):
            a, b = group * size + i, group * size + j
            local[a, j] = cables.add(first + a, first + b, shape.local_rate, shape.local_latency)
            local[b, i] = local[a, j] + 1
    forward = _tables(router_of, down, local, _global_links(cables, shape, groups, first), groups)
    switches = tuple(Switch(f"group{g}-router{r}", 1) for g in range(groups) for r in range(size))
    coordinates = {"leaf": router_of, "pod": router_of // size}
    routing = "minimal: local, global, local"
    return Network("dragonfly", tuple(hosts), switches, cables.links(), forward, coordinates, routing)


def _global_links(cables: Cables, shape: DragonflySection, groups: int, first: int) -> Between:
    between = defaultdict[tuple[int, int], list[tuple[int, int]]](list)
    size = shape.routers_per_group
    used = np.zeros(groups * size, dtype=int)
    for _ in range(size * shape.global_links // max(1, groups - 1)):
        for g, h in combinations(range(groups), 2):
            # The router with the most free ports: this spreads the global links evenly over a group.
            a = g * size + int(np.argmin(used[g * size : (g + 1) * size]))
            b = h * size + int(np.argmin(used[h * size : (h + 1) * size]))
            used[[a, b]] += 1
            link = cables.add(first + a, first + b, shape.global_rate, shape.global_latency)
            between[g, h].append((a, link))
            between[h, g].append((b, link + 1))
    return between


def _tables(router_of: Ints, down: Ints, local: Ints, between: Between, groups: int) -> Ints:
    routers, size = local.shape
    forward = np.full((routers, len(router_of)), -1, dtype=np.int32)
    group_of = router_of // size
    for group in range(groups):
        own = slice(group * size, (group + 1) * size)
        home = np.flatnonzero(group_of == group)
        forward[own, home] = local[own][:, router_of[home] % size]
        for other in (other for other in range(groups) if other != group):
            there = np.flatnonzero(group_of == other)
            ways = np.array(between[group, other], dtype=np.int32)
            owner, link = ways[there % len(ways)].T
            mine = np.arange(group * size, (group + 1) * size, dtype=np.int32)[:, np.newaxis] == owner
            forward[own, there] = np.where(np.asarray(mine), link, local[own][:, owner % size])
    forward[router_of, np.arange(len(router_of))] = down
    return forward


AXES = "xyzuvw"


def torus(hosts: Sequence[str], shape: TorusSection, *, rate: float, latency: float = 0.0) -> Network:
    """Make a torus, with rate and latency of a host's link; FabricError for too many hosts or dimensions. The last
    dimension varies fastest in the order of the hosts. Routes correct the first dimension first. Half way round an even
    dimension hosts with an even coordinate are reached upwards, others downwards.
    """
    switches = math.prod(shape.dimensions)
    if len(hosts) > switches * shape.nodes_per_switch or not 1 <= len(shape.dimensions) <= len(AXES):
        raise FabricError(
            f"[network.torus]: dimensions = {list(shape.dimensions)} with {shape.nodes_per_switch} nodes a switch hold "
            f"{switches * shape.nodes_per_switch} nodes, the fabric has {len(hosts)}",
            f"give one to {len(AXES)} dimensions, large enough for all nodes",
        )
    refuse_oversize(len(hosts), switches, len(hosts) + switches * len(shape.dimensions))
    cables, first = Cables(), len(hosts)
    leaf_of = np.arange(first, dtype=np.int32) // shape.nodes_per_switch
    up = cables.add_hosts(leaf_of, rate, latency)
    place = np.stack(np.unravel_index(np.arange(switches), shape.dimensions), axis=1)
    steps, forward = _wire(cables, shape, place, first), np.full((switches, first), -1, dtype=np.int32)
    for axis in reversed(range(len(shape.dimensions))):  # written last, so the first dimension takes precedence
        length = shape.dimensions[axis]
        here, there = place[:, axis][:, np.newaxis], place[leaf_of, axis][np.newaxis, :]
        ahead = (there - here) % length
        upwards = (2 * ahead < length) | ((2 * ahead == length) & (there % 2 == 0))
        step = np.where(upwards, steps[:, axis, 0][:, np.newaxis], steps[:, axis, 1][:, np.newaxis])
        forward = np.where(ahead == 0, forward, step).astype(np.int32)
    forward[leaf_of, np.arange(first)] = up + 1
    coordinates = {"leaf": leaf_of}
    coordinates |= {name: column.astype(np.int32) for name, column in zip(AXES, place[leaf_of].T, strict=False)}
    names = tuple(Switch("switch-" + "-".join(map(str, p)), 1) for p in place.tolist())
    return Network("torus", tuple(hosts), names, cables.links(), forward, coordinates, "dimension order")


def _wire(cables: Cables, shape: TorusSection, place: NDArray[np.int_], first: int) -> Ints:
    """Link indices, shape (switches, dimensions, 2): upwards, downwards; -1 if the dimension has one switch."""
    steps = np.full((len(place), len(shape.dimensions), 2), -1, dtype=np.int32)
    for switch, at in enumerate(place):
        for axis, length in enumerate(shape.dimensions):
            if length == 1 or (length == 2 and at[axis] == 1):
                continue  # in a dimension of 2 either neighbour is the other switch: one cable
            beside = at.copy()
            beside[axis] = (at[axis] + 1) % length
            other = int(np.ravel_multi_index(tuple(beside.tolist()), shape.dimensions))
            link = cables.add(first + switch, first + other, shape.link_rate, shape.link_latency)
            steps[switch, axis, 0], steps[other, axis, 1] = link, link + 1
            if length == 2:
                steps[switch, axis, 1], steps[other, axis, 0] = link, link + 1
    return steps
