# SPDX-License-Identifier: BSD-3-Clause
"""Least time of the blocks that one rank exchanges with all other nodes on an idle network.

The breakdown compares it with messages that were measured in this way (:mod:`weft.kernel.steps`): several are on their
way at once, in both directions, and the link that carries most of them for its rate decides.
"""

from statistics import median

import numpy as np

from weft.bound.links import network_of
from weft.bound.terms import Placed
from weft.fabric.loads import pair_loads
from weft.fabric.model import Fabric
from weft.fabric.network.graph import Network

MOST_STARTS = 8
"""Number of nodes whose paths to all others are followed."""


def alone_s_per_byte(cell: Placed, fabric: Fabric) -> float | None:
    """Seconds per byte of a block, on the fullest link; None if not known.

    The median over some nodes, as the measurement is a median over ranks.

    Raises
    ------
    FabricError
        The network cannot be built.
    """
    section = fabric.network
    if section is None or cell.nodes < 2 or cell.ranks != cell.nodes * cell.ranks_per_node:
        return None
    others = cell.ranks - cell.ranks_per_node
    if section.topology == "star" and not section.rates:
        return others / section.adapter_rate if section.adapter_rate else None
    if not cell.hosts:
        return None
    network, _ = network_of(fabric)
    chosen = network.indices(list(cell.hosts))
    starts = chosen[:: max(1, len(chosen) // MOST_STARTS)]
    found = [_seconds_from(network, int(start), chosen) * cell.ranks_per_node for start in starts]
    return median(found) if all(np.isfinite(found)) else None


def _seconds_from(network: Network, start: int, ends: "np.ndarray[tuple[int], np.dtype[np.int32]]") -> float:
    """Seconds per byte of the fullest link when a host exchanges a byte with each other host of ``ends``."""
    others = ends[ends != start].astype(np.int32)
    own, each = np.full_like(others, start), np.ones(len(others))
    loads = (pair_loads(network, own, others, each), pair_loads(network, others, own, each))
    return max(float((load / network.links.rate).max()) for load in loads)
