# SPDX-License-Identifier: BSD-3-Clause
"""Pairs as matrices: the median of every two nodes, and the slowest pair of every block of ranks."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import robust_deviation
from weft.analyse.tables.pairs import NodeRow

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeMatrix:
    """Times of every two nodes at one size and mode, in seconds; shape (nodes, nodes) each, nan if not measured."""

    bytes: int
    mode: str
    time_s: Floats  # median over the pairs of ranks of their final times: half a round trip
    forward_s: Floats  # median over the pairs of ranks of the one-way time from source to target
    pairs: NDArray[np.int64]  # number of pairs of ranks in the median


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


#: A node stands out at a size if it is this many standard deviations of all nodes slower.
STANDING_OUT = 6.0


def node_rows(bases: Iterable[tuple[NodeMatrix, Floats]], places: Places) -> list[NodeRow]:
    """A row for each node, size and mode.

    Returns nodes and ranks of the placement; bytes, mode, node, name; factor: the median over its pairs with other
    nodes of their time over that of their class without outliers; worst and worst_with: the largest of these ratios,
    and the other node; within: the time of the pairs within the node over the median of all nodes; place: 1 for the
    worst node and so on, in the row that shows each node best (:func:`worst_first`). null if not measured.
    """
    rows: list[NodeRow] = []
    for matrix, base_s in bases:
        count = len(matrix.time_s)
        off = np.where(np.eye(count, dtype=bool), np.nan, matrix.time_s / base_s)
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
                    "nodes": count,
                    "ranks": places.ranks,
                    "bytes": matrix.bytes,
                    "mode": matrix.mode,
                    "node": node,
                    "name": name,
                    "factor": float(np.median(touching)) if touching.size else None,
                    "worst": None if partner is None else float(both[node, partner]),
                    "worst_with": None if partner is None else places.nodes[partner],
                    "within": float(inside[node] / usual) if np.isfinite(inside[node]) else None,
                    "place": None,
                }
            )
    for place, row in enumerate(worst_first(rows), 1):
        row["place"] = place
    return rows


def worst_first(rows: Iterable[NodeRow]) -> list[NodeRow]:
    """The row of each node at the size and mode that shows it best, the worst node first.

    Nodes that stand out from the others (`STANDING_OUT`) come first, by their factor; then the rest, by their distance
    from the median in standard deviations of all nodes at that size. So the scatter of short messages does not hide a
    node that is slow with long ones.
    """
    groups: dict[tuple[int, str], list[NodeRow]] = {}
    for row in rows:
        if row["factor"] is not None:
            groups.setdefault((row["bytes"], row["mode"]), []).append(row)
    ranked: list[tuple[bool, float, NodeRow]] = []
    for own in groups.values():
        logs = np.log(np.array([row["factor"] for row in own], float))
        excess, spread = logs - np.median(logs), max(robust_deviation(logs), 1e-6)
        for row, over in zip(own, excess.tolist(), strict=True):
            out = over > STANDING_OUT * spread
            ranked.append((out, over if out else over / spread, row))
    found: dict[str, NodeRow] = {}
    for _, _, row in sorted(ranked, key=lambda each: each[:2], reverse=True):
        found.setdefault(row["name"], row)
    return list(found.values())
