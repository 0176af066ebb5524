# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of a network, around leaves, pods, groups, halves of a torus: the rate of their cables bounds any routing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.fabric.loads import UP, link_name
from weft.fabric.network.graph import Network, directions, islands


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

    def per_switch(chosen: NDArray[np.bool_], values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        weights = None if values is None else values[chosen]
        return np.bincount(links.source[chosen] - hosts, weights, count).astype(float)

    # Up is what a switch sends up; down is what arrives from below, so use the rate of the cable's other direction.
    up, down = at_switch & (way > 0), at_switch & (way < 0)
    arriving = links.rate[np.arange(len(links)) ^ 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = per_switch(down, arriving) / per_switch(up, links.rate)
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
    """All cuts of parts that have hosts and cables of known rate out of them."""
    around = _Around(network)
    return tuple(cut for name, inside in _parts(network) if (cut := around.cut(name, inside)).hosts and cut.rate > 0)


class _Around:
    """The cables of a network by the switch they leave: a part's are found by its own switches alone."""

    def __init__(self, network: Network) -> None:
        first, self.rate = len(network.hosts), network.links.rate
        # the hosts of a part lie inside, so their own cables do not leave it
        place = np.append(network.leaf, np.arange(len(network.switches)))
        source, self.target = place[network.links.source], place[network.links.target]
        self.order = np.argsort(source, kind="stable")
        bounds = np.arange(len(network.switches) + 1)
        self.first = np.searchsorted(source[self.order], bounds).tolist()
        self.hosts = [network.hosts_below.get(switch, np.empty(0, np.int32)) for switch in range(len(place) - first)]

    def cut(self, name: str, inside: NDArray[np.bool_]) -> Cut:
        """The cut around the switches for which ``inside`` is true, and their hosts."""
        own = np.flatnonzero(inside).tolist()
        near = np.concatenate([self.order[self.first[switch] : self.first[switch + 1]] for switch in own])
        cables = np.sort(near[~np.append(inside, False)[self.target[near]]])
        ways = self.rate[cables], self.rate[cables ^ 1]
        rate, rate_in = (float(way.sum()) if np.isfinite(way).all() else 0.0 for way in ways)
        rates = tuple(zip(*(way.tolist() for way in ways), strict=True))
        hosts = frozenset(np.concatenate([self.hosts[switch] for switch in own]).tolist())
        return Cut(name, hosts, rate, rate_in, rates)


def _parts(network: Network) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    numbers = np.arange(len(network.switches))
    for leaf in network.hosts_below:
        yield link_name(network.switches[leaf].name, UP), numbers == leaf
    if network.topology == "dragonfly":
        groups = [switch.name.partition("-")[0] for switch in network.switches]
        for group in dict.fromkeys(groups):
            yield f"link {group} out", np.array([name == group for name in groups])
    elif network.topology == "torus":
        yield from _halves(network)
    else:
        yield from _pods(network)


def _halves(network: Network) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    places = np.array([[int(word) for word in switch.name.split("-")[1:]] for switch in network.switches])
    for axis, name in zip(range(places.shape[1]), "xyzuvw", strict=False):
        size = int(places[:, axis].max()) + 1
        for start in range(size if size > 2 else size // 2):
            chosen = (places[:, axis] - start) % size < size // 2
            yield f"link {name} {start}-{(start + size // 2 - 1) % size} out", chosen


def _pods(network: Network) -> Iterator[tuple[str, NDArray[np.bool_]]]:
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
