# SPDX-License-Identifier: BSD-3-Clause
"""The causes of slow pairs, from coarse to fine (METHOD 19): each step works on what earlier ones leave unexplained.

Half a round trip needs no synchronised clocks and shows what is slow, one-way times in which direction. A clock that is
wrong by d makes the times out of a node longer by d and the times into it shorter, so only the difference of the two is
used, relative to the whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.analyse.outliers.candidates import Candidate, list_candidates, turned
from weft.analyse.outliers.decompose import decompose
from weft.analyse.outliers.finer import find_groups, find_memories, find_pairs, find_ranks, find_routes
from weft.analyse.outliers.outlier import Outlier, Role, Sighting, merge_outliers
from weft.analyse.outliers.polish import Decomposition, Effect
from weft.analyse.outliers.remainders import Remainders, remainders
from weft.analyse.outliers.round_loads import ALONE, TOGETHER, load_factors
from weft.analyse.outliers.rule import PEER_SIGMAS
from weft.analyse.pairs.matrix import NodeMatrix, node_matrix
from weft.analyse.pairs.pair_times import PairTimes
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import robust_deviation
from weft.analyse.tables.pairs import LEAST_SHOWN_S
from weft.format import format_factor

#: A direction with more than this part of the difference is the slow one: 3/4 of the excess against 1/4.
CLEAR = 0.5
#: ... unless the other one is also this much slower than usual, by `PEER_SIGMAS` standard errors of its clocks.
LEAST_OTHER = 0.15
FEWEST = 2
#: The two directions of a cable are reported apart if their factors differ by more than this.
UNEQUAL = 1.2


def slow_direction(effect: Effect, matrix: NodeMatrix, parts: Decomposition) -> tuple[Role, float | None]:
    """The role of an outlier, and the factor by which its slow direction is slower one way."""
    count = len(matrix.time_s)
    alone = (parts.touched.ravel() == 1) | (len(parts.effects) == 1)
    forth = effect.candidate.forth
    forth = forth[alone[forth]]
    back = turned(forth, count)
    # if both directions of a pair are in `forth` (a link that a and b both send over), the pair decides nothing
    apart = ~np.isin(back, effect.candidate.forth)
    forth, back = forth[apart], back[apart]
    one_way, base = matrix.forward_s.ravel(), _base(matrix, parts)
    off = one_way - base
    known = np.isfinite(off[forth]) & np.isfinite(one_way[back])
    if known.sum() < FEWEST:
        return "unknown", None
    forth, back = forth[known], back[known]
    out, into, usual = (float(np.median(values)) for values in (off[forth], off[back], base[forth]))
    if out + into <= 0:  # the clocks are too wrong to show what the round trip shows
        return "unknown", None
    # standard error of the median of these one-way times: pairs with a common node share the error of its clock
    clean = off[(parts.touched.ravel() == 0) & np.isfinite(off)]
    clocks = min(len(np.unique(end)) for end in np.divmod(forth, count))
    error = robust_deviation(clean) / float(np.sqrt(clocks)) if clean.size else float("inf")
    if min(out, into) > max(LEAST_OTHER * usual, PEER_SIGMAS * error):
        return "both", None
    balance = (out - into) / (out + into)
    if balance > CLEAR:
        return "sender", 1 + out / usual
    if balance < -CLEAR:
        return "receiver", 1 + into / usual
    return "both", None


def _base(matrix: NodeMatrix, parts: Decomposition) -> np.ndarray:
    """One-way seconds of each pair's class without outliers: clock errors cancel in the median of a class."""
    one_way, base = matrix.forward_s.ravel(), parts.base.ravel()
    found = np.full(one_way.size, np.nan)
    for value in np.unique(base[np.isfinite(base)]):
        of = base == value
        clean = of & (parts.touched.ravel() == 0) & np.isfinite(one_way)
        found[of] = np.median(one_way[clean]) if clean.any() else value
    return found


class Taken(NamedTuple):
    """The node matrix of a size and mode, its decomposition, and what that leaves of each pair."""

    matrix: NodeMatrix
    parts: Decomposition
    left: Remainders


def attribute(
    ways: Sequence[PairTimes], places: Places, *, modelled: bool = False, named: bool = True
) -> tuple[list[Outlier], list[Taken]]:
    """The causes of slow pairs, the strongest first, none unless ``named``; and what was found of each way."""
    candidates = list_candidates(places) if named else []
    taken = [_taken(times, candidates, loaded=named) for times in ways]
    if not named:
        return [], taken
    found: list[Outlier] = []
    for each in taken:
        found += _all_named(each.matrix, each.parts, candidates)
        found += find_routes(each.matrix, each.parts, places)
    shown = [each.left.lasting(LEAST_SHOWN_S) for each in taken]
    ranks = find_ranks(shown, places)
    slow = sorted({rank for outlier in ranks for rank in outlier.indices})
    others = [each.without_ranks(slow) for each in shown]
    classes, groups = find_groups(others, places)
    if modelled:
        classes = [each for each, key in zip(classes, groups, strict=True) if key[1] == ALONE]
    elif any(mode == TOGETHER for _, mode, _ in groups):
        # pairs of which one way alone is crowded make a group of their own, and nothing is at fault
        crowded = [times for times in ways if any(key[:2] == times.way and key[1] == TOGETHER for key in groups)]
        even = (_taken(times, candidates, loaded=True, mean=True).left.without_ranks(slow) for times in crowded)
        still = find_groups(even, places)[1]
        classes = [each for each, key in zip(classes, groups, strict=True) if key[1] != TOGETHER or key in still]
    found += [*find_memories(others, places), *classes, *ranks]
    if not any(times.file.by_nodes for times in ways):
        found += find_pairs(others, places, groups, found)
    return merge_outliers(found), taken


def _taken(times: PairTimes, candidates: Sequence[Candidate], *, loaded: bool, mean: bool = False) -> Taken:
    """A way's node matrix, its decomposition, and what that leaves of each pair."""
    places, time_s, forward_s = times.ends.places, times.time_s, times.over_launches("forward_s")
    factor = load_factors(times, mean=mean) if loaded else None
    if factor is not None:
        time_s, forward_s = time_s * factor, forward_s * factor
    matrix = node_matrix(times, time_s, forward_s)
    parts = decompose(matrix.time_s, places, candidates)
    return Taken(matrix, parts, remainders(times, time_s, parts))


def _all_named(matrix: NodeMatrix, parts: Decomposition, candidates: Sequence[Candidate]) -> list[Outlier]:
    """All candidates found slow; the two links of a cable as one cable."""
    left = list(parts.effects)
    found: list[Outlier] = []
    while left:
        effect = left.pop(0)
        back = next((other for other in left if f"link {effect.candidate.back}" in other.candidate.titles), None)
        if back is None:
            found.append(_named(effect, matrix, parts))
            continue
        left.remove(back)
        cable = next(each for each in candidates if f"cable {effect.candidate.cable}" in each.titles)
        found.append(_cable(effect, back, matrix, cable))
    return found


def _cable(forth: Effect, back: Effect, matrix: NodeMatrix, cable: Candidate) -> Outlier:
    """A cable with two slow links: a round trip over both takes the mean of their factors."""
    one, other = (2 * effect.factor - 1 for effect in (forth, back))
    seen = Sighting(matrix.bytes, matrix.mode, (one + other) / 2, None, min(forth.share, back.share))
    detail = "in both directions"
    if max(one, other) > UNEQUAL * min(one, other):
        factors = ((forth.candidate.name, one), (back.candidate.name, other))
        detail += f" ({', '.join(f'{name} {format_factor(factor)} x' for name, factor in factors)})"
    also = tuple(name for name in cable.titles if name != f"cable {forth.candidate.cable}")
    return Outlier("cable", forth.candidate.cable, "", (seen,), len(cable.cells), also, detail)


def _named(effect: Effect, matrix: NodeMatrix, parts: Decomposition) -> Outlier:
    """A candidate found slow, with its slow direction.

    If the same pairs also cross the reverse of a link, only one-way times can show which of the two is slow.
    """
    slow, detail = effect.candidate, ""
    role, one_way = slow_direction(effect, matrix, parts)
    seen = Sighting(matrix.bytes, matrix.mode, effect.factor, one_way, effect.share)
    own: list[Candidate] = [slow]
    if slow.kind == "link" and (cable := next((each for each in slow.same if each.kind == "cable"), None)):
        back = next((each for each in slow.same if each.kind == "link"), None)
        own += [cable, back] if back else [cable]
        if back and role == "receiver":
            slow = back
        elif back and role != "sender":
            slow, detail = cable, "in both directions" if role == "both" else "in one direction or both"
    also = tuple(f"{each.kind} {each.name}" for each in effect.candidate.same if each not in own)
    role = role if slow.kind == "node" else ""
    return Outlier(slow.kind, slow.name, role, (seen,), effect.pairs, also, detail, cable=slow.cable)
