# SPDX-License-Identifier: BSD-3-Clause
"""Routes of many pairs at once from the forwarding tables, and hop classes: the distance between two ranks in links.

Levels: ``socket`` (same processor package), ``node``, ``leaf`` (same leaf switch), ``pod`` (same pod of a three-level
tree, same group of a dragonfly) and ``core`` (all others). Hops: switch-to-switch links on the route, so 0 up to the
same leaf; a network may count the two host links as well (`Network.end_hops`).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network.graph import Ints, Network

UNREACHABLE = -1


def walk(network: Network, sources: Ints, targets: Ints) -> Ints:
    """Links from hosts to hosts, (pairs,), none to itself: (pairs, longest), -1 as padding; FabricError without one."""
    hosts = len(network.hosts)
    link = np.where(sources == targets, -1, network.uplink[sources]).astype(np.int32)
    columns, going = list[Ints](), np.flatnonzero(sources != targets)
    while going.size:
        step = link[going]
        vertex = np.where(step >= 0, network.links.target[step], -1)
        lost = (step < 0) | ((vertex < hosts) & (vertex != targets[going]))
        if lost.any() or len(columns) > len(network.switches) + 1:
            first = int(going[np.argmax(lost)])
            raise network.no_route(int(sources[first]), int(targets[first]), circle=not lost.any())
        column = np.full(len(sources), -1, dtype=np.int32)
        column[going] = step
        columns.append(column)
        on = vertex != targets[going]
        going, vertex = going[on], vertex[on]
        link[going] = network.forward[vertex - hosts, targets[going]]
    return np.stack(columns, axis=1) if columns else np.empty((len(sources), 0), dtype=np.int32)


def steps_on(network: Network, at: Ints, end: Ints) -> NDArray[np.int16]:
    """Links between switches from each to a host, (pairs,); `UNREACHABLE` without a way. FabricError for a loop."""
    hosts = len(network.hosts)
    steps, going = np.full(len(at), UNREACHABLE, dtype=np.int16), np.arange(len(at))
    for count in range(len(network.switches) + 1):
        if not going.size:
            return steps
        link = network.forward[at, end]
        vertex = np.where(link >= 0, network.links.target[link], -1)
        steps[going[vertex == end]] = count
        on = vertex >= hosts
        going, at, end = going[on], vertex[on] - hosts, end[on]
    what = f"the forwarding tables towards {network.hosts[int(end[0])]} form a loop"
    raise FabricError(what, "take other tables, or leave them out to use Weft's own minimal routes")


def _leaves_alike(network: Network, wanted: Ints) -> Iterator[tuple[list[int], Ints]]:
    """Leaf switches of equal tables, and the next vertex from them towards each host, shape (hosts,), -1 for none. Each
    is compared with the first of the same neighbours only. Towards a host of these leaves: the vertex of the others.
    """
    hosts_of, hosts, links = network.hosts_below, len(network.hosts), network.links
    between = network.switch_links & np.isin(links.source, wanted + hosts)
    ends = np.unique(np.stack([links.source[between], links.target[between]]), axis=1) - hosts
    groups = defaultdict[bytes, list[int]](list)
    bounds = np.searchsorted(ends[0], np.stack([wanted, wanted + 1], axis=1)).tolist()
    for leaf, (start, stop) in zip(wanted.tolist(), bounds, strict=True):
        groups[ends[1, start:stop].tobytes()].append(leaf)
    for leaves in groups.values():
        onward, same = _onward(network, leaves[0]), list[int]()
        if len(leaves) > 1:
            own = hosts_of[leaves[0]]
            onward[own] = _onward(network, leaves[1])[own]
        for leaf in leaves:
            mine, its_hosts = _onward(network, leaf), hosts_of[leaf]
            differs = mine != onward
            differs[its_hosts] = mine[its_hosts] != its_hosts
            if differs.any():
                yield [leaf], mine
            else:
                same.append(leaf)
        if same:
            yield same, onward


def _onward(network: Network, switch: int) -> Ints:
    """Index of the next vertex from a switch towards each host, shape (hosts,); -1 for none."""
    link = network.forward[switch]
    return np.where(link >= 0, network.links.target[link], np.int32(-1))


LEVELS = ("socket", "node", "leaf", "pod", "core")
_, NODE, LEAF, POD, CORE = range(5)


@dataclass(frozen=True)
class HopClass:
    """Pairs of ranks at the same distance."""

    level: str  # one of `LEVELS`
    hops: int  # links on the route as the network counts them; -1 if there is no route
    pairs: int  # ordered pairs of distinct ranks in this class


def host_hops(network: Network, hosts: Ints | None = None) -> NDArray[np.int16]:
    """Hops between hosts (all by default), shape (hosts, hosts); 0 on the diagonal, -1 without a route."""
    chosen = _chosen(network, hosts)
    leaves, row = np.unique(network.leaf[chosen], return_inverse=True)
    at = np.repeat(np.maximum(leaves, 0).astype(np.int32), len(chosen))
    steps = steps_on(network, at, np.tile(chosen, len(leaves))).reshape(len(leaves), len(chosen))
    steps[leaves < 0] = -1
    steps[steps >= 0] += network.end_hops
    hops = steps[row]
    np.fill_diagonal(hops, 0)
    return hops


def host_levels(network: Network, hosts: Ints | None = None) -> NDArray[np.int8]:
    """Level of each pair of hosts as an index into `LEVELS`, shape (hosts, hosts); the diagonal is ``node``."""
    chosen = _chosen(network, hosts)
    levels = np.full((len(chosen), len(chosen)), CORE, dtype=np.int8)
    for name, level in (("pod", POD), ("leaf", LEAF)):
        if (column := network.coordinates.get(name)) is not None:
            mine = column[chosen]
            levels[mine[:, np.newaxis] == mine[np.newaxis, :]] = level
    np.fill_diagonal(levels, NODE)
    return levels


def hop_classes(
    network: Network, ranks_per_socket: Sequence[int] = (1,), hosts: Ints | None = None
) -> tuple[HopClass, ...]:
    """Hop classes with numbers of pairs between some hosts, if all have the same number of ranks on each socket."""
    chosen = _chosen(network, hosts)
    on_node = sum(ranks_per_socket)
    same = len(chosen) * sum(r * (r - 1) for r in ranks_per_socket)
    node = len(chosen) * on_node * (on_node - 1) - same
    width = len(network.switches) + network.end_hops + 2
    counts = np.zeros(len(LEVELS) * width, dtype=np.int64)
    for group in groups_alike(network, chosen):
        code = group.level.astype(np.int64) * width + (group.hops + 1)
        counts += np.bincount(code, minlength=len(counts)) * len(group.members)
        counts -= np.bincount(code[group.members], minlength=len(counts))
    near = (HopClass("socket", 0, same), HopClass("node", 0, node))
    far = ((LEVELS[c // width], int(c % width) - 1, int(counts[c]) * on_node**2) for c in np.flatnonzero(counts))
    return tuple(c for c in (*near, *(HopClass(*each) for each in far)) if c.pairs)


@dataclass(frozen=True, eq=False)
class Alike:
    """Hosts with the same level and distance to all others: those with the same leaf switch, leaf and pod."""

    members: NDArray[np.intp]  # positions of these hosts among the chosen ones
    level: NDArray[np.int8]  # to each chosen host, shape (hosts,), by index into `LEVELS`; to a member: of another one
    hops: NDArray[np.int16]  # the same


def groups_alike(network: Network, hosts: Ints | None = None) -> Iterator[Alike]:
    """Groups of hosts (all if None) with their rows of `host_levels` and `host_hops`, so that no matrix is stored."""
    chosen = _chosen(network, hosts)
    columns = {name: network.coordinates[name][chosen] for name in ("pod", "leaf") if name in network.coordinates}
    groups, group_of = np.unique(np.stack([network.leaf[chosen], *columns.values()]), axis=1, return_inverse=True)
    order = np.argsort(group_of.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(group_of.ravel()))[:-1])
    for switch, hops in leaf_hops(network, chosen):
        for number in np.flatnonzero(groups[0] == switch).tolist():
            level = np.full(len(chosen), CORE, dtype=np.int8)
            for row, (name, column) in enumerate(columns.items(), start=1):
                level[column == groups[row, number]] = POD if name == "pod" else LEAF
            yield Alike(members[number], level, hops)


def leaf_hops(network: Network, chosen: Ints) -> Iterator[tuple[int, NDArray[np.int16]]]:
    """Each switch with a chosen host, or -1 for hosts without a cable, and its hops to each of them, shape (hosts,)."""
    leaf = network.leaf[chosen]
    if (leaf < 0).any():
        yield -1, np.full(len(chosen), UNREACHABLE, dtype=np.int16)
    for leaves, onward in _leaves_alike(network, np.unique(leaf[leaf >= 0])):
        first = onward[chosen]
        shared = np.where(first == chosen, 0, UNREACHABLE).astype(np.int16)
        going = np.flatnonzero(first >= len(network.hosts))
        further = steps_on(network, first[going] - np.int32(len(network.hosts)), chosen[going])
        shared[going] = np.where(further < 0, further, further + 1)
        for switch in leaves:
            own, steps = np.flatnonzero(leaf == switch), shared.copy()
            steps[own] = steps_on(network, leaf[own], chosen[own])
            steps[steps >= 0] += network.end_hops
            yield switch, steps


def _chosen(network: Network, hosts: Ints | None) -> Ints:
    return np.arange(len(network.hosts), dtype=np.int32) if hosts is None else np.asarray(hosts, dtype=np.int32)
