# SPDX-License-Identifier: BSD-3-Clause
"""The Wilcoxon-Mann-Whitney test, exact also with ties, and Holm's correction (METHOD 15).

The statistic is the sum of the midranks of one side. Its null distribution is that of a draw of ``len(first)`` of all
midranks without replacement. Up to `EXACT_UP_TO` values a side it is counted exactly: doubled midranks, which are
integers, are added one value after the other (Streitberg and Roehmel's shift algorithm, 1986).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

#: Values a side up to which the distribution is counted; beyond, the normal approximation is good to 1e-3 at p = 0.01.
EXACT_UP_TO = 50


def doubled_midranks(values: Sequence[float]) -> tuple[int, ...]:
    """Twice the midrank (from 1) of each value: an integer even for ties."""
    ordered = sorted(values)
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for place, value in enumerate(ordered, 1):
        first.setdefault(value, place)
        last[value] = place
    return tuple(first[value] + last[value] for value in values)


def rank_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p value of the null hypothesis that both sides come from one distribution.

    Raises ValueError: A side is empty.
    """
    if not first or not second:
        raise ValueError("a side without values has no rank test")
    doubled = doubled_midranks([*first, *second])
    seen = sum(doubled[: len(first)])
    if max(len(first), len(second)) > EXACT_UP_TO:
        return _approximate(doubled, len(first), seen)
    sums, shares = null_distribution(tuple(sorted(doubled)), len(first))
    mean = len(first) * (len(doubled) + 1)  # of a doubled midrank: total + 1
    return min(1.0, float(shares[np.abs(sums - mean) >= abs(seen - mean)].sum()))


@lru_cache(maxsize=256)
def null_distribution(doubled: tuple[int, ...], drawn: int) -> tuple[np.ndarray, np.ndarray]:
    """All sums of ``drawn`` doubled midranks, and the probability of each: two arrays of shape (sums,), no unit."""
    ways = np.zeros((drawn + 1, sum(sorted(doubled)[-drawn:]) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        for size in range(drawn, 0, -1):
            ways[size, rank:] += ways[size - 1, : ways.shape[1] - rank]
    return np.arange(ways.shape[1]), ways[drawn] / math.comb(len(doubled), drawn)


def _approximate(doubled: Sequence[int], drawn: int, seen: int) -> float:
    """Normal approximation of the rank sum, its variance taken from the midranks themselves (so ties count)."""
    total = len(doubled)
    mean = sum(doubled) / total
    variance = sum((rank - mean) ** 2 for rank in doubled) / (total - 1) * drawn * (total - drawn) / total
    if variance == 0:
        return 1.0
    distance = max(0.0, abs(seen - drawn * mean) - 1.0)  # continuity: doubled sums are two apart
    return min(1.0, 2 * NormalDist().cdf(-distance / math.sqrt(variance)))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm, 1979).

    If all hypotheses with p <= alpha are rejected, the chance of any false rejection is at most alpha.
    """
    order = sorted(range(len(probabilities)), key=lambda index: probabilities[index])
    adjusted = [0.0] * len(probabilities)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * probabilities[index]))
        adjusted[index] = largest
    return adjusted
