# SPDX-License-Identifier: BSD-3-Clause
"""Loads of messages that pairs of nodes exchange at the same time."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import walk
from weft.fabric.network.graph import Ints, Network, vertex_levels

USUAL = 0.3  # a rate that fewer of the links between two levels have is one cable's fault, not how the machine is built


def name_link(network: Network, link: int) -> str:
    """A directed link by its two ends, ``leaf3 -> spine1``; with its port if several cables join the two."""
    links = network.links
    port = f":{links.source_port[link]}" if _parallel(network)[link] else ""
    return f"{network.vertex_name(int(links.source[link]))}{port} -> {network.vertex_name(int(links.target[link]))}"


@lru_cache(maxsize=2)
def _parallel(network: Network) -> NDArray[np.bool_]:
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


def loads_of(routes: Ints, network: Network, of: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """The largest number of messages on a link that each message crosses, per usual rate of such links.

    A cable that is stated to be slow is slow: it does not count as narrow. Links without a stated rate count as the
    fastest. `routes`: as of `both_ways`; `of`: the round of each message, by default one for all. Shape (messages,).
    """
    share = np.append(_shares(network), 0)
    place = _places(routes, network, of)
    return (np.bincount(place.ravel())[place] * share[routes]).max(axis=1, initial=0.0)


def filled_shares(routes: Ints, network: Network, of: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of each link's usual rate that the messages of a round (``of`` each) need together; 0 for padding."""
    place = _places(routes, network, of)
    return np.bincount(place.ravel(), needed_shares(routes, network).ravel())[place].astype(np.float64)


def _places(routes: Ints, network: Network, of: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """A number for each link of each round; padding has its own."""
    count = len(network.links) + 1
    return (0 if of is None else count * of[:, np.newaxis]) + np.where(routes < 0, count - 1, routes).astype(np.int64)


def needed_shares(routes: Ints, network: Network) -> NDArray[np.float64]:
    """The share of each link's usual rate that a message needs to be as fast as its nodes' own links; 0 for padding."""
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
    level, links = vertex_levels(network), network.links
    found = links.rate.copy()
    kinds = np.unique(np.stack([level[links.source], level[links.target]]), axis=1, return_inverse=True)[1].ravel()
    for kind in range(int(kinds.max(initial=-1)) + 1):
        own = np.flatnonzero(kinds == kind)
        values, which, counts = np.unique(links.rate[own], return_inverse=True, return_counts=True)
        rare = counts < USUAL * len(own)
        found[own[rare[which]]] = values[counts.argmax()]
    return found
