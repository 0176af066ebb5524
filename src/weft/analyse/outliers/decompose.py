# SPDX-License-Identifier: BSD-3-Clause
"""Which candidates explain the slow pairs of a node matrix: a robust decomposition on the logarithm of the time.

The model is log t(a, b) = base(class of a, b) + what the outliers on the way there and back add + a remainder
(`weft.analyse.outliers.polish`). It is a median polish (Tukey, "Exploratory data analysis", 1977, chapter 11)
whose rows and columns are the candidates. The candidate whose effect (the median remainder of its pairs) most reduces
the sum of absolute remainders becomes an outlier, its effect is subtracted class by class, and this repeats until none
stands out. So a slow link is preferred to the nodes behind it, and a slow node to the links that some of its pairs
cross. A round trip may cross a cable or a switch once or twice; these have an effect for each case.

One step at a time may take a wrong turn: where several causes meet at a leaf, a cable explains most of what a link and
a node behind it did, or some nodes what a cable did, or a node behind a slow link takes the link's part for its own. So
the decomposition is repeated with each chosen node put last, its pairs hidden while the others are chosen, and without
each other outlier. The one that leaves least, for its number of outliers, counts.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from weft.analyse.outliers.candidates import Candidate
from weft.analyse.outliers.polish import Decomposition, Floats, Polish
from weft.analyse.outliers.rule import (
    ERROR_OF_MEDIAN,
    FEWEST_PEERS,
    LEAST_FACTOR,
    LEAST_SHARE,
    MATRIX_SIGMAS,
    PEER_SIGMAS,
)
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import robust_deviation

MOST_OUTLIERS = 12
#: An outlier slows its pairs in each hop class by this share of its effect: a node or a switch slows its near pairs,
#: too, where a cable behind it does not. A class with fewer pairs of nodes, each there and back, shows nothing.
LEAST_OF_CLASS = 0.25
FEWEST_OF_CLASS = 4
#: The most outliers that are put last or left out, one by one, to see what others would leave.
MOST_TURNS = 6
#: An outlier more, or another decomposition, must explain so many standard deviations of a pair of nodes.
WORTH = 30.0
#: Nearly the same pairs use a node and the link down to it: if the two fit this equally well, the node is chosen.
NODE_FIRST = 1.05
TRIED = 10


def decompose(times: Floats, places: Places, candidates: Sequence[Candidate]) -> Decomposition:
    """Decompose a node matrix into class times and outliers.

    `times`: seconds of every two nodes, shape (nodes, nodes); nan where not measured. The diagonal is left out.
    """
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


def _repeated(
    chosen: Sequence[Candidate], times: Floats, places: Places, able: Sequence[Candidate]
) -> Iterator[Polish]:
    """Other decompositions: with each chosen node put last, without each other outlier."""
    for one in chosen[:MOST_TURNS]:
        if one.kind == "node":
            yield _chosen(times, places, able, last=one)
        else:
            # its pairs would be explained by all ways from its leaf to others, one by one, and better by some scatter
            others = [each for each in able if each.kind != "leaves" and each is not one and one not in each.parts]
            yield _chosen(times, places, others)


def _chosen(times: Floats, places: Places, able: Sequence[Candidate], last: Candidate | None = None) -> Polish:
    """Outliers chosen one by one until none stands out; `last` after the others, which are judged without its pairs."""
    fit = Polish(times, places)
    while len(fit.chosen) < MOST_OUTLIERS:
        found = _most_telling(fit, able, last)
        if found is not None:
            fit.choose(found)
        elif last is None:
            break
        else:
            last = None
    return fit


def _most_telling(fit: Polish, able: Sequence[Candidate], hidden: Candidate | None) -> Candidate | None:
    """The candidate that explains most of the remainders, if any stands out; none of those with a `hidden` one."""
    left = fit.remainder()
    left[fit.touched() > 1] = np.nan  # where two outliers meet, the remainder depends on both
    if hidden is not None:
        left[hidden.cells] = np.nan
    gains: list[tuple[float, int]] = []
    for index, (candidate, middle) in enumerate(zip(able, _middles(left, able).tolist(), strict=True)):
        if middle < np.log(LEAST_FACTOR) or all(part in fit.chosen for part in candidate.parts or (candidate,)):
            continue
        known = np.isfinite(left[candidate.cells])
        value, expected = left[candidate.cells][known], _expected(fit, candidate, left)[known]
        if expected.min() < np.log(LEAST_FACTOR) or (value > expected / 2).mean() < LEAST_SHARE:
            continue
        if _in_each_class(fit, candidate, left, float(np.median(expected))):
            gain = float(np.abs(value).sum() - np.abs(value - expected).sum())
            gains.append((gain * (NODE_FIRST if candidate.kind == "node" else 1.0), index))
    tried = (able[index] for _, index in sorted(gains, reverse=True)[:TRIED])
    return next((candidate for candidate in tried if _stands_out(fit, left, able, candidate)), None)


def _in_each_class(fit: Polish, candidate: Candidate, left: Floats, expected: float) -> bool:
    """Whether a candidate's pairs are slower in each of their hop classes."""
    value, kinds = left[candidate.cells], fit.kind[candidate.cells]
    known = [value[(kinds == kind) & np.isfinite(value)] for kind in np.unique(kinds)]
    return all(np.median(each) >= LEAST_OF_CLASS * expected for each in known if each.size >= FEWEST_OF_CLASS)


def _expected(fit: Polish, candidate: Candidate, left: Floats) -> Floats:
    """The remainder that a candidate explains at each of its pairs: the median of pairs that cross it the same way."""
    value, met = left[candidate.cells], candidate.directions(fit.count)
    found = np.zeros(len(value))
    for case in np.unique(met):
        known = value[(met == case) & np.isfinite(value)]
        found[met == case] = np.median(known) if known.size else np.log(LEAST_FACTOR)
    return found


def _middles(left: Floats, able: Sequence[Candidate]) -> Floats:
    """Median remainder of each candidate's pairs."""
    known = np.isfinite(left)
    values = (left[candidate.cells[known[candidate.cells]]] for candidate in able)
    return np.array([np.median(value) if value.size else 0.0 for value in values])


def _stands_out(fit: Polish, left: Floats, able: Sequence[Candidate], candidate: Candidate) -> bool:
    """Whether a candidate differs from the pairs that it does not touch, and from candidates of its kind."""
    expected = _expected(fit, candidate, left)
    # the scatter of pairs and peers is visible only after the candidate's share is subtracted
    without = left.copy()
    without[candidate.cells] -= expected
    effect, pairs = fit.contrast(candidate, left)
    error = ERROR_OF_MEDIAN * robust_deviation(without[np.isfinite(without)]) / np.sqrt(pairs)
    if effect < max(np.log(LEAST_FACTOR), MATRIX_SIGMAS * error):
        return False
    peers = [other for other in able if other.kind == candidate.kind and other is not candidate]
    if len(peers) < FEWEST_PEERS:
        return True
    usual = _middles(without, peers)
    return float(np.median(expected) - np.median(usual)) >= PEER_SIGMAS * robust_deviation(usual)
