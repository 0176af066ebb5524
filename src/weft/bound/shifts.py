# SPDX-License-Identifier: BSD-3-Clause
"""Which link each round of a shift exchange fills longest: in round d every rank sends to the one d behind it."""

from typing import NamedTuple

import numpy as np

from weft.bound.links import network_of
from weft.bound.terms import Placed
from weft.fabric.loads import pair_loads
from weft.fabric.model import Fabric

MOST_MESSAGES = 4_000_000
"""Messages of all rounds whose routes are followed: some seconds."""


class Fullest(NamedTuple):
    """A link's name, and the seconds it needs for each byte of a block; no name where no block leaves its node."""

    link: str
    s_per_byte: float


def fullest_links(cell: Placed, order: str, fabric: Fabric) -> list[Fullest]:
    """For each round, from 0; nothing where routes or rates are not known.

    The routes are those of the fabric file: they are known to carry the messages where Weft makes the network itself,
    simulated or virtual.

    Parameters
    ----------
    cell
        Of nodes with as many ranks each.
    order
        ``block`` or ``cyclic``: how ranks are numbered over the nodes.
    fabric
        With the rates of its links.

    Raises
    ------
    FabricError
        The network cannot be built.
    """
    p = cell.ranks
    even = p == cell.nodes * cell.ranks_per_node
    if fabric.network is None or not (fabric.is_model or fabric.is_emulated) or not cell.hosts or not even:
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
