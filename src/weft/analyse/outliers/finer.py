# SPDX-License-Identifier: BSD-3-Clause
"""Causes finer than the node matrix: a route, a node's memory, a rank, a single pair, a class in two groups."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.outlier import Outlier, Sighting
from weft.analyse.outliers.polish import Decomposition
from weft.analyse.outliers.remainders import ALONE, FEWEST_NODES, Remainders, crossing_factors
from weft.analyse.outliers.rule import FEWEST_PEERS, LEAST_OWN_FACTOR, OWN_SIGMAS, TwoModes, list_outliers, two_modes
from weft.analyse.pairs.matrix import NodeMatrix
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import MAD, robust_deviation
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.format import measured_seconds, percent
from weft.store.tables import grouped

Groups = dict[tuple[int, str, int], TwoModes]
Outliers = Sequence[Outlier]
#: With more slow pairs than this share (and this number), a class has a broad tail rather than single slow pairs.
MOST_SHARE, MOST_PAIRS = 0.002, 12


def find_routes(matrix: NodeMatrix, parts: Decomposition, places: Places) -> Iterator[Outlier]:
    """Pairs of nodes that are slow with each other in both directions, unexplained by a node or a link."""
    if len(places.nodes) < FEWEST_PEERS or int(matrix.pairs.max(initial=0)) < 2:
        return  # one rank per node: reported as a pair
    left, known = np.fmin(parts.remainder, parts.remainder.T), np.isfinite(parts.remainder)
    limit = max(np.log(LEAST_OWN_FACTOR), OWN_SIGMAS * robust_deviation(parts.remainder[known]))
    for a, b in np.argwhere(np.triu((left > limit) & (parts.touched < 2), 1)).tolist():
        seen = Sighting(matrix.bytes, matrix.mode, float(np.exp(left[a, b])))
        name = f"{places.nodes[a]} and {places.nodes[b]}"
        yield Outlier("route", name, "", (seen,), int(matrix.pairs[a, b] + matrix.pairs[b, a]), indices=(a, b))


def find_memories(left: Iterable[Remainders], places: Places) -> Iterator[Outlier]:
    """Nodes whose own ranks are slow with each other."""
    for each in left:
        values, pairs = each.by_node()
        for node in list_outliers(values):
            seen = Sighting(*each.times.way, float(np.exp(values[node])))
            yield Outlier("memory", places.nodes[node], "", (seen,), int(pairs[node]), indices=(node,))


def find_ranks(left: Iterable[Remainders], places: Places) -> list[Outlier]:
    """Ranks that are slow with all others, as source and as target, on nodes that are not slow."""
    if places.ranks == len(places.nodes):
        return []
    found: list[Outlier] = []
    for each in left:
        values = each.by_rank().min(axis=0)
        for rank in list_outliers(values):
            seen = Sighting(*each.times.way, float(np.exp(values[rank])))
            node = int(places.node_of[rank])
            pairs, name = 2 * int((places.node_of != node).sum()), f"{rank} on {places.nodes[node]}"
            found.append(Outlier("rank", name, "", (seen,), pairs, indices=(rank,)))
    return found


def find_groups(left: Iterable[Remainders], places: Places) -> tuple[list[Outlier], Groups]:
    """Hop classes whose pairs split into two groups, unexplained by a node or a link."""
    found: list[Outlier] = []
    groups: Groups = {}
    for each in left:
        scales = each.scales
        for key, (buckets, counts) in each.histogram().items():
            modes = two_modes(buckets, counts)
            if modes is None:
                continue
            groups[key], class_ = modes, key[2]
            low, high = (measured_seconds(scales[key].base_s * float(np.exp(log))) for log in (modes.low, modes.high))
            structure = _structure(each.by_place(modes.split)) if class_ == int(places.classes[0, 0]) else ""
            detail = (
                f"in two groups: {percent(1 - modes.share)} of the pairs near {low}, {percent(modes.share)} near {high}"
                f"; {structure or 'neither a node nor a link explains it'}"
            )
            seen = Sighting(*each.times.way, modes.factor, share=modes.share)
            found.append(Outlier("class", places.labels[class_], "", (seen,), int(counts.sum()), (), detail))
    return found, groups


def _structure(share: NDArray[np.float64]) -> str:
    """Which places are slow with each other, if they are the same on all nodes; else an empty string."""
    known = share[np.isfinite(share)]
    if not len(known) or ((known < 0.1) | (known > 0.9)).mean() < 0.95:
        return ""
    joined = np.eye(len(share), dtype=bool) | (share < 0.5)
    joined |= joined.T
    for _ in range(len(share).bit_length()):  # groups of places that are fast with each other, directly or not
        joined = joined @ joined
    islands: list[list[int]] = [np.flatnonzero(row).tolist() for row in np.unique(joined, axis=0)[::-1]]
    if len(islands) < 2:
        return "the same places on every node"
    texts = [
        f"{own[0]}-{own[-1]}" if len(own) == own[-1] - own[0] + 1 > 1 else ", ".join(map(str, own))  # they ascend
        for own in islands
    ]
    return f"fast within the places {' and within '.join(texts)} of every node, slow between them"


def find_pairs(left: Iterable[Remainders], places: Places, groups: Groups, found: list[Outlier]) -> Iterator[Outlier]:
    """Single slow pairs of ranks that nothing coarser explains."""
    count = len(places.nodes)
    named = {kind: [each.indices for each in found if each.kind == kind] for kind in ("route", "memory", "rank")}
    cells = [cell for a, b in named["route"] for cell in (a * count + b, b * count + a)]
    cells += [node * (count + 1) for (node,) in named["memory"]]
    ranks = [rank for (rank,) in named["rank"]]
    for each in left:
        scales, limits, ends = each.scales, dict[int, float](), each.times.ends
        for key, scale in scales.items():
            class_ = key[2]
            limits[class_] = max(float(np.log(PAIR_FACTOR)), OWN_SIGMAS * MAD * scale.deviation)
            inside = class_ == int(places.classes[0, 0]) and len(places.nodes) >= FEWEST_NODES
            # the slower group is reported as a whole; within nodes it was subtracted by place
            if key in groups and not inside:
                limits[class_] += groups[key].high
        slow = each.beyond(limits)
        # what a route, a memory or a rank explains is an outlier already
        by_rank = np.isin(ends.source[slow], ranks) | np.isin(ends.target[slow], ranks)
        slow = slow[~(by_rank | np.isin(ends.nodes[slow], cells))]
        if len(slow) and (factor := crossing_factors(each.times)) is not None:
            slow = slow[each.left[slow] > np.log(factor[slow] * LEAST_OWN_FACTOR)]
        for key, scale in scales.items():
            own = slow[ends.kind[slow] == key[2]]
            if len(own) <= max(MOST_PAIRS, MOST_SHARE * scale.pairs):
                yield from _as_pairs(each, own, places)


def _as_pairs(left: Remainders, rows: NDArray[np.int64], places: Places) -> Iterator[Outlier]:
    times, known = left.times, rows.tolist()
    ranks_of = {row: tuple(sorted((int(times.ends.source[row]), int(times.ends.target[row])))) for row in known}
    again = f"slow again in two more measurements {'alone' if times.mode == ALONE else 'together with the same pairs'}"
    for ranks, own in grouped(known, ranks_of.__getitem__).items():
        name = " with ".join(f"{rank} on {places.nodes[int(places.node_of[rank])]}" for rank in ranks)
        detail = again if times.checked[own].all() else "measured once, not measured again"
        seen = Sighting(*times.way, float(np.exp(left.left[own].max())))
        yield Outlier("pair", name, "", (seen,), len(own), (), detail, ranks)
