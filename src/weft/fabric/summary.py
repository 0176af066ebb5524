# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a fabric that ``weft fabric show`` prints, and the cuts of its network, which bound any routing.

Bisection bandwidth: hosts are sorted by a coordinate (the fabric's own order, then x, y, z of a torus) and split in
the middle; the bandwidth of a split is the maximum flow from one half to the other over all links, host links
included. The bisection is the smallest over these splits: an upper limit of that over all splits, which is NP-hard to
find, and the same for trees with equal leaves and for tori. Routes may achieve less (see `weft.fabric.loads`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from weft.fabric.hops import hop_classes
from weft.fabric.loads import UP, Hottest, all_to_all_loads, link_name
from weft.fabric.network.graph import Bools, Floats, Network, directions, islands


@dataclass(frozen=True)
class Level:
    """The switches of one level. Oversubscription: rate of a switch's cables down over that of its cables up."""

    level: int  # 1 = leaves
    switches: int
    without_hosts: int  # of them, on their own ports
    down: int  # cables to lower levels and hosts, over the whole level
    up: int  # cables to higher levels
    least: float  # oversubscription: smallest, median, largest; inf without uplinks, nan at the top or of unknown rates
    typical: float
    most: float
    worst: str  # name of the switch with the largest


def levels(network: Network) -> tuple[Level, ...]:
    """All levels of a network, leaves first. Switches without anything below them do not count as oversubscribed."""
    hosts, count = len(network.hosts), len(network.switches)
    way, links = directions(network), network.links
    at_switch, level = links.source >= hosts, network.level

    def per_switch(chosen: Bools, values: Floats | None = None) -> Floats:
        weights = None if values is None else values[chosen]
        return np.bincount(links.source[chosen] - hosts, weights, count).astype(float)

    # Up is what a switch sends up; down is what arrives from below, so use the rate of the cable's other direction.
    up, down = at_switch & (way > 0), at_switch & (way < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = per_switch(down, links.rate[np.arange(len(links)) ^ 1]) / per_switch(up, links.rate)
    own_hosts = per_switch(at_switch & (links.target < hosts))
    top = int(level.max(initial=0))
    found: list[Level] = []
    for number in range(1, top + 1):
        members = np.flatnonzero(level == number)
        used = members[per_switch(down)[members] > 0]
        ratios = ratio[used] if number < top else np.full(len(used), np.nan)
        known = ratios[~np.isnan(ratios)]
        worst = network.switches[int(used[np.nanargmax(ratios)])].name if known.size else ""
        least, typical, most = np.quantile(known, [0, 0.5, 1], method="nearest") if known.size else [np.nan] * 3
        bare = int((own_hosts[members] == 0).sum())
        below, above = (int(per_switch(way)[members].sum()) for way in (down, up))
        shares = (float(least), float(typical), float(most))
        found.append(Level(number, len(members), bare, below, above, *shares, worst))
    return tuple(found)


@dataclass(frozen=True)
class Cut:
    """A part of a network and the cables out of it."""

    name: str  # ``link leaf0 up``, ``link group3 out``, ``link x 0-3 out``
    hosts: frozenset[int]  # host indices in the part
    rate: float  # of all cables out of it, in bytes per second
    rate_in: float  # into it
    rates: tuple[tuple[float, float], ...]  # of each of these cables, out of it and into it


def cuts(network: Network) -> tuple[Cut, ...]:
    """All cuts of parts that have hosts and cables of known rate out of them, by the cables of their own switches."""
    rate, switches = network.links.rate, np.arange(len(network.switches))
    place = np.append(network.leaf, switches)  # the hosts of a part lie inside, so their own cables do not leave it
    source, target = place[network.links.source], place[network.links.target]
    order = np.argsort(source, kind="stable")
    leaving = np.split(order, np.searchsorted(source[order], switches))[1:]
    below = [network.hosts_below.get(switch, np.empty(0, np.int32)) for switch in switches.tolist()]
    found: list[Cut] = []
    for name, inside in _parts(network):
        own = np.flatnonzero(inside).tolist()
        near = np.concatenate([leaving[switch] for switch in own])
        cables = np.sort(near[~np.append(inside, False)[target[near]]])
        ways = rate[cables], rate[cables ^ 1]
        out, into = (float(way.sum()) if np.isfinite(way).all() else 0.0 for way in ways)
        hosts = frozenset[int](np.concatenate([below[switch] for switch in own]).tolist())
        if hosts and out > 0:
            found.append(Cut(name, hosts, out, into, tuple(zip(*(way.tolist() for way in ways), strict=True))))
    return tuple(found)


def _parts(network: Network) -> Iterator[tuple[str, Bools]]:
    numbers = np.arange(len(network.switches))
    for leaf in network.hosts_below:
        yield link_name(network.switches[leaf].name, UP), numbers == leaf
    if network.topology == "dragonfly":
        groups = [switch.name.partition("-")[0] for switch in network.switches]
        for group in dict.fromkeys(groups):
            yield f"link {group} out", np.array([name == group for name in groups])
    elif network.topology == "torus":
        places = np.array([[int(word) for word in switch.name.split("-")[1:]] for switch in network.switches])
        for column, name in zip(places.T, "xyzuvw", strict=False):
            size = int(column.max()) + 1
            for start in range(size if size > 2 else size // 2):
                end = (start + size // 2 - 1) % size
                yield f"link {name} {start}-{end} out", (column - start) % size < size // 2
    else:
        yield from _pods(network)


def _pods(network: Network) -> Iterator[tuple[str, Bools]]:
    """The parts of a tree that are connected only by the top level of switches."""
    level, first = network.level, len(network.hosts)
    top = int(level.max(initial=1))
    if top < 3:
        return
    cables = network.switch_links & (directions(network) != 0)
    a, b = network.links.source[cables] - first, network.links.target[cables] - first
    low = (level[a] < top) & (level[b] < top)
    part = islands(len(level), a[low], b[low])
    for number, root in enumerate(np.unique(part[level == 1])):
        yield f"link pod{number} up", (part == root) & (level < top)


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
        found.append(Bisection(_flow_from(network, half), float(min(own[half].sum(), own[~half].sum())), name))
    return min(found, key=lambda b: b.rate)


def _flow_from(network: Network, half: Bools) -> float:
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


class Summary:
    """Numbers of a network; FabricError where two hosts have no route."""

    def __init__(self, network: Network, ranks_per_socket: Sequence[int] = (1,)) -> None:
        self.network, self.ranks_per_socket = network, tuple(ranks_per_socket)
        self.loads = all_to_all_loads(network)  # units over each link in an all-to-all of all hosts, shape (links,)
        self.levels, self.bisection = levels(network), bisection(network)
        self.classes = hop_classes(network, self.ranks_per_socket)  # of all pairs of ranks
        # its slowest link; None with fewer than two hosts, or if cables are not known
        self.hottest = Hottest(network, self.loads) if len(network.hosts) > 1 and network.cables_known else None

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of hosts, switches and cables."""
        network = self.network
        return {"hosts": len(network.hosts), "switches": len(network.switches), "cables": len(network.links) // 2}

    def as_tree(self) -> dict[str, Any]:
        """The numbers for JSON (schema ``weft-fabric/1``); rates in bytes per second, null where unknown."""
        hot, busiest, rows = self.hottest, None, list[dict[str, Any]]()
        if hot is not None:
            times = {"relative": _number(hot.relative), "rate_per_host": _number(hot.rate_per_host)}
            busiest = {"link": hot.name, "load": hot.load, **times}
        for level in self.levels:
            *counts, least, median, most, worst = astuple(level)
            spread = {"least": _number(least), "median": _number(median), "most": _number(most), "worst": worst or None}
            columns = ("level", "switches", "without_hosts", "cables_down", "cables_up")
            rows.append(dict(zip(columns, counts, strict=True)) | {"oversubscription": spread})
        return {
            "schema": "weft-fabric/1",
            "topology": self.network.topology,
            "routing": self.network.routing,
            **self.counts,
            "levels": rows,
            "bisection": {"rate": _number(self.bisection.rate), "full": _number(self.bisection.full)},
            "ranks_per_socket": list(self.ranks_per_socket),
            "hop_classes": [asdict(each) for each in self.classes],
            "all_to_all": busiest,
        }


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
