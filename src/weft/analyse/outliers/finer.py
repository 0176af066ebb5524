# SPDX-License-Identifier: BSD-3-Clause
"""Causes finer than the node matrix: a route, a node's memory, a rank, a single pair, a class in two groups."""

from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

import numpy as np

from weft.analyse.engine import Expression
from weft.analyse.outliers import remainders
from weft.analyse.outliers.outlier import Outlier, Sighting
from weft.analyse.outliers.polish import Decomposition
from weft.analyse.outliers.remainders import BucketRow, NodeLeft, OfClass, PairLeft, RankLeft, ScaleRow
from weft.analyse.outliers.two_groups import TwoModes, two_modes
from weft.analyse.pairs.matrix import NodeMatrix
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import MAD
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.format import measured_seconds

Groups = dict[tuple[int, str, int], TwoModes]
T = TypeVar("T")

#: Smallest factor of a slow route, memory or rank, and its least distance from its peers in standard deviations.
LEAST_FACTOR = 1.15
SIGMAS = 10.0
FEWEST_PEERS = 5
#: The least distance of a slow pair from its class in deviations; its least factor is `PAIR_FACTOR`.
PAIR_SIGMAS = 10.0
#: With more slow pairs than this share (and this number), a class has a broad tail rather than single slow pairs.
MOST_SHARE, MOST_PAIRS = 0.002, 12


def find_routes(matrix: NodeMatrix, parts: Decomposition, places: Places) -> list[Outlier]:
    """Pairs of nodes that are slow with each other in both directions, unexplained by a node or a link."""
    if len(places.nodes) < FEWEST_PEERS or int(matrix.pairs.max(initial=0)) < 2:
        return []  # one rank per node: reported as a pair
    left = np.fmin(parts.remainder, parts.remainder.T)
    limit = max(np.log(LEAST_FACTOR), SIGMAS * parts.scale)
    slow = np.argwhere(np.triu((left > limit) & (parts.touched < 2), 1))
    found: list[Outlier] = []
    for a, b in slow.tolist():
        seen = Sighting(matrix.bytes, matrix.mode, float(np.exp(left[a, b])))
        name = f"{places.nodes[a]} and {places.nodes[b]}"
        pairs = int(matrix.pairs[a, b] + matrix.pairs[b, a])
        found.append(Outlier("route", name, "", (seen,), pairs, indices=(a, b)))
    return found


def find_memories(left: Expression, places: Places) -> list[Outlier]:
    """Nodes whose own ranks are slow with each other."""
    rows: list[NodeLeft] = remainders.by_node(left).order_by(["bytes", "mode", "node"]).to_pyarrow().to_pylist()
    found: list[Outlier] = []
    for (size, mode), group in groupby(rows, key=lambda row: (row["bytes"], row["mode"])):
        own = list(group)
        for row in _standing_out(own, [row["left"] for row in own]):
            seen = Sighting(size, mode, float(np.exp(row["left"])))
            node = int(row["node"])
            found.append(Outlier("memory", places.nodes[node], "", (seen,), row["pairs"], indices=(node,)))
    return found


def find_ranks(left: Expression, places: Places) -> list[Outlier]:
    """Ranks that are slow with all others, as source and as target, on nodes that are not slow."""
    rows: list[RankLeft] = remainders.by_rank(left).order_by(["bytes", "mode", "rank"]).to_pyarrow().to_pylist()
    if places.ranks == len(places.nodes):
        return []
    found: list[Outlier] = []
    for (size, mode), group in groupby(rows, key=lambda row: (row["bytes"], row["mode"])):
        own = list(group)
        for row in _standing_out(own, [min(row["as_source"], row["as_target"]) for row in own]):
            seen = Sighting(size, mode, float(np.exp(min(row["as_source"], row["as_target"]))))
            node = int(places.node_of[row["rank"]])
            partners = int((places.node_of != node).sum())
            name = f"{row['rank']} on {places.nodes[node]}"
            found.append(Outlier("rank", name, "", (seen,), 2 * partners, indices=(row["rank"],)))
    return found


def without_ranks(left: Expression, slow: Sequence[Outlier]) -> Expression:
    """The pairs without slow ranks: otherwise one slow rank of four would look like a slow memory."""
    numbers = sorted({rank for outlier in slow for rank in outlier.indices})
    return left.filter(~left.source.isin(numbers) & ~left.target.isin(numbers)) if numbers else left


def _standing_out(rows: Sequence[T], values: Sequence[float]) -> list[T]:
    """Rows whose value stands out among its peers."""
    known = np.array(values, float)
    if len(known) < FEWEST_PEERS:
        return []
    middle = float(np.median(known))
    spread = MAD * float(np.median(np.abs(known - middle)))
    limit = max(np.log(LEAST_FACTOR), middle + SIGMAS * spread)
    return [row for row, value in zip(rows, known.tolist(), strict=True) if value > limit]


def find_groups(left: Expression, places: Places) -> tuple[list[Outlier], Groups]:
    """Hop classes whose pairs split into two groups, unexplained by a node or a link."""
    counted = remainders.histogram(left).order_by(["bytes", "mode", "class_", "bucket"])
    rows: list[BucketRow] = counted.to_pyarrow().to_pylist()
    scales: list[ScaleRow] = remainders.scales(left).to_pyarrow().to_pylist()
    medians = {_key(row): row["base_s"] for row in scales}
    found: list[Outlier] = []
    groups: Groups = {}
    for key, group in groupby(rows, key=_key):
        own = list(group)
        modes = two_modes(np.array([row["bucket"] for row in own]), np.array([row["pairs"] for row in own]))
        if modes is None:
            continue
        groups[key] = modes
        size, mode, class_ = key
        low, high = (measured_seconds(medians[key] * float(np.exp(log))) for log in (modes.low, modes.high))
        detail = f"{1 - modes.share:.0%} of the pairs near {low}, {modes.share:.0%} near {high}"
        inside = class_ == int(places.classes[0, 0])
        structure = _structure(left, key, modes) if inside else ""
        seen = Sighting(size, mode, modes.factor, share=modes.share)
        count = sum(row["pairs"] for row in own)
        found.append(Outlier("class", places.labels[int(class_)], "", (seen,), count, (), _with(detail, structure)))
    return found, groups


def _with(detail: str, structure: str) -> str:
    return f"in two groups: {detail}" + (f"; {structure}" if structure else "; neither a node nor a link explains it")


def _structure(left: Expression, key: tuple[int, str, int], modes: TwoModes) -> str:
    """Which places are slow with each other, if they are the same on all nodes; else an empty string."""
    rows = remainders.by_place(left, key[0], key[1], modes.split).to_pyarrow()
    source, target, share = (
        rows[name].to_numpy(zero_copy_only=False) for name in ("source_place", "target_place", "share")
    )
    if not len(share) or ((share < 0.1) | (share > 0.9)).mean() < 0.95:
        return ""
    count = int(max(source.max(), target.max())) + 1
    near = np.eye(count, dtype=bool)
    near[source[share < 0.5], target[share < 0.5]] = True
    islands = _islands(near)
    if len(islands) < 2:
        return "the same places on every node"
    return "fast within the places " + " and within ".join(map(_range, islands)) + " of every node, slow between them"


def _islands(near: np.ndarray) -> list[list[int]]:
    """Groups of places that are fast with each other."""
    unseen = set(range(len(near)))
    found: list[list[int]] = []
    while unseen:
        island, edge = set[int](), {min(unseen)}
        while edge:
            island |= edge
            edge = {int(other) for place in edge for other in np.flatnonzero(near[place] | near[:, place])} - island
        found.append(sorted(island))
        unseen -= island
    return found


def _range(places: Sequence[int]) -> str:
    whole = list(range(places[0], places[-1] + 1)) == list(places)
    return f"{places[0]}-{places[-1]}" if whole and len(places) > 1 else ", ".join(map(str, places))


def find_pairs(left: Expression, places: Places, groups: Groups, found: Sequence[Outlier]) -> list[Outlier]:
    """Single slow pairs of ranks that nothing coarser explains."""
    counted: list[ScaleRow] = remainders.scales(left).to_pyarrow().to_pylist()
    limits: list[remainders.Threshold] = []
    for row in counted:
        key = _key(row)
        limit = max(np.log(PAIR_FACTOR), PAIR_SIGMAS * MAD * row["deviation"])
        inside = row["class_"] == int(places.classes[0, 0]) and len(places.nodes) >= remainders.FEWEST_NODES
        # the slower group is reported as a whole; within nodes it was subtracted by place
        if key in groups and not inside:
            limit += groups[key].high
        limits.append(remainders.Threshold(*key, float(limit)))
    rows: list[PairLeft] = remainders.beyond(left, limits).to_pyarrow().to_pylist()
    named = _named_already(found)
    totals = {_key(row): row["pairs"] for row in counted}
    outliers: list[Outlier] = []
    for key, group in groupby(sorted(rows, key=_key), key=_key):
        own = [row for row in group if not _explained(row, named)]
        if len(own) <= max(MOST_PAIRS, MOST_SHARE * totals[key]):
            outliers += _as_pairs(own, places)
    return outliers


def _key(row: OfClass) -> tuple[int, str, int]:
    return row["bytes"], row["mode"], row["class_"]


def _named_already(found: Sequence[Outlier]) -> dict[str, set[tuple[int, ...]]]:
    """Indices of routes, memories and ranks that are outliers already, by kind."""
    named: dict[str, set[tuple[int, ...]]] = {"route": set(), "memory": set(), "rank": set()}
    for outlier in found:
        if outlier.kind in named:
            named[outlier.kind].add(outlier.indices)
    return named


def _explained(row: PairLeft, named: dict[str, set[tuple[int, ...]]]) -> bool:
    low, high = sorted((row["source_node"], row["target_node"]))
    if (low, high) in named["route"] or (low == high and (low,) in named["memory"]):
        return True
    return bool({(row["source"],), (row["target"],)} & named["rank"])


def _as_pairs(rows: Sequence[PairLeft], places: Places) -> list[Outlier]:
    """One outlier for each two ranks, in either direction."""
    both: dict[tuple[int, int], list[PairLeft]] = {}
    for row in rows:
        low, high = sorted((row["source"], row["target"]))
        both.setdefault((low, high), []).append(row)
    found: list[Outlier] = []
    for (low, high), own in both.items():
        worst = max(own, key=lambda row: row["left"])
        names = [f"{rank} on {places.nodes[int(places.node_of[rank])]}" for rank in (low, high)]
        checked = all(row["checked"] for row in own)
        company = "alone" if worst["mode"] == "isolated" else "together with the same pairs"
        detail = f"slow again in two more measurements {company}" if checked else "measured once, not measured again"
        seen = Sighting(worst["bytes"], worst["mode"], float(np.exp(worst["left"])))
        found.append(Outlier("pair", " with ".join(names), "", (seen,), len(own), (), detail, (low, high)))
    return found
