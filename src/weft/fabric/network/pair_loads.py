# SPDX-License-Identifier: BSD-3-Clause
"""Loads of messages that pairs of nodes exchange at the same time."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import walk
from weft.fabric.network.graph import Ints, Network

USUAL = 0.3  # a rate that fewer of the links between two levels have is one cable's fault, not how the machine is built


def name_link(network: Network, link: int) -> str:
    """A directed link by its two ends, ``leaf3 -> spine1``; with its port if several cables join the two."""
    links = network.links
    source, target = links.source[link], links.target[link]
    parallel = int(((links.source == source) & (links.target == target)).sum()) > 1
    port = f":{links.source_port[link]}" if parallel else ""
    return f"{network.vertex_name(int(source))}{port} -> {network.vertex_name(int(target))}"


def name_cable(network: Network, cable: int) -> str:
    """A cable by its two ends, the lower one first: ``leaf3 - spine1``."""
    return name_link(network, 2 * cable).replace(" -> ", " - ")


def both_ways(pairs: Ints, network: Network, hosts: Ints) -> Ints:
    """Routes from the first to the second of each pair, then the ways back; shape (2 * pairs, links), -1 as padding."""
    source = hosts[np.concatenate([pairs[:, 0], pairs[:, 1]])]
    target = hosts[np.concatenate([pairs[:, 1], pairs[:, 0]])]
    return walk(network, source, target)


def limiting_loads(pairs: Ints, network: Network, hosts: Ints) -> NDArray[np.float64]:
    """The largest number of messages on a link that each message of a round crosses, per usual rate of such links.

    A cable that is stated to be slow is slow: it does not count as narrow.

    `pairs`: node indices, shape (pairs, 2); both directions carry a message. `network`, `hosts`: the network, and the
    host index of each node. Returns shape (2 * pairs,): the way from the first to the second of each pair, then the
    ways back. Links without a stated rate count as the fastest.
    """
    return loads_of(both_ways(pairs, network, hosts), network)


def loads_of(routes: Ints, network: Network) -> NDArray[np.float64]:
    """The same for routes that are known."""
    share = _shares(network)
    load = np.bincount(routes[routes >= 0], minlength=len(share)) * share
    return np.where(routes >= 0, load[routes], 0.0).max(axis=1, initial=0.0)


def needed_shares(routes: Ints, network: Network) -> NDArray[np.float64]:
    """The share of each link's usual rate that a message needs to be as fast as the slower of its two nodes' links.

    At most 1, and 0 for padding; of the shape of ``routes``.
    """
    share = np.append(_shares(network), 0)
    ends = np.append((network.links.source < len(network.hosts)) | (network.links.target < len(network.hosts)), False)
    node = np.where(ends[routes], share[routes], 0.0).max(axis=1, keepdims=True, initial=1.0)
    return np.minimum(share[routes] / node, 1.0)


@lru_cache(maxsize=2)
def _shares(network: Network) -> NDArray[np.float64]:
    """The fastest rate over the usual rate of each link, shape (links,)."""
    rate = usual_rates(network)
    fastest = float(np.nanmax(rate)) if np.isfinite(rate).any() else 1.0
    return fastest / np.where(np.isfinite(rate), rate, fastest)


def usual_rates(network: Network) -> NDArray[np.float64]:
    """Rate of each link, shape (links,), bytes per second; the most common one of its levels where its own is rare."""
    level = np.concatenate([np.zeros(len(network.hosts), int), [switch.level for switch in network.switches]])
    links = network.links
    found = links.rate.copy()
    kinds = np.unique(np.stack([level[links.source], level[links.target]]), axis=1, return_inverse=True)[1].ravel()
    for kind in range(int(kinds.max(initial=-1)) + 1):
        own = np.flatnonzero(kinds == kind)
        values, which, counts = np.unique(links.rate[own], return_inverse=True, return_counts=True)
        rare = counts < USUAL * len(own)
        found[own[rare[which]]] = values[counts.argmax()]
    return found
