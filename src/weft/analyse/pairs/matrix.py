# SPDX-License-Identifier: BSD-3-Clause
"""Pairs as matrices: the median of every two nodes, and the slowest pair of every block of ranks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeMatrix:
    """Times of every two nodes at one size and mode, in seconds; shape (nodes, nodes) each, nan if not measured.

    Attributes
    ----------
    time_s
        Median over the pairs of ranks of their final times: half a round trip.
    forward_s
        Median over the pairs of ranks of the one-way time from source to target.
    pairs
        Number of pairs of ranks in the median.
    """

    bytes: int
    mode: str
    time_s: Floats
    forward_s: Floats
    pairs: NDArray[np.int64]


def node_medians(placed: Expression) -> Expression:
    """bytes, mode, source_node, target_node, time_s, forward_s, slowest_s, pairs: medians over pairs of ranks."""
    return placed.group_by(["bytes", "mode", "source_node", "target_node"]).agg(
        time_s=placed.time_s.median(),
        forward_s=placed.forward_s.median(),
        slowest_s=placed.time_s.max(),
        pairs=placed.count(),
    )


def node_matrices(medians: Expression, nodes: int) -> list[NodeMatrix]:
    """The medians as node matrices, one for each size and mode, ordered by size."""
    rows = medians.order_by(["bytes", "mode"]).to_pyarrow()
    columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
    found: list[NodeMatrix] = []
    for size, mode in sorted(set(zip(columns["bytes"].tolist(), columns["mode"].tolist(), strict=True))):
        own = (columns["bytes"] == size) & (columns["mode"] == mode)
        cell = columns["source_node"][own].astype(np.int64), columns["target_node"][own].astype(np.int64)
        time, forward = np.full((nodes, nodes), np.nan), np.full((nodes, nodes), np.nan)
        time[cell], forward[cell] = columns["time_s"][own], columns["forward_s"][own].astype(float)
        pairs = np.zeros((nodes, nodes), np.int64)
        pairs[cell] = columns["pairs"][own]
        found.append(NodeMatrix(int(size), str(mode), time, forward, pairs))
    return found


def slowest_blocks(placed: Expression, block: int) -> Expression:
    """The slowest pair of every ``block`` x ``block`` ranks: bytes, mode, row, column, value (seconds).

    The maximum, never a mean: one slow pair among a thousand must stay visible in the smallest picture.
    """
    where = ["bytes", "mode", "row", "column"]
    if block == 1:
        return placed.select(*where, value=placed.time_s)
    rows = placed.select(
        "bytes",
        "mode",
        row=(placed.row // block).cast("int32"),
        column=(placed.column // block).cast("int32"),
        value=placed.time_s,
    )
    return rows.group_by(where).agg(value=rows.value.max())
