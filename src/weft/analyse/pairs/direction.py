# SPDX-License-Identifier: BSD-3-Clause
"""Which direction of a culprit is slow.

Half a round trip contains both directions and needs no synchronised clocks: it shows what is slow. One-way times show
in which direction. A clock that is wrong by d makes the times out of a node longer by d and the times into it shorter,
so only the difference of the two is used, relative to the whole.
"""

import numpy as np

from weft.analyse.pairs.culprit import Role
from weft.analyse.pairs.matrix import NodeMatrix
from weft.analyse.pairs.median_polish import Decomposition, Effect, deviation

#: A direction with more than this part of the difference is the slow one: 3/4 of the excess against 1/4.
CLEAR = 0.5
#: ... unless the other one is also this much slower than usual, by this many standard errors of its clocks.
LEAST_OTHER = 0.15
SIGMAS = 6.0
FEWEST = 2


def direction(effect: Effect, matrix: NodeMatrix, parts: Decomposition) -> tuple[Role, float | None]:
    """The role of a culprit, and the factor by which its slow direction is slower one way."""
    count = len(matrix.time_s)
    alone = (parts.touched.ravel() == 1) | (len(parts.effects) == 1)
    forth = effect.suspect.forth
    forth = forth[alone[forth]]
    back = (forth % count) * count + forth // count
    # if both directions of a pair are in `forth` (a link that a and b both send over), the pair decides nothing
    apart = ~np.isin(back, effect.suspect.forth)
    forth, back = forth[apart], back[apart]
    one_way, base = matrix.forward_s.ravel(), _base(matrix, parts)
    known = np.isfinite(one_way[forth]) & np.isfinite(one_way[back]) & np.isfinite(base[forth])
    if known.sum() < FEWEST:
        return "unknown", None
    out = float(np.median(one_way[forth[known]] - base[forth[known]]))
    into = float(np.median(one_way[back[known]] - base[back[known]]))
    usual = float(np.median(base[forth[known]]))
    if out + into <= 0:  # the clocks are too wrong to show what the round trip shows
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
    """Standard error of the median of these one-way times: pairs with a common node share the error of its clock."""
    clean = parts.touched == 0
    left = (matrix.forward_s - _base(matrix, parts).reshape(clean.shape))[clean]
    left = left[np.isfinite(left)]
    count = len(matrix.time_s)
    clocks = min(len(np.unique(forth // count)), len(np.unique(forth % count)))
    return deviation(left) / float(np.sqrt(clocks)) if left.size else float("inf")


def _base(matrix: NodeMatrix, parts: Decomposition) -> np.ndarray:
    """One-way seconds of each pair's class without culprits: clock errors cancel in the median of a class."""
    one_way, base = matrix.forward_s.ravel(), parts.base.ravel()
    found = np.full(one_way.size, np.nan)
    for value in np.unique(base[np.isfinite(base)]):
        of = base == value
        clean = of & (parts.touched.ravel() == 0) & np.isfinite(one_way)
        found[of] = np.median(one_way[clean]) if clean.any() else value
    return found
