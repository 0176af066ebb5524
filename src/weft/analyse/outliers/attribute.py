# SPDX-License-Identifier: BSD-3-Clause
"""The causes of slow pairs, from coarse to fine (METHOD 19): each step works on what earlier ones leave unexplained.

Half a round trip needs no synchronised clocks and shows what is slow, one-way times in which direction: a clock that
is wrong by d makes the times out of a node longer by d and those into it shorter, so only their difference is used.

A node matrix is decomposed robustly: log t(a, b) = base(class of a, b) + what the outliers on the way there and back
add + a remainder (`weft.analyse.outliers.polish`), a median polish (Tukey, "Exploratory data analysis", 1977, chapter
11) whose rows and columns are the candidates. That whose effect (the median remainder of its pairs) most reduces the
sum of absolute remainders becomes an outlier, is subtracted class by class, and so on until none stands out: a slow
link is preferred to the nodes behind it, a slow node to the links of some of its pairs. One step at a time may take a
wrong turn where several causes meet at a leaf: so the decomposition is repeated with each chosen node put last, its
pairs hidden meanwhile, and without each other outlier. The one that leaves least, for its number of outliers, counts.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from weft.analyse.outliers import rule
from weft.analyse.outliers.finer import find_groups, find_memories, find_pairs, find_ranks, find_routes
from weft.analyse.outliers.outlier import Outlier, Role, Sighting, merge_outliers
from weft.analyse.outliers.polish import Candidate, Decomposition, Effect, Floats, Polish, list_candidates, turned
from weft.analyse.outliers.remainders import ALONE, TOGETHER, Remainders, load_factors, remainders
from weft.analyse.pairs.matrix import NodeMatrix, node_matrix
from weft.analyse.pairs.pair_times import PairTimes
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import robust_deviation
from weft.analyse.tables.pairs import LEAST_SHOWN_S
from weft.format import format_factor

Candidates = Sequence[Candidate]
MOST_OUTLIERS = 12
#: An outlier slows its pairs in each hop class by this share of its effect: a node or a switch slows its near pairs,
#: too, where a cable behind it does not. A class with fewer pairs of nodes, each there and back, shows nothing.
LEAST_OF_CLASS = 0.25
FEWEST_OF_CLASS = 4
MOST_TURNS = 6  # the most outliers that are put last or left out, one by one, to see what others would leave
WORTH = 30.0  # an outlier more, or another decomposition, must explain so many standard deviations of a pair of nodes
#: Nearly the same pairs use a node and the link down to it: if the two fit this equally well, the node is chosen.
NODE_FIRST = 1.05
TRIED = 10
CLEAR = 0.5  # a direction with more than this part of the difference is the slow one: 3/4 of the excess against 1/4
#: ... unless the other one is also this much slower than usual, by `PEER_SIGMAS` standard errors of its clocks.
LEAST_OTHER = 0.15
FEWEST = 2
UNEQUAL = 1.2  # the two directions of a cable are reported apart if their factors differ by more than this


def decompose(times: Floats, places: Places, candidates: Candidates) -> Decomposition:
    """Class times and outliers of ``times``, seconds (nodes, nodes), nan where not measured; diagonal left out."""
    start = Polish(times, places)
    able = [candidate for candidate in candidates if start.contrasts(candidate)]
    if not able:
        return start.result()
    first = _chosen(times, places, able)
    fits = [first, *_repeated(first.chosen, times, places, able)]
    left = [known[np.isfinite(known)] for known in (fit.remainder() for fit in fits)]
    worth = WORTH * min(map(robust_deviation, left))
    costs = [float(np.abs(each).sum()) + worth * len(fit.groups()) for fit, each in zip(fits, left, strict=True)]
    best = costs.index(min(costs))
    return fits[best if costs[best] < costs[0] - worth else 0].result()


def _repeated(chosen: Candidates, times: Floats, places: Places, able: Candidates) -> Iterator[Polish]:
    """Other decompositions: with each chosen node put last, without each other outlier."""
    for one in chosen[:MOST_TURNS]:
        if one.kind == "node":
            yield _chosen(times, places, able, last=one)
        else:
            # its pairs would be explained by all ways from its leaf to others, one by one, and better by some scatter
            others = [each for each in able if each.kind != "leaves" and each is not one and one not in each.parts]
            yield _chosen(times, places, others)


def _chosen(times: Floats, places: Places, able: Candidates, last: Candidate | None = None) -> Polish:
    """Outliers chosen one by one until none stands out; `last` after the others, which are judged without its pairs."""
    fit = Polish(times, places)
    while len(fit.chosen) < MOST_OUTLIERS:
        if found := _most_telling(fit, able, last):
            fit.choose(found)
        elif last is None:
            break
        else:
            last = None
    return fit


def _most_telling(fit: Polish, able: Candidates, hidden: Candidate | None) -> Candidate | None:
    """The candidate that explains most of the remainders, if any stands out; none of those with a `hidden` one."""
    left = fit.remainder()
    left[fit.touched() > 1] = np.nan  # where two outliers meet, the remainder depends on both
    if hidden is not None:
        left[hidden.cells] = np.nan
    gains: list[tuple[float, int]] = []
    for index, (candidate, middle) in enumerate(zip(able, _middles(left, able).tolist(), strict=True)):
        if middle < np.log(rule.LEAST_FACTOR) or all(part in fit.chosen for part in candidate.parts or (candidate,)):
            continue
        known = np.isfinite(left[candidate.cells])
        value, expected = left[candidate.cells][known], _expected(fit, candidate, left)[known]
        if expected.min() < np.log(rule.LEAST_FACTOR) or (value > expected / 2).mean() < rule.LEAST_SHARE:
            continue
        # slower in each of its hop classes
        kinds = fit.kind[candidate.cells][known]
        of_class = [value[kinds == kind] for kind in np.unique(kinds)]
        least = LEAST_OF_CLASS * float(np.median(expected))
        if all(np.median(each) >= least for each in of_class if each.size >= FEWEST_OF_CLASS):
            gain = float(np.abs(value).sum() - np.abs(value - expected).sum())
            gains.append((gain * (NODE_FIRST if candidate.kind == "node" else 1.0), index))
    tried = (able[index] for _, index in sorted(gains, reverse=True)[:TRIED])
    return next((candidate for candidate in tried if _stands_out(fit, left, able, candidate)), None)


def _expected(fit: Polish, candidate: Candidate, left: Floats) -> Floats:
    """The remainder that a candidate explains at each of its pairs: the median of pairs that cross it the same way."""
    value, met = left[candidate.cells], candidate.directions(fit.count)
    found = np.zeros(len(value))
    for case in np.unique(met):
        known = value[(met == case) & np.isfinite(value)]
        found[met == case] = np.median(known) if known.size else np.log(rule.LEAST_FACTOR)
    return found


def _middles(left: Floats, able: Candidates) -> Floats:
    known = np.isfinite(left)
    values = (left[candidate.cells[known[candidate.cells]]] for candidate in able)
    return np.array([np.median(value) if value.size else 0.0 for value in values])


def _stands_out(fit: Polish, left: Floats, able: Candidates, candidate: Candidate) -> bool:
    """Whether a candidate differs from the pairs that it does not touch, and from candidates of its kind."""
    expected = _expected(fit, candidate, left)
    # the scatter of pairs and peers is visible only after the candidate's share is subtracted
    without = left.copy()
    without[candidate.cells] -= expected
    effect, pairs = fit.contrast(candidate, left)
    error = rule.ERROR_OF_MEDIAN * robust_deviation(without[np.isfinite(without)]) / np.sqrt(pairs)
    if effect < max(np.log(rule.LEAST_FACTOR), rule.MATRIX_SIGMAS * error):
        return False
    peers = [other for other in able if other.kind == candidate.kind and other is not candidate]
    if len(peers) < rule.FEWEST_PEERS:
        return True
    usual = _middles(without, peers)
    return float(np.median(expected) - np.median(usual)) >= rule.PEER_SIGMAS * robust_deviation(usual)


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
    balance = (out - into) / (out + into)
    if abs(balance) <= CLEAR or min(out, into) > max(LEAST_OTHER * usual, rule.PEER_SIGMAS * error):
        return "both", None
    return ("sender", 1 + out / usual) if balance > 0 else ("receiver", 1 + into / usual)


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
        found += [*_all_named(each, candidates), *find_routes(each.matrix, each.parts, places)]
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
        found += list(find_pairs(others, places, groups, found))
    return merge_outliers(found), taken


def _taken(times: PairTimes, candidates: Candidates, *, loaded: bool, mean: bool = False) -> Taken:
    places, time_s, forward_s = times.ends.places, times.time_s, times.over_launches("forward_s")
    factor = load_factors(times, mean=mean) if loaded else None
    if factor is not None:
        time_s, forward_s = time_s * factor, forward_s * factor
    matrix = node_matrix(times, time_s, forward_s)
    parts = decompose(matrix.time_s, places, candidates)
    return Taken(matrix, parts, remainders(times, time_s, parts))


def _all_named(taken: Taken, candidates: Candidates) -> Iterator[Outlier]:
    left = list(taken.parts.effects)
    while left:
        effect = left.pop(0)
        back = next((other for other in left if f"link {effect.candidate.back}" in other.candidate.titles), None)
        if back is None:
            yield _named(effect, taken.matrix, taken.parts)
        else:
            left.remove(back)
            cable = next(each for each in candidates if f"cable {effect.candidate.cable}" in each.titles)
            yield _cable(effect, back, taken.matrix, cable)


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
    """A slow candidate with its direction; which of two links with the same pairs is slow, only one-way times show."""
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
