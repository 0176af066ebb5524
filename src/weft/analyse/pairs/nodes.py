# SPDX-License-Identifier: BSD-3-Clause
"""How slow each node is with all others: the rows from which the ten worst are told."""

from typing import Any

import numpy as np

from weft.analyse.pairs.blame import Blame
from weft.analyse.pairs.places import Places

Row = dict[str, Any]


def node_rows(found: Blame, places: Places) -> list[Row]:
    """A row for each node, size and mode.

    Returns
    -------
    list
        bytes, mode, node, name, factor: the median over its pairs with other nodes of their time over that of their
        class where nobody is slow; worst and worst_with: the largest of them, and the node it is with; within: the
        same of the pairs within the node over the median of all nodes. null where nothing was measured.
    """
    rows: list[Row] = []
    for matrix, parts in zip(found.matrices, found.taken, strict=True):
        count = len(matrix.time_s)
        off = np.where(np.eye(count, dtype=bool), np.nan, matrix.time_s / parts.base)
        both = np.fmax(off, off.T)
        inside = np.diagonal(matrix.time_s)
        known = inside[np.isfinite(inside)]
        usual = float(np.median(known)) if known.size else np.nan
        for node, name in enumerate(places.nodes):
            touching = np.concatenate([off[node], off[:, node]])
            touching = touching[np.isfinite(touching)]
            partner = int(np.nanargmax(both[node])) if np.isfinite(both[node]).any() else None
            rows.append(
                {
                    "bytes": matrix.bytes,
                    "mode": matrix.mode,
                    "node": node,
                    "name": name,
                    "factor": float(np.median(touching)) if touching.size else None,
                    "worst": None if partner is None else float(both[node, partner]),
                    "worst_with": None if partner is None else places.nodes[partner],
                    "within": float(inside[node] / usual) if np.isfinite(inside[node]) else None,
                }
            )
    return rows
