# SPDX-License-Identifier: BSD-3-Clause
"""Which direction of a culprit is slow.

Half a round trip holds both directions and does not care for clocks: it says who is slow. The time one way says in
which direction; a clock that is wrong by d makes a node's ways out look longer by d and its ways in shorter, so only
the difference of the two is asked, against the whole.
"""

import numpy as np

from weft.analyse.pairs.culprit import Role
from weft.analyse.pairs.matrix import NodeMatrix
from weft.analyse.pairs.median_polish import Decomposition, Effect, deviation

#: A direction that holds more than this part of the difference is the slow one: 3/4 of the excess against 1/4.
CLEAR = 0.5
#: ... unless the other one is this much slower than usual, too, and by so many standard errors of its clocks.
LEAST_OTHER = 0.15
SIGMAS = 6.0
FEWEST = 2


def direction(effect: Effect, matrix: NodeMatrix, parts: Decomposition) -> tuple[Role, float | None]:
    """The role of a culprit, and how many times slower its slow direction is one way.

    Returns
    -------
    tuple
        ``sender`` where the ways of `Suspect.forth` are slow, ``receiver`` where the ways back are, ``both``, or
        ``unknown`` where the clocks give no time one way; the factor is None but for one direction alone.
    """
    count = len(matrix.time_s)
    alone = (parts.touched.ravel() == 1) | (len(parts.effects) == 1)
    forth = effect.suspect.forth
    forth = forth[alone[forth]]
    back = (forth % count) * count + forth // count
    # where both directions of a pair belong to the way there (a link that a and b both send over) nothing is learnt
    apart = ~np.isin(back, effect.suspect.forth)
    forth, back = forth[apart], back[apart]
    one_way, base = matrix.forward_s.ravel(), _base(matrix, parts)
    known = np.isfinite(one_way[forth]) & np.isfinite(one_way[back]) & np.isfinite(base[forth])
    if known.sum() < FEWEST:
        return "unknown", None
    out = float(np.median(one_way[forth[known]] - base[forth[known]]))
    into = float(np.median(one_way[back[known]] - base[back[known]]))
    usual = float(np.median(base[forth[known]]))
    if out + into <= 0:  # clocks so wrong that they hide what the round trip shows
        return "unknown", None
    if min(out, into) > max(LEAST_OTHER * usual, SIGMAS * _error(matrix, parts, forth[known])):
        return "both", None
    balance = (out - into) / (out + into)
    if balance > CLEAR:
        return "sender", 1 + out / usual
    if balance < -CLEAR:
        return "receiver", 1 + into / usual
    return "both", None


def _error(matrix: NodeMatrix, parts: Decomposition, forth: np.ndarray) -> float:
    """Standard error of the median of these ways one way: each node has one clock, so pairs that share it err alike."""
    clean = parts.touched == 0
    left = (matrix.forward_s - _base(matrix, parts).reshape(clean.shape))[clean]
    left = left[np.isfinite(left)]
    count = len(matrix.time_s)
    clocks = min(len(np.unique(forth // count)), len(np.unique(forth % count)))
    return deviation(left) / float(np.sqrt(clocks)) if left.size else float("inf")


def _base(matrix: NodeMatrix, parts: Decomposition) -> np.ndarray:
    """Seconds one way of each pair's class where nobody is slow: errors of clocks cancel in the median of a class."""
    one_way, base = matrix.forward_s.ravel(), parts.base.ravel()
    found = np.full(one_way.size, np.nan)
    for value in np.unique(base[np.isfinite(base)]):
        of = base == value
        clean = of & (parts.touched.ravel() == 0) & np.isfinite(one_way)
        found[of] = np.median(one_way[clean]) if clean.any() else value
    return found
