# SPDX-License-Identifier: BSD-3-Clause
"""Loads of messages that pairs of nodes exchange at the same time."""

import numpy as np
from numpy.typing import NDArray

from weft.fabric.network.follow import walk
from weft.fabric.network.graph import Ints, Network


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
    """The largest number of messages on a link that each message of a round crosses, per link rate.

    `pairs`: node indices, shape (pairs, 2); both directions carry a message. `network`, `hosts`: the network, and the
    host index of each node. Returns shape (2 * pairs,): the way from the first to the second of each pair, then the
    ways back. Links without a stated rate count as the fastest.
    """
    routes = both_ways(pairs, network, hosts)
    rate = network.links.rate
    fastest = float(np.nanmax(rate)) if np.isfinite(rate).any() else 1.0
    share = fastest / np.where(np.isfinite(rate), rate, fastest)
    load = np.bincount(routes[routes >= 0], minlength=len(rate)) * share
    return np.where(routes >= 0, load[routes], 0.0).max(axis=1, initial=0.0)
