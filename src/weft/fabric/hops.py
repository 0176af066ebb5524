# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes: the distance between two ranks in links, for all pairs at once.

Levels: ``socket`` (same processor package), ``node``, ``leaf`` (same leaf switch), ``pod`` (same pod of a three-level
tree, same group of a dragonfly) and ``core`` (all others). Hops: switch-to-switch links on the route, so 0 up to the
same leaf; a network may count the two host links as well (`Network.end_hops`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import UNREACHABLE, leaves_alike, steps_on
from weft.fabric.network.graph import Ints, Network

LEVELS = ("socket", "node", "leaf", "pod", "core")
SOCKET, NODE, LEAF, POD, CORE = range(5)


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
        column = network.coordinates.get(name)
        if column is not None:
            mine = column[chosen]
            levels[mine[:, np.newaxis] == mine[np.newaxis, :]] = level
    np.fill_diagonal(levels, NODE)
    return levels


@dataclass(frozen=True, eq=False)
class RankPairs:
    """Hop class of each pair of ranks, shape (ranks, ranks), diagonal included (same socket, 0 hops)."""

    level: NDArray[np.int8]
    hops: NDArray[np.int16]

    def classes(self) -> tuple[HopClass, ...]:
        """The classes with their numbers of ordered pairs, nearest first, without the diagonal."""
        width = int(self.hops.max(initial=0)) + 2
        code = self.level.astype(np.int32) * width + (self.hops + 1)
        counts = -np.bincount(np.diagonal(code), minlength=len(LEVELS) * width)
        for rows in np.array_split(code, max(1, code.size // 2**22)):  # bincount makes a 64-bit copy
            counts += np.bincount(rows.ravel(), minlength=len(counts))
        return _classes(counts, width)


def rank_pairs(network: Network, host_of_rank: Sequence[int] | Ints, socket_of_rank: Ints | None = None) -> RankPairs:
    """Level and hops of all pairs of ranks, by host and socket of each, shape (ranks,); sockets may be unknown."""
    host = np.asarray(host_of_rank, dtype=np.int32)
    used, place = np.unique(host, return_inverse=True)
    both = np.ix_(place, place)
    level, hops = host_levels(network, used)[both], host_hops(network, used)[both]
    if socket_of_rank is not None:
        socket = np.asarray(socket_of_rank)
        level[(level == NODE) & (socket[:, np.newaxis] == socket[np.newaxis, :])] = SOCKET
    return RankPairs(level, hops)


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
    return tuple(c for c in (*near, *_classes(counts * on_node**2, width)) if c.pairs)


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
    marks = np.stack([network.leaf[chosen], *columns.values()])
    groups, group_of = np.unique(marks, axis=1, return_inverse=True)
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
    wanted = set(leaf[leaf >= 0].tolist())
    for alike in leaves_alike(network, wanted):
        shared = alike.steps(network, chosen)
        for switch in alike.leaves.tolist():
            own, steps = np.flatnonzero(leaf == switch), shared.copy()
            steps[own] = steps_on(network, leaf[own], chosen[own])
            steps[steps >= 0] += network.end_hops
            yield switch, steps


def _chosen(network: Network, hosts: Ints | None) -> Ints:
    return np.arange(len(network.hosts), dtype=np.int32) if hosts is None else np.asarray(hosts, dtype=np.int32)


def _classes(counts: NDArray[np.int64], width: int) -> tuple[HopClass, ...]:
    found = np.flatnonzero(counts)
    return tuple(HopClass(LEVELS[c // width], int(c % width) - 1, int(counts[c])) for c in found)
