# SPDX-License-Identifier: BSD-3-Clause
"""Minimal routes over any graph of switches, spread by destination: for dumps without tables.

For each destination in turn every switch, the farthest first, takes the cheapest path among the links that lead one
hop nearer. A link costs (load / rate)^8, by an all-to-all's load so far. Real tables may be worse.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.graph import Floats, Ints, Links, Network
from weft.files.shipped import LENT

FAR = np.iinfo(np.int32).max
STEEPNESS = 8
NATIVE = "minimal tables"
LARGE = 500  # hosts from which on the native library makes the tables, twenty times as fast


def minimal_tables(hosts: int, switches: int, links: Links) -> Ints:
    """Forwarding tables of a graph, shape (switches, hosts); -1 where a switch cannot reach a host."""
    lent = LENT.get(NATIVE) if hosts >= LARGE else None
    if lent and (found := lent(hosts, switches, links)) is not None:
        return found
    out, peer = ports_by_switch(hosts, switches, links)
    leaf, delivery, injected = _attachments(hosts, switches, links)
    known = np.isfinite(links.rate).all() and len(links) > 0
    slowness = np.append(float(links.rate.max()) / links.rate if known else np.ones(len(links)), 1.0)
    # One unit of cost: the fabric's traffic spread evenly over the links between its switches.
    unit = max(1.0, float(injected.sum()) ** 2 / max(1, int((out >= 0).sum())))
    target = np.append(np.maximum(links.target - hosts, 0), 0)
    load = np.zeros(len(links) + 1)  # the last one means "no link"
    price = np.full(len(links) + 1, 1e-3**STEEPNESS)  # cost of a link at its present load
    forward = np.full((switches, hosts), -1, dtype=np.int32)
    for home in np.unique(leaf[leaf >= 0]).tolist():
        near = EqualCost(home, out, peer)
        for host in np.flatnonzero(leaf == home):
            flow, ahead, column = injected.copy(), np.zeros(len(out)), forward[:, host]
            for ring in near.rings[::-1]:  # the nearest first: what a switch chooses changes no price of those nearer
                ways = np.where(near.nearer[ring], price[out[ring]] + ahead[peer[ring]], np.inf)
                column[ring] = out[ring, ways.argmin(axis=1)]
                ahead[ring] = ways.min(axis=1)
            for ring in near.rings:
                link = column[ring]  # each occurs once
                load[link] += flow[ring]
                second = (1e-3 + load[link] * slowness[link] / unit) ** 2
                fourth = second * second  # as native/route/minimal.cpp multiplies, so that ties are the same
                price[link] = fourth * fourth
                np.add.at(flow, target[link], flow[ring])
            forward[home, host] = delivery[host]
    return forward


class EqualCost:
    """The links from each switch that lead one hop nearer to a leaf switch: what equal-cost multi-path chooses from.
    `out`, `peer`: links between switches by their source and the switches at their ends, as of `ports_by_switch`.
    """

    def __init__(self, home: int, out: Ints, peer: Ints) -> None:
        self.home, self.out, distance = home, out, distances(home, out, peer)
        self.nearer = (out >= 0) & (distance[peer] < distance[:, np.newaxis])  # which links lead nearer, same shape
        far = np.unique(distance[(distance > 0) & (distance < FAR)])[::-1]
        # switches by their distance, the farthest first, those beside the leaf last
        self.rings: list[Ints] = [np.flatnonzero(distance == ring).astype(np.int32) for ring in far]

    def ways(self, switches: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Switches with equally many links that lead nearer: their indices, and the links, shape (switches, ways)."""
        count = self.nearer[switches].sum(axis=1)
        for ways in np.unique(count[count > 0]).tolist():
            rows = switches[count == ways]
            yield rows, self.out[rows][self.nearer[rows]].reshape(len(rows), ways)


def equal_cost(network: Network) -> Iterator[EqualCost]:
    """The shortest ways to each leaf switch with hosts, in order."""
    out, peer = ports_by_switch(len(network.hosts), len(network.switches), network.links)
    return (EqualCost(home, out, peer) for home in network.hosts_below)


def equal_cost_ways(network: Network) -> list[list[list[int]]]:
    """The same as links from each switch to each host, in order of ports; none where there is no way."""
    delivery = _attachments(len(network.hosts), len(network.switches), network.links)[1]
    ways: list[list[list[int]]] = [[[] for _ in network.hosts] for _ in network.switches]
    for near in equal_cost(network):
        links = [row[chosen].tolist() for row, chosen in zip(near.out, near.nearer, strict=True)]
        for host in network.hosts_below[near.home].tolist():
            for switch, own in enumerate(links):
                ways[switch][host] = own
            ways[near.home][host] = [int(delivery[host])]
    return ways


def has_several_ways(network: Network) -> bool:
    """Whether a switch has more than one shortest way to some host."""
    return any(bool((near.nearer.sum(axis=1) > 1).any()) for near in equal_cost(network))


def ports_by_switch(hosts: int, switches: int, links: Links) -> tuple[Ints, Ints]:
    """Links from switch to switch, shape (switches, most links): link index (-1 = none), target switch (0 = none)."""
    between = np.flatnonzero((links.source >= hosts) & (links.target >= hosts) & (links.source != links.target))
    between = between[np.lexsort((links.source_port[between], links.source[between]))]
    source = links.source[between] - hosts
    degree = np.bincount(source, minlength=switches)
    place = np.arange(len(between)) - np.repeat(np.cumsum(degree) - degree, degree)
    out = np.full((switches, max(1, int(degree.max(initial=0)))), -1, dtype=np.int32)
    out[source, place] = between
    peer = np.zeros_like(out)
    peer[source, place] = links.target[between] - hosts
    return out, peer


def _attachments(hosts: int, switches: int, links: Links) -> tuple[Ints, Ints, Floats]:
    """Each host's switch, and the link to the host (-1 = none), shape (hosts,); hosts on each switch, (switches,)."""
    leaf, delivery = np.full(hosts, -1, dtype=np.int32), np.full(hosts, -1, dtype=np.int32)
    last = np.flatnonzero((links.source >= hosts) & (links.target < hosts))
    last = last[np.argsort(links.target_port[last], kind="stable")[::-1]]  # the lowest port is written last and wins
    leaf[links.target[last]] = links.source[last] - hosts
    delivery[links.target[last]] = last
    return leaf, delivery, np.bincount(leaf[leaf >= 0], minlength=switches).astype(np.float64)


def distances(home: int | Ints, out: Ints, peer: Ints) -> Ints:
    """Hops between each switch and ``home``, or the nearest of several, shape (switches,); `FAR` without a path."""
    distance = np.full(len(peer), FAR, dtype=np.int32)
    distance[home] = 0
    while True:
        beside = np.where(out >= 0, distance[peer], FAR).min(axis=1)
        nearer = np.where(beside < FAR, beside + 1, FAR)
        if (nearer >= distance).all():
            return distance
        distance = np.minimum(distance, nearer)


def distances_between(chosen: Ints, out: Ints, peer: Ints) -> NDArray[np.int16]:
    """Hops between each two of some switches, shape (chosen, chosen); -1 if there is no path."""
    far = np.iinfo(np.int16).max - 1
    found = np.full((len(peer), len(chosen)), far, dtype=np.int16)
    found[chosen, np.arange(len(chosen))] = 0
    while True:
        nearer = found.copy()
        for port in range(out.shape[1]):
            rows = np.flatnonzero(out[:, port] >= 0)
            nearer[rows] = np.minimum(nearer[rows], found[peer[rows, port]] + 1)
        if (nearer == found).all():
            return np.where(found < far, found, -1)[chosen]
        found = nearer
