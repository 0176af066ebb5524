# SPDX-License-Identifier: BSD-3-Clause
"""Pairs as matrices: the median of every two nodes, and the slowest pair of every block of ranks."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.analyse.pairs.pair_times import PairTimes
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import group_medians, robust_deviation
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


def node_matrix(times: PairTimes, time_s: Floats, forward_s: Floats) -> NodeMatrix:
    """The medians of every two nodes; ``time_s`` and ``forward_s`` of each pair, shape (pairs,)."""
    nodes, count = times.ends.nodes, len(times.ends.places.nodes)
    time, forward = (
        group_medians(nodes, values, count * count).reshape(count, count) for values in (time_s, forward_s)
    )
    pairs = np.bincount(nodes, minlength=count * count).reshape(count, count)
    return NodeMatrix(times.bytes, times.mode, time, forward, pairs)


def slowest(group: NDArray[np.integer], values: Floats, groups: int) -> Floats:
    """The largest value of each group, shape (groups,); nan where there is none.

    The maximum, never a mean: one slow pair among a thousand must stay visible in the smallest picture.
    """
    found = np.full(groups, -np.inf)
    np.maximum.at(found, group, values)
    found[np.isneginf(found)] = np.nan
    return found


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
