# SPDX-License-Identifier: BSD-3-Clause
"""D-mod-k: routes by the number of the destination, for any tree, complete or degraded.

Towards host d a leaf takes its spine number d mod k, that spine its core number (d div k) mod k', and so on (E.
Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees", 2010).
Where that does not lead there, destinations are spread over the others, so that next to a failed cable no link carries
twice what it did. On complete trees no two flows of a shift share a link.
"""

from collections import defaultdict

import numpy as np

from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import ports_by_switch
from weft.route.library import Ints, Longs
from weft.route.routes import Routes

LABEL = "d-mod-k, made by Weft"


def d_mod_k(routes: Routes) -> Routes:
    """The same network with d-mod-k tables; on graphs that are not trees, minimal routes spread by destination."""
    network = routes.network
    hosts, count = len(network.hosts), len(network.switches)
    number, most = _numbers(network, *ports_by_switch(hosts, count, network.links))
    source, target = (np.maximum(ends - hosts, 0) for ends in (network.links.source, network.links.target))
    stride = _strides(network.level, most)
    rank = np.empty(hosts, dtype=np.int64)
    rank[np.argsort(network.leaf, kind="stable")] = np.arange(hosts)
    forward = np.full((count, hosts), -1, dtype=np.int32)
    columns = (network.links.source_port, network.level, number[source, target], most, stride, rank)
    routes.library.call("d_mod_k", routes.graph, *map(np.ascontiguousarray, columns), forward)
    return routes.with_network(network.with_tables(forward, LABEL))


def _numbers(network: Network, out: Ints, peer: Ints) -> tuple[Longs, Longs]:
    """Number of each switch among its siblings, shape (switches, switches), and how many each lower switch uses."""
    count, level = len(network.switches), network.level.tolist()
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


def _strides(level: Ints, most: Longs) -> Longs:
    """Count of consecutive destinations that a switch sends over one link, shape (switches,): 1 on leaves."""
    stride = np.ones(len(level), dtype=np.int64)
    for height in range(2, int(level.max(initial=1)) + 1):
        lower = level == height - 1
        typical = int(np.median(most[lower])) if lower.any() else 1
        base = int(stride[lower].max(initial=1))
        stride[level == height] = base * max(1, typical)
    return stride
