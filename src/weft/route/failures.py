# SPDX-License-Identifier: BSD-3-Clause
"""A network with failed links or switches."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.fabric.network import Network


def fail(network: Network, names: Sequence[str]) -> Network:
    """The network without some links or switches, and without the table entries that use them.

    Raises FabricError: No such link or switch.
    """
    gone = np.zeros(len(network.links), dtype=bool)
    for name in names:
        gone |= _named(network, name)
    return without(network, gone)


def fail_random(network: Network, count: int, seed: int) -> Network:
    """The network without ``count`` cables between switches, chosen at random.

    Raises FabricError: There are fewer cables.
    """
    cables = np.flatnonzero(network.switch_links[::2])
    if count > len(cables):
        raise FabricError(f"--fail-random {count}: the network has {len(cables)} cables between switches", "take fewer")
    gone = np.zeros(len(network.links), dtype=bool)
    chosen = 2 * np.random.default_rng(seed).choice(cables, size=count, replace=False)
    gone[chosen] = gone[chosen + 1] = True
    return without(network, gone)


def without(network: Network, gone: NDArray[np.bool_]) -> Network:
    """The network without the cables of the links for which ``gone`` is true, shape (links,)."""
    gone = gone | gone[np.arange(len(gone)) ^ 1]
    if not gone.any():
        return network
    number = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1).astype(np.int32)  # the last one means "no link"
    links = network.links
    kept = ~gone
    columns = ("source", "target", "source_port", "target_port", "rate", "latency")
    left = replace(links, **{name: getattr(links, name)[kept] for name in columns})
    cables = int(gone.sum()) // 2
    routing = f"{network.routing}, {cables} cable{'s' if cables > 1 else ''} failed since"
    return replace(network, links=left, forward=number[network.forward], routing=routing)


def _named(network: Network, name: str) -> NDArray[np.bool_]:
    links, vertices = network.links, len(network.hosts) + len(network.switches)
    vertex = {network.vertex_name(v): v for v in range(vertices)}
    a, dash, b = (part.strip() for part in name.partition(" - "))
    if dash and a in vertex and b in vertex:
        found = (links.source == vertex[a]) & (links.target == vertex[b])
    elif vertex.get(name, -1) >= len(network.hosts):
        found = (links.source == vertex[name]) | (links.target == vertex[name])
    else:
        found = np.array([network.link_name(link) == name for link in range(len(links))])
    if not found.any():
        raise FabricError(
            f"the network has no link or switch {name!r}",
            "name a switch (leaf0), a link (leaf0:19->spine0:1) or two neighbours (leaf0 - spine0)",
        )
    return found
