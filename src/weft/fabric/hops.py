# SPDX-License-Identifier: BSD-3-Clause
"""Hop classes: how near two ranks sit, for all pairs at once.

Levels: ``socket`` (same processor package), ``node``, ``leaf`` (same leaf switch), ``pod`` (same pod of a three-level
tree, same group of a dragonfly) and ``core`` (all others). Hops: switch-to-switch links on the route, so 0 up to the
same leaf; a network may count the two host links as well (`Network.end_hops`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import switch_steps
from weft.fabric.network.graph import Ints, Network

LEVELS = ("socket", "node", "leaf", "pod", "core")
SOCKET, NODE, LEAF, POD, CORE = range(5)


@dataclass(frozen=True)
class HopClass:
    """Pairs of ranks that sit equally far apart.

    Attributes
    ----------
    level
        One of `LEVELS`.
    hops
        Links on the route as the network counts them; -1 where there is no route.
    pairs
        Ordered pairs of distinct ranks in this class.
    """

    level: str
    hops: int
    pairs: int


def host_hops(network: Network, hosts: Ints | None = None) -> NDArray[np.int16]:
    """Hops between hosts, shape (hosts, hosts); 0 on the diagonal, -1 without a route.

    Parameters
    ----------
    network
        The network.
    hosts
        Host indices; all hosts when None.
    """
    chosen = np.arange(len(network.hosts), dtype=np.int32) if hosts is None else np.asarray(hosts, dtype=np.int32)
    leaves, row = np.unique(network.leaf[chosen], return_inverse=True)
    cabled = np.maximum(leaves, 0).astype(np.int32)
    steps = switch_steps(network, cabled, chosen)
    steps[leaves < 0] = -1
    steps[steps >= 0] += network.end_hops
    hops = steps[row]
    np.fill_diagonal(hops, 0)
    return hops


def host_levels(network: Network, hosts: Ints | None = None) -> NDArray[np.int8]:
    """Level of each pair of hosts as an index into `LEVELS`, shape (hosts, hosts); the diagonal is ``node``."""
    chosen = np.arange(len(network.hosts), dtype=np.int32) if hosts is None else np.asarray(hosts, dtype=np.int32)
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
    """Where every two ranks sit: shape (ranks, ranks), diagonal included (a rank with itself: own socket, 0 hops)."""

    level: NDArray[np.int8]
    hops: NDArray[np.int16]

    def classes(self) -> tuple[HopClass, ...]:
        """The classes with their pair counts, nearest first."""
        return _count(self.level, self.hops)


def rank_pairs(network: Network, host_of_rank: Sequence[int] | Ints, socket_of_rank: Ints | None = None) -> RankPairs:
    """Level and hops of all pairs of ranks.

    Parameters
    ----------
    network
        The network.
    host_of_rank
        Host index of each rank, shape (ranks,).
    socket_of_rank
        Socket number of each rank on its host, shape (ranks,); with None two ranks of a node are ``node`` apart.
    """
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
    """Hop classes with pair counts when every host holds the same ranks.

    Parameters
    ----------
    network
        The network.
    ranks_per_socket
        Ranks on each socket of a host; ``(8, 8)`` for 16 ranks on two sockets.
    hosts
        Host indices; all hosts when None.

    Returns
    -------
    Classes, nearest first, with ordered pairs of distinct ranks.
    """
    level, hops = host_levels(network, hosts), host_hops(network, hosts)
    on_node = sum(ranks_per_socket)
    same = len(level) * sum(r * (r - 1) for r in ranks_per_socket)
    node = len(level) * on_node * (on_node - 1) - same
    far = (HopClass(c.level, c.hops, c.pairs * on_node**2) for c in _count(level, hops))
    near = (HopClass("socket", 0, same), HopClass("node", 0, node))
    return tuple(c for c in (*near, *far) if c.pairs)


def _count(level: NDArray[np.int8], hops: NDArray[np.int16]) -> tuple[HopClass, ...]:
    """Ordered pairs by (level, hops), the diagonal left out."""
    width = int(hops.max(initial=0)) + 2
    code = level.astype(np.int32) * width + (hops + 1)
    counts = -np.bincount(np.diagonal(code), minlength=len(LEVELS) * width)
    for rows in np.array_split(code, max(1, code.size // 2**22)):  # bincount works on a 64-bit copy
        counts += np.bincount(rows.ravel(), minlength=len(counts))
    found = np.flatnonzero(counts)
    return tuple(HopClass(LEVELS[c // width], int(c % width) - 1, int(counts[c])) for c in found)


def coordinates(network: Network, host_of_rank: Sequence[int] | Ints) -> Mapping[str, Ints]:
    """Columns for ``ranks.parquet``: leaf, pod, ... of each rank, shape (ranks,)."""
    host = np.asarray(host_of_rank, dtype=np.int32)
    return {name: column[host] for name, column in network.coordinates.items()}
