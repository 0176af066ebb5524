# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of a machine whose cables are not known: as its fabric file says, or by clustering the run's own times."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.two_groups import BINS, two_modes
from weft.analyse.pairs.places import Places
from weft.fabric.nodeset import fold

#: Leaves are told if so many of the nodes have one, and so many of the pairs agree with them.
LEAST_PLACED, LEAST_AGREEING = 0.8, 0.95


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf switch of each node.

    Attributes
    ----------
    of
        Number of each node's leaf, shape (nodes,); -1 of none.
    names
        Name of each leaf: the switch's, or its nodes.
    clustered
        Whether the run's own times tell them.
    """

    of: NDArray[np.int64]
    names: tuple[str, ...]
    clustered: bool

    def share(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether the nodes of each pair are known to share a leaf."""
        return (self.of[source] >= 0) & (self.of[source] == self.of[target])


def find_leaves(
    places: Places, source: NDArray[np.int64], target: NDArray[np.int64], log_s: NDArray[np.float64]
) -> Leaves | None:
    """Leaves where no cable is known; None where cables are known, or where neither file nor times tell leaves.

    `source`, `target`: node numbers of each pair, shape (pairs,); `log_s`: logarithm of its short message's seconds.
    """
    if places.routed:
        return None
    if (places.host >= 0).all() and len(places.network.switches) > 1:
        leaf = places.network.leaf[places.host].astype(np.int64)
        return Leaves(leaf, tuple(switch.name for switch in places.network.switches), False)
    found = cluster_nodes(len(places.nodes), source, target, log_s)
    if found is None:
        return None
    members = [[places.nodes[node] for node in np.flatnonzero(found == leaf)] for leaf in range(found.max() + 1)]
    return Leaves(found, tuple(f"of {fold(each)}" for each in members), True)


def cluster_nodes(
    nodes: int, source: NDArray[np.int64], target: NDArray[np.int64], log_s: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """Number of the leaf of each node, -1 of none: nodes that near pairs join, if the times have two groups."""
    if not len(log_s):
        return None
    bucket = np.floor(BINS * (log_s - np.median(log_s))).astype(np.int64)
    modes = two_modes(*np.unique(bucket, return_counts=True))
    if modes is None:
        return None
    near = bucket < BINS * modes.split
    leaf = np.arange(nodes)
    for one, other in zip(source[near].tolist(), target[near].tolist(), strict=True):
        if leaf[one] != leaf[other]:
            leaf[leaf == leaf[other]] = leaf[one]
    _, index, sizes = np.unique(leaf, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(sizes > 1)
    number = np.full(len(sizes), -1, np.int64)
    number[kept] = np.arange(len(kept))
    found = number[index.ravel()]
    placed = (found[source] >= 0) & (found[target] >= 0)
    agreeing = near == (found[source] == found[target])
    told = len(kept) > 1 and (found >= 0).mean() >= LEAST_PLACED and agreeing[placed].mean() >= LEAST_AGREEING
    return found if told else None
