# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a fabric that ``weft fabric show`` prints.

Bisection bandwidth: hosts are sorted by a coordinate (the fabric's own order, then x, y, z of a torus) and split in
the middle; the bandwidth of a split is the maximum flow from one half to the other over all links, host links
included. The bisection is the smallest over these splits: an upper limit of that over all splits, which is NP-hard to
find, and the same for trees with equal leaves and for tori. Routes may achieve less (see `weft.fabric.loads`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.fabric.cuts import Level, levels
from weft.fabric.hops import HopClass, hop_classes
from weft.fabric.loads import Hottest, all_to_all_loads, hottest
from weft.fabric.network.graph import Network


@dataclass(frozen=True)
class Bisection:
    """Result of `bisection`."""

    rate: float  # bytes per second from one half into the other; nan if a rate is unknown
    full: float  # bytes per second that the adapters of one half can send
    split: str  # the coordinate along which the split has the smallest rate

    @property
    def share(self) -> float:
        """Share of full bisection, 0 to 1."""
        return self.rate / self.full if self.full else 1.0


def bisection(network: Network) -> Bisection:
    """Bisection bandwidth of a network."""
    hosts = len(network.hosts)
    rate = network.links.rate
    if hosts < 2 or not np.isfinite(rate).all():
        unknown = float("nan") if hosts > 1 else 0.0
        return Bisection(unknown, unknown, "hosts")
    along = {name: column for name, column in network.coordinates.items() if name not in ("leaf", "pod")}
    orders = {"hosts": np.arange(hosts)} | {name: np.argsort(each, kind="stable") for name, each in along.items()}
    own = np.where(network.uplink >= 0, rate[network.uplink] if len(rate) else 0.0, 0.0)
    found: list[Bisection] = []
    for name, order in orders.items():
        half = np.zeros(hosts, dtype=bool)
        half[order[: hosts // 2]] = True
        found.append(Bisection(_cut(network, half), float(min(own[half].sum(), own[~half].sum())), name))
    return min(found, key=lambda b: b.rate)


def _cut(network: Network, half: NDArray[np.bool_]) -> float:
    """Maximum flow from the hosts in ``half`` to all others."""
    hosts, source, sink = len(network.hosts), len(network.switches), len(network.switches) + 1
    left: list[dict[int, float]] = [{} for _ in range(sink + 1)]
    links = network.links
    for a, b, rate in zip(links.source.tolist(), links.target.tolist(), links.rate.tolist(), strict=True):
        # Hosts are merged into source and sink, so only switches remain in the graph.
        tail = a - hosts if a >= hosts else (source if half[a] else None)
        head = b - hosts if b >= hosts else (None if half[b] else sink)
        if tail is not None and head is not None and tail != head:
            left[tail][head] = left[tail].get(head, 0.0) + rate
            left[head].setdefault(tail, 0.0)
    return _most_flow(left, source, sink)


def _most_flow(left: list[dict[int, float]], source: int, sink: int) -> float:
    """Maximum flow by Dinic's algorithm, of the capacity from each vertex to others; thousands take under a second."""
    total = 0.0
    negligible = 1e-9 * max((room for out in left for room in out.values()), default=0.0)  # residues of rounding
    while True:
        depth = _depths(left, source, negligible)
        if depth[sink] < 0:
            return total
        heads, path = [list(out)[::-1] for out in left], [source]  # paths on a torus are long: no recursion
        while path:
            at = path[-1]
            if at == sink:
                sent = min(left[tail][head] for tail, head in pairwise(path))
                for tail, head in pairwise(path):
                    left[tail][head] -= sent
                    left[head][tail] += sent
                total += sent
                path = [source]
            elif not heads[at]:
                path.pop()
                if path:
                    heads[path[-1]].pop()
            elif left[at][heads[at][-1]] > negligible and depth[heads[at][-1]] == depth[at] + 1:
                path.append(heads[at][-1])
            else:
                heads[at].pop()


def _depths(left: list[dict[int, float]], source: int, negligible: float) -> list[int]:
    depth, queue = [-1] * len(left), [source]
    depth[source] = 0
    for at in queue:  # grows
        for to, room in left[at].items():
            if depth[to] < 0 and room > negligible:
                depth[to] = depth[at] + 1
                queue.append(to)
    return depth


@dataclass(frozen=True, eq=False)
class Summary:
    """Numbers of a network."""

    network: Network
    levels: tuple[Level, ...]
    bisection: Bisection
    classes: tuple[HopClass, ...]  # of all pairs of ranks
    ranks_per_socket: tuple[int, ...]  # of a host, as counted in ``classes``
    loads: NDArray[np.int64]  # units over each link in an all-to-all of all hosts, shape (links,)
    hottest: Hottest | None  # its slowest link; None with fewer than two hosts, or if cables are not known

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of hosts, switches and cables."""
        network = self.network
        return {"hosts": len(network.hosts), "switches": len(network.switches), "cables": len(network.links) // 2}

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-fabric/1``); rates in bytes per second, null where unknown."""
        hot = self.hottest
        return {
            "schema": "weft-fabric/1",
            "topology": self.network.topology,
            "routing": self.network.routing,
            **self.counts,
            "levels": [
                {
                    "level": level.level,
                    "switches": level.switches,
                    "without_hosts": level.without_hosts,
                    "cables_down": level.down,
                    "cables_up": level.up,
                    "oversubscription": {
                        "least": _number(level.least),
                        "median": _number(level.typical),
                        "most": _number(level.most),
                        "worst": level.worst or None,
                    },
                }
                for level in self.levels
            ],
            "bisection": {"rate": _number(self.bisection.rate), "full": _number(self.bisection.full)},
            "ranks_per_socket": list(self.ranks_per_socket),
            "hop_classes": [asdict(each) for each in self.classes],
            "all_to_all": None
            if hot is None
            else {
                "link": hot.name,
                "load": hot.load,
                "relative": _number(hot.relative),
                "rate_per_host": _number(hot.rate_per_host),
            },
        }


def summarise(network: Network, ranks_per_socket: Sequence[int] = (1,)) -> Summary:
    """Compute the numbers of a network. Raises FabricError: two hosts have no route."""
    loads = all_to_all_loads(network)
    return Summary(
        network=network,
        levels=levels(network),
        bisection=bisection(network),
        classes=hop_classes(network, ranks_per_socket),
        ranks_per_socket=tuple(ranks_per_socket),
        loads=loads,
        hottest=hottest(network, loads) if len(network.hosts) > 1 and network.cables_known else None,
    )


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
