# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices of all-to-alls in which some ranks have more to do than others, by how uneven they are.

The skew is the largest sum of a column (what one rank receives) over the mean one. Every rank sends as much as any
other, except under ``zipf``, whose rows are as skewed as its columns.

``hot``   one rank receives ``skew`` times the mean, the others alike
``zipf``  the k-th busiest receiver and the k-th busiest sender have 1 / k^a of the busiest one's, in shuffled orders
``moe``   receivers as in ``zipf``; each sender has preferences of its own, as tokens that a gate sends to experts

Graphs, in which all blocks are alike and most ranks exchange none:

``cartesian``  a torus of two dimensions, as square as the ranks allow: each rank has its four neighbours
``random``     each rank sends to four others drawn at random
"""

import math
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SKEWED = ("zipf", "hot", "moe")
NAME = re.compile(rf"({'|'.join(SKEWED)})(\d+(?:\.\d+)?)")
GRAPHS = ("cartesian", "random")
DEGREE = 4
SCALE = 10**6  # the largest weight
SEED = 33
TASTE = 1.0  # spread of a sender's own preferences, as the standard deviation of their logarithm
ROUNDS = 200


def is_skewed(pattern: str) -> bool:
    """Whether it is the name of a pattern with its skew."""
    return NAME.fullmatch(pattern) is not None


def has_weights(pattern: str) -> bool:
    """Whether a pattern's weights are made here: by its skew, or of a graph."""
    return is_skewed(pattern) or pattern in GRAPHS


def made_weights(pattern: str, ranks: int) -> NDArray[np.int64]:
    """Weights of ``zipf2.5`` or ``cartesian``, row i what rank i sends to each, shape (ranks, ranks)."""
    return _graph(pattern, ranks) if pattern in GRAPHS else skewed_weights(pattern, ranks)


def _graph(pattern: str, ranks: int) -> NDArray[np.int64]:
    """1 from each rank to its neighbours; a rank alone is its own."""
    found = np.zeros((ranks, ranks), dtype=np.int64)
    here = np.arange(ranks)
    if pattern == "cartesian":
        columns = ranks // max(rows for rows in range(1, math.isqrt(ranks) + 1) if ranks % rows == 0)
        row, column = np.divmod(here, columns)
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            found[here, (row + down) % (ranks // columns) * columns + (column + right) % columns] = 1
    else:
        rng = np.random.default_rng(SEED)
        for rank in range(ranks):
            others = rng.permutation(ranks)
            found[rank, others[others != rank][:DEGREE]] = 1
    np.fill_diagonal(found, ranks == 1)
    return found


def skew_of(pattern: str) -> float:
    """The skew in a name: 2.5 of ``zipf2.5``."""
    return float(pattern.lstrip("zipfhotme"))


@lru_cache(maxsize=8)
def skewed_weights(pattern: str, ranks: int) -> NDArray[np.int64]:
    """Weights of ``zipf2.5``, row i what rank i sends to each, shape (ranks, ranks); the largest is a million."""
    kind, skew = pattern.rstrip("0123456789."), min(skew_of(pattern), float(ranks))
    rng = np.random.default_rng(SEED)
    if kind == "hot":
        columns = np.full(ranks, (ranks - skew) / max(1, ranks - 1))
        columns[rng.integers(ranks)] = skew
        shares = np.tile(columns, (ranks, 1))
    else:
        falling = _falling(ranks, skew)
        columns = rng.permutation(falling)
        rows = rng.permutation(falling) if kind == "zipf" else np.ones(ranks)
        shares = np.outer(rows, columns)
        if kind == "moe":
            shares *= rng.lognormal(0.0, TASTE, (ranks, ranks))
            for _ in range(ROUNDS):  # back to the sums of rows and columns (Sinkhorn, 1967)
                shares *= (ranks / shares.sum(axis=1))[:, np.newaxis]
                shares *= columns * ranks / shares.sum(axis=0)
    return np.asarray(np.round(shares * (SCALE / float(shares.max()))), dtype=np.int64)


def peak_of(weights: NDArray[np.int64]) -> float:
    """The largest block over the mean one."""
    return float(weights.max() / weights.mean())


def _falling(ranks: int, skew: float) -> NDArray[np.float64]:
    """1 / k^a for k = 1 .. ranks with mean 1 and the first one ``skew``; ``a`` by bisection."""
    place = np.arange(1.0, ranks + 1)
    low, high = 0.0, 60.0
    for _ in range(100):
        power = (low + high) / 2
        is_flat = 1 / (place**-power).mean() < skew
        low, high = (power, high) if is_flat else (low, power)
    found = place**-high
    return found / found.mean()
