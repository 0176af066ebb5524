# SPDX-License-Identifier: BSD-3-Clause
"""The slowest link of each round of a shift exchange; in round d every rank sends to the rank d after it."""

from typing import NamedTuple

import numpy as np

from weft.bound.links import network_of
from weft.bound.terms import Placed
from weft.fabric.loads import pair_loads
from weft.fabric.model import Fabric

MOST_MESSAGES = 4_000_000
"""Most messages, over all rounds, whose routes are followed; this takes some seconds."""


class Fullest(NamedTuple):
    """A link's name, and the seconds it needs per byte of a block; the name is empty if no block leaves its node."""

    link: str
    s_per_byte: float


def fullest_links(cell: Placed, order: str, fabric: Fabric) -> list[Fullest]:
    """The slowest link of each round, from round 0; empty if routes or rates are not known.

    The routes are those of the fabric file. Messages are known to take them only if Weft makes the network, simulated
    or virtual, or if the file names the real fabric's forwarding tables.

    Raises
    ------
    FabricError
        The network cannot be built.
    """
    p = cell.ranks
    even = p == cell.nodes * cell.ranks_per_node
    if fabric.network is None or not cell.hosts or not even:
        return []
    if not (fabric.is_model or fabric.is_emulated or fabric.network.has_tables):
        return []
    if cell.nodes < 2 or p * p > MOST_MESSAGES:
        return []
    network, _ = network_of(fabric)
    if not np.isfinite(network.links.rate).all():
        return []
    ranks = np.arange(p)
    node = ranks // cell.ranks_per_node if order == "block" else ranks % cell.nodes
    host = network.indices(list(cell.hosts)).astype(np.int32)[node]
    found: list[Fullest] = []
    for distance in range(p):
        target = np.roll(host, -distance)
        leaves = host != target
        seconds = pair_loads(network, host[leaves], target[leaves], np.ones(int(leaves.sum()))) / network.links.rate
        most = int(seconds.argmax())
        found.append(Fullest(network.link_name(most), float(seconds[most])) if leaves.any() else Fullest("", 0.0))
    return found
