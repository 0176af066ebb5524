# SPDX-License-Identifier: BSD-3-Clause
r"""Piecewise linear fit of time against message size: each piece is the latency and rate of one protocol, t = a + b s.

A piece over sizes s_i with times t_i and their relative standard errors e_i minimises

.. math:: R = \sum_i \Bigl( \frac{t_i - a - b s_i}{t_i e_i} \Bigr)^2

so every size has the same weight, whether it takes 1 us or 10 ms. The pieces of a series are the cheapest partition,
found by dynamic programming (Bellman 1961; for change-points Auger and Lawrence 1989), which needs no start value.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

#: Latency and rate would fit fewer points than this exactly, without any evidence.
LEAST = 3
#: If the time grows faster than this power of the size, there is a step between: no rate explains it. A cache overflow
#: reaches 2 at most.
STEEPEST = 3.0


@dataclass(frozen=True)
class Piece:
    """Sizes ``first`` to ``last`` (indices, inclusive) under one latency and one rate."""

    first: int
    last: int
    latency_s: float  # a
    per_byte_s: float  # b
    # covariance of (a, b), for the given relative standard errors
    covariance: tuple[tuple[float, float], tuple[float, float]]

    def at(self, size: float) -> float:
        """Seconds that the piece predicts for a size."""
        return self.latency_s + self.per_byte_s * size

    def error_at(self, size: float) -> float:
        """Standard error of the prediction, in seconds."""
        (aa, ab), (_, bb) = self.covariance
        return max(aa + 2 * ab * size + bb * size * size, 0.0) ** 0.5


class Pieces:
    """Costs of every possible piece of one series.

    `sizes`, `seconds`, `errors`: ascending sizes in bytes, times in seconds, and their relative standard errors.
    """

    def __init__(self, sizes: Numbers, seconds: Numbers, errors: Numbers) -> None:
        self.sizes = sizes
        weight = 1 / errors
        self._scale = float(np.median(seconds)), float(np.median(seconds) / max(np.median(sizes), 1.0))
        self._u, self._v, self._w = weight * self._scale[0] / seconds, weight * self._scale[1] * sizes / seconds, weight
        self.costs = self._all_costs()

    def _all_costs(self) -> Numbers:
        """R of every piece: rows by first point, columns by last; infinite if it has too few points."""
        count = len(self.sizes)
        inside = np.triu(np.ones((count, count)))
        u, v, w = self._u, self._v, self._w
        # sums start anew at each first point: differences of running sums would lose the small sizes
        sums = (np.cumsum(inside * (x * y), axis=1) for x, y in ((u, u), (u, v), (v, v), (u, w), (v, w), (w, w)))
        uu, uv, vv, uw, vw, ww = sums
        determinant = uu * vv - uv * uv
        # two sizes alone may be collinear to rounding: such a piece is never used
        safe = np.where(determinant > 1e-12 * uu * vv, determinant, np.inf)
        found = np.maximum(ww - (uw * uw * vv - 2 * uw * vw * uv + vw * vw * uu) / safe, 0.0)
        long_enough = np.triu(np.ones((count, count), dtype=bool), LEAST - 1)
        latency = (uw * vv - vw * uv) / safe * self._scale[0]
        bytes_s = (vw * uu - uw * uv) / safe * self._scale[1] * self.sizes[:, None]
        too_steep = (bytes_s > 0) & (bytes_s > STEEPEST * (latency + bytes_s))
        return np.where(long_enough & ~too_steep, found, np.inf)

    def piece(self, first: int, last: int) -> Piece:
        """The best latency and rate of some points."""
        u, v, w = (column[first : last + 1] for column in (self._u, self._v, self._w))
        inverse = np.linalg.inv(np.array([[u @ u, u @ v], [u @ v, v @ v]]))
        a, b = inverse @ np.array([u @ w, v @ w])
        scale = np.array(self._scale)
        (aa, ab), (_, bb) = inverse * np.outer(scale, scale)
        covariance = ((float(aa), float(ab)), (float(ab), float(bb)))
        return Piece(first, last, float(a * scale[0]), float(b * scale[1]), covariance)

    def cost(self, cuts: tuple[int, ...]) -> float:
        """R of the pieces that begin at 0 and at each cut."""
        return float(sum(self.costs[begin, end - 1] for begin, end in pairwise((0, *cuts, len(self.sizes)))))

    def partitions(self, most: int) -> list[tuple[int, ...]]:
        """The cheapest cuts into 1, 2, ... ``most`` pieces (as many as there are points for)."""
        count = len(self.sizes)
        best = [self.costs[0].copy()]
        came: list[NDArray[np.int64]] = []
        for _ in range(1, min(most, count // LEAST)):
            # row: where the last piece begins; column: where it ends
            total = np.full((count, count), np.inf)
            total[1:] = best[-1][:-1, None] + self.costs[1:]
            came.append(np.argmin(total, axis=0))
            best.append(np.min(total, axis=0))
        found: list[tuple[int, ...]] = []
        for pieces in range(len(best)):
            if np.isfinite(best[pieces][-1]):
                cuts: tuple[int, ...] = (count,)
                for step in reversed(came[:pieces]):
                    cuts = (int(step[cuts[0] - 1]), *cuts)
                found.append(cuts[:-1])
        return found
