# SPDX-License-Identifier: BSD-3-Clause
"""Load of every link under a traffic pattern, computed exactly from the routes, and names of links.

In a tree the uplinks of a host or switch count as one link, so ``link leaf0 up`` needs no name of a spine; ``link
node2 down`` is the traffic that arrives at a host.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from weft.fabric.hops import walk
from weft.fabric.network.graph import Bools, Floats, Ints, Longs, Network, vertex_levels
from weft.fabric.network.minimal import LARGE
from weft.files.shipped import LENT

UP, DOWN = "up", "down"
#: Traffic that leaves a pod is summed over its spines, which generators call pod0-spine3.
POD_SPINE = re.compile(r"(pod\d+)-spine\d*")


def link_name(lower: str, direction: str) -> str:
    """``link leaf0 up``; the spines of a pod count as their pod."""
    pod = POD_SPINE.fullmatch(lower)
    return f"link {pod[1] if pod else lower} {direction}"


def depths(hosts: Iterable[str], links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Distance of each end from the nearest host, in links: 0 for a host, 1 for a leaf."""
    beside = defaultdict[str, list[str]](list)
    for one, other in links:
        beside[one].append(other)
        beside[other].append(one)
    found = {host: 0 for host in hosts if host in beside}
    queue = deque(found)
    while queue:
        here = queue.popleft()
        for there in beside[here]:
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


COLUMNS = 256  # destinations at a time: limits the work space to a few tens of MB on ten thousand hosts


def all_to_all_loads(network: Network, weights: NDArray[np.integer] | None = None) -> Longs:
    """Units over each link, shape (links,), when every host sends to every other; FabricError where there is no route.
    The routes to one destination form a tree. Traffic is pushed along it from the leaves and summed where branches
    meet: O(hosts x switches) instead of O(hosts squared x hops). `weights`: shape (hosts,), 1 each if None: host a
    sends ``weights[a] * weights[b]`` to host b, as ranks on a host do.
    """
    count = len(network.hosts)
    weight = np.ones(count, dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    taking, load = np.flatnonzero(weight), np.zeros(len(network.links), dtype=np.int64)
    if len(taking) < 2:
        return load
    loose = taking[network.leaf[taking] < 0]
    if loose.size:
        raise network.no_route(int(loose[0]), int(taking[0] if taking[0] != loose[0] else taking[1]))
    lent = LENT.get("all-to-all loads") if count >= LARGE else None
    if lent and (found := lent(network, weight)) is not None:
        return found
    load[network.uplink[taking]] = weight[taking] * (int(weight.sum()) - weight[taking])
    below = np.zeros(len(network.switches), dtype=np.int64)
    np.add.at(below, network.leaf[taking], weight[taking])
    for start in range(0, len(taking), COLUMNS):
        load += _push(network, taking[start : start + COLUMNS].astype(np.int32), weight, below)
    return load


def _push(network: Network, ends: Ints, weight: Longs, below: Longs) -> Longs:
    """Loads of the traffic to these destinations, shape (links,); ``below``: weight below each switch (switches,)."""
    hosts, switches, width = len(network.hosts), len(network.switches), len(ends)
    # float64 sums in bincount are exact up to 2^53 units, far beyond any host count squared.
    load, flow = np.zeros(len(network.links)), np.outer(below, weight[ends])
    flow[network.leaf[ends], np.arange(width)] -= weight[ends] ** 2
    flow = flow.ravel()
    where = np.flatnonzero(flow)
    at, column, amount = where // width, where % width, flow[where].astype(np.int64)
    for _ in range(switches + 1):
        if not at.size:
            return load.astype(np.int64)
        link = network.forward[at, ends[column]]
        vertex = np.where(link >= 0, network.links.target[link], -1)
        lost = (vertex < hosts) & (vertex != ends[column])
        if lost.any():
            end = int(ends[column[lost][0]])
            raise network.no_route(_start(network, int(at[lost][0]), end), end)
        load += np.bincount(link, weights=amount, minlength=len(load))
        on = vertex >= hosts
        merged = np.bincount((vertex[on] - hosts) * width + column[on], weights=amount[on], minlength=switches * width)
        where = np.flatnonzero(merged)
        at, column, amount = where // width, where % width, merged[where].astype(np.int64)
    raise network.no_route(_start(network, int(at[0]), int(ends[column[0]])), int(ends[column[0]]), circle=True)


def _start(network: Network, switch: int, end: int) -> int:
    """A host whose messages to ``end`` pass a switch, for an error message."""
    passing = np.flatnonzero(network.leaf == switch)
    others = passing[passing != end]
    return int(others[0]) if others.size else int(end == 0)


def pair_loads(network: Network, sources: Ints, targets: Ints, amounts: NDArray[np.floating]) -> Floats:
    """Bytes over each link, shape (links,), of messages between hosts by index, all of shape (messages,)."""
    routes = walk(network, sources, targets)
    used = routes >= 0
    repeated = np.broadcast_to(np.asarray(amounts, dtype=np.float64)[:, np.newaxis], routes.shape)
    return np.bincount(routes[used], weights=repeated[used], minlength=len(network.links)).astype(np.float64)


def relative_times(network: Network, loads: Longs) -> Floats:
    """Time of each link over that of the slowest host's own link, (links,); unknown rates count as equally fast."""
    rate = network.links.rate if bool(np.isfinite(network.links.rate).all()) else np.ones(len(loads))
    own = network.uplink[network.uplink >= 0]
    if len(network.hosts) < 2 or not len(own):
        return np.zeros(len(loads))
    return loads / rate / ((len(network.hosts) - 1) / float(rate[own].min()))


class Hottest:
    """The slowest link of an all-to-all of all hosts, by time (load over rate); loads as from `all_to_all_loads`."""

    def __init__(self, network: Network, loads: Longs) -> None:
        times = relative_times(network, loads)
        # Of equally slow links, name one between switches: it is shared, a host's own link is not.
        slowest = np.flatnonzero(times >= times.max() * (1 - 1e-12))
        shared = slowest[network.switch_links[slowest]]
        self.link = int(shared[0] if shared.size else slowest[0])
        self.name, self.load = network.link_name(self.link), int(loads[self.link])  # in what a host sends to another
        self.relative = float(times[self.link])  # over that of the slowest host's own link: 2 = half the adapters' rate
        known, rate = bool(np.isfinite(network.links.rate).all()), float(network.links.rate[self.link])
        # bytes per second that each host then sends; nan if no rate is known
        self.rate_per_host = (len(network.hosts) - 1) * rate / self.load if known and self.load > 0 else float("nan")


USUAL = 0.3  # a rate that fewer of the links between two levels have is one cable's fault, not how the machine is built


def name_link(network: Network, link: int) -> str:
    """A directed link by its two ends, ``leaf3 -> spine1``; with its port if several cables join the two."""
    links = network.links
    port = f":{links.source_port[link]}" if _parallel(network)[link] else ""
    return f"{network.vertex_name(int(links.source[link]))}{port} -> {network.vertex_name(int(links.target[link]))}"


@lru_cache(maxsize=2)
def _parallel(network: Network) -> Bools:
    """Whether each link is one of several between two vertices, shape (links,)."""
    vertices = len(network.hosts) + len(network.switches)
    _, which, counts = np.unique(
        network.links.source.astype(np.int64) * vertices + network.links.target, return_inverse=True, return_counts=True
    )
    return counts[which] > 1


def name_cable(network: Network, cable: int) -> str:
    """A cable by its two ends, the lower one first: ``leaf3 - spine1``."""
    return name_link(network, 2 * cable).replace(" -> ", " - ")


def both_ways(pairs: Ints, network: Network, hosts: Ints) -> Ints:
    """Routes from the first to the second of each pair, then the ways back; shape (2 * pairs, links), -1 as padding."""
    there, back = hosts[pairs].T
    return walk(network, np.concatenate([there, back]), np.concatenate([back, there]))


def loads_of(routes: Ints, network: Network, of: Longs | None = None) -> Floats:
    """The largest number of messages on a link that each message crosses, per usual rate of such links. A cable that is
    stated to be slow is slow: it does not count as narrow. Links without a stated rate count as the fastest. `routes`:
    as of `both_ways`; `of`: the round of each message, by default one for all. Shape (messages,).
    """
    share = np.append(_shares(network), 0)
    place = _places(routes, network, of)
    return (np.bincount(place.ravel())[place] * share[routes]).max(axis=1, initial=0.0)


def filled_shares(routes: Ints, network: Network, of: Longs) -> Floats:
    """The share of each link's usual rate that the messages of a round (``of`` each) need together; 0 for padding."""
    place = _places(routes, network, of)
    return np.bincount(place.ravel(), needed_shares(routes, network).ravel())[place].astype(np.float64)


def _places(routes: Ints, network: Network, of: Longs | None) -> Longs:
    count = len(network.links) + 1
    return (0 if of is None else count * of[:, np.newaxis]) + np.where(routes < 0, count - 1, routes).astype(np.int64)


def needed_shares(routes: Ints, network: Network) -> Floats:
    """The share of each link's usual rate that a message needs to be as fast as its nodes' own links; 0 for padding."""
    share = np.append(_shares(network), 0)
    ends = np.append((network.links.source < len(network.hosts)) | (network.links.target < len(network.hosts)), False)
    node = np.where(ends[routes], share[routes], 0.0).max(axis=1, keepdims=True, initial=1.0)
    return np.minimum(share[routes] / node, 1.0)


@lru_cache(maxsize=2)
def _shares(network: Network) -> Floats:
    """The fastest rate over each link's usual one, (links,): the most common of its levels where its own is rare."""
    level, links = vertex_levels(network), network.links
    usual = links.rate.copy()
    kinds = np.unique(np.stack([level[links.source], level[links.target]]), axis=1, return_inverse=True)[1].ravel()
    for kind in range(int(kinds.max(initial=-1)) + 1):
        own = np.flatnonzero(kinds == kind)
        values, which, counts = np.unique(links.rate[own], return_inverse=True, return_counts=True)
        rare = counts < USUAL * len(own)
        usual[own[rare[which]]] = values[counts.argmax()]
    fastest = float(np.nanmax(usual)) if np.isfinite(usual).any() else 1.0
    return fastest / np.where(np.isfinite(usual), usual, fastest)
