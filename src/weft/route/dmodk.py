# SPDX-License-Identifier: BSD-3-Clause
"""D-mod-k: routes by the number of the destination, for any tree, complete or degraded.

Towards host d a leaf takes its spine number d mod k, that spine its core number (d div k) mod k', and so on (E.
Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees", 2010); the
next one where that does not lead there. On complete trees no two flows of a shift share a link.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network import Network
from weft.fabric.network.graph import Ints
from weft.fabric.network.minimal import distances, ports_by_switch

Longs = NDArray[np.int64]
LABEL = "d-mod-k, made by Weft"


def d_mod_k(network: Network) -> Network:
    """The network with d-mod-k tables; on graphs that are not trees, minimal routes spread by destination."""
    hosts, count = len(network.hosts), len(network.switches)
    out, peer = ports_by_switch(hosts, count, network.links)
    number, most = _numbers(network, out, peer)
    forward = np.full((count, hosts), -1, dtype=np.int32)
    level = np.array([s.level for s in network.switches], dtype=np.int64)
    stride = _strides(level, most)
    order = np.argsort(network.leaf, kind="stable")
    rank = np.empty(hosts, dtype=np.int64)
    rank[order] = np.arange(hosts)
    for home in np.unique(network.leaf[network.leaf >= 0]).tolist():
        near = distances(home, out, peer)
        nearer = (out >= 0) & (near[peer] < near[:, np.newaxis])
        rows = np.flatnonzero(nearer.any(axis=1))
        # The lower switch chooses among parallel cables by destination, the same cable up and down.
        ahead = peer[rows, nearer[rows].argmax(axis=1)]
        lower = np.where(level[ahead] < level[rows], ahead, rows)
        for end in np.flatnonzero(network.leaf == home).tolist():
            wanted = rank[end] // stride[rows] % most[rows]
            turn = rank[end] // (stride[lower] * most[lower])
            away = (number[rows[:, np.newaxis], peer[rows]] - wanted[:, np.newaxis]) % most[rows][:, np.newaxis]
            away = np.where(nearer[rows], away, np.iinfo(np.int64).max)
            same = away == away.min(axis=1)[:, np.newaxis]  # parallel cables to the chosen switch
            place = np.cumsum(same, axis=1) - 1
            chosen = (same & (place == (turn % same.sum(axis=1))[:, np.newaxis])).argmax(axis=1)
            forward[rows, end] = out[rows, chosen]
            forward[home, end] = network.uplink[end] ^ 1
    return network.with_tables(forward, LABEL)


def _numbers(network: Network, out: Ints, peer: Ints) -> tuple[Longs, Longs]:
    """Number of each switch among its siblings, shape (switches, switches), and how many each lower switch uses."""
    count = len(network.switches)
    level = [s.level for s in network.switches]
    above = [{p for p in peer[s][out[s] >= 0].tolist() if level[p] > level[s]} for s in range(count)]
    below: dict[int, list[int]] = defaultdict(list)
    for s, ups in enumerate(above):
        for up in ups:
            below[up].append(s)
    # Siblings: switches that share a switch below; a leaf that lost a cable still numbers all of them.
    number = np.zeros((count, count), dtype=np.int64)
    most = np.ones(count, dtype=np.int64)
    for s, ups in enumerate(above):
        brothers = sorted({up for near in ups for other in below[near] for up in above[other]})
        most[s] = max(1, len(brothers))
        number[s, brothers] = np.arange(len(brothers))
    return number, most


def _strides(level: Longs, most: Longs) -> Longs:
    """Count of consecutive destinations that a switch sends over one link, shape (switches,): 1 on leaves."""
    stride = np.ones(len(level), dtype=np.int64)
    for height in range(2, int(level.max(initial=1)) + 1):
        lower = level == height - 1
        typical = int(np.median(most[lower])) if lower.any() else 1
        base = int(stride[lower].max(initial=1))
        stride[level == height] = base * max(1, typical)
    return stride
