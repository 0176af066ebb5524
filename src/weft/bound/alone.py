# SPDX-License-Identifier: BSD-3-Clause
"""Least time of the blocks that one rank exchanges with all other nodes, one after the other, on an idle network.

The breakdown compares it with messages that were measured in this way (:mod:`weft.kernel.steps`): a block takes the
rate of the slowest link on its path, without other traffic.
"""

from statistics import median

import numpy as np

from weft.bound.links import network_of
from weft.bound.terms import Placed
from weft.fabric.model import Fabric
from weft.fabric.network.follow import walk
from weft.fabric.network.graph import Network

MOST_STARTS = 8
"""Number of nodes whose paths to all others are followed."""


def alone_s_per_byte(cell: Placed, fabric: Fabric) -> float | None:
    """Seconds per byte of a block: the sum of 1 / rate over the ranks on other nodes; None if not known.

    The median over some nodes, as the measurement is a median over ranks.

    Parameters
    ----------
    cell
        A cell with the same number of ranks on each node.
    fabric
        The fabric, with the rates of its links.

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
    """Sum over the hosts ``ends``, indices (ends,), of 1 / the slowest rate on the path there and back, in s/B."""
    targets = ends[ends != start].astype(np.int32)
    sources = np.full_like(targets, start)
    seconds = 1 / network.links.rate
    slowest = np.zeros(len(targets))
    for routes in (walk(network, sources, targets), walk(network, targets, sources)):
        slowest = np.maximum(slowest, np.where(routes >= 0, seconds[routes], 0.0).max(axis=1, initial=0.0))
    return float(slowest.sum())
