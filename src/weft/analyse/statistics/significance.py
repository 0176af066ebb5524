# SPDX-License-Identifier: BSD-3-Clause
"""Tests of launches against launches (METHOD 15, docs/dev/compare.md).

The Wilcoxon-Mann-Whitney test is exact also with ties: up to `EXACT_UP_TO` values a side its null distribution, of a
draw of ``len(first)`` of all midranks, is counted: doubled midranks, which are integers, are added one value after the
other (Streitberg and Roehmel's shift algorithm, 1986). Holm's correction is over all rows.

The permutation test deals whole launches anew, because the rows of a launch were measured together, and compares each
row's difference with the *largest* of any row in each deal (Westfall and Young's step-down max-T, 1993): that bounds
the chance of one false alarm among all rows, however they correlate, from four launches a side on (2 of 70 deals).
"""

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

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


def adjust_by_holm(probabilities: Sequence[float]) -> list[float]:
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


def student_tail(t: float, freedom: int) -> float:
    """Probability that Student's t of so many degrees of freedom is above ``t`` (Abramowitz and Stegun, 26.7.3)."""
    angle = math.atan(t / math.sqrt(freedom))
    term = total = math.cos(angle) if freedom % 2 else 1.0
    for k in range(2 + freedom % 2, freedom - 1, 2):
        term *= (k - 1) / k * math.cos(angle) ** 2
        total += term
    inside = math.sin(angle) * total if freedom > 1 else 0.0
    both = 2 / math.pi * (angle + inside) if freedom % 2 else inside
    return (1 - both) / 2


class TrimmedMean(NamedTuple):
    """Mean without the extremes, its standard error in the unit of the values, and degrees of freedom."""

    value: float
    error: float
    freedom: int


#: Chance of any false one among all findings of a run that are tested together.
FAMILY = 0.01
#: Launches that agree closer than this do so by chance: no clock here is better for a call of a microsecond.
LEAST_SPREAD = 0.01
#: From so many values on the smallest and the largest do not count: one launch in a dozen is disturbed as a whole.
TRIMMED_FROM = 6


def trimmed_mean(values: Sequence[float], least: float = LEAST_SPREAD) -> TrimmedMean:
    """Mean of values without the smallest and the largest, with the error by their winsorised spread (Yuen, 1974).

    A spread below ``least`` is taken as that: few values agree by chance, and clocks tick.
    """
    ordered, count = sorted(values), len(values)
    cut = 1 if count >= TRIMMED_FROM else 0
    inner = ordered[cut : count - cut]
    spread = max(statistics.stdev([*inner[:1] * cut, *inner, *inner[-1:] * cut]), least)
    return TrimmedMean(statistics.fmean(inner), spread * math.sqrt(count) / len(inner), len(inner) - 1)


def paired_test(differences: TrimmedMean, over: float) -> float:
    """One-sided p value of the null hypothesis that paired differences have a mean of at most ``over``."""
    return student_tail((differences.value - over) / differences.error, differences.freedom)


#: Up to this number all deals are tried (7 launches a side make 3,432); beyond, this many are drawn at random.
MOST_DEALS = 5_000


def deal_launches(first: int, second: int, seed: int) -> np.ndarray:
    """Which launches count as the first side's, one deal per row; row 0 is the deal as measured."""
    total = first + second
    if math.comb(total, first) <= MOST_DEALS:
        found = np.zeros((math.comb(total, first), total), dtype=bool)
        for row, chosen in enumerate(combinations(range(total), first)):
            found[row, list(chosen)] = True
        return found
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(total), (MOST_DEALS, 1)), axis=1)
    order[0] = np.arange(total)
    return order < first


def scale_differences(logs: np.ndarray, dealt: np.ndarray, error: float) -> np.ndarray:
    """Each row's difference between the two sides of each deal, in units of its spread.

    `logs`: (launches, rows) logarithms of medians; NaN where a launch has none.
    """
    known = np.isfinite(logs)
    centred = np.where(known, logs - np.nanmean(logs, axis=0), 0.0)  # less cancellation in the squares
    one, other = dealt.astype(float), (~dealt).astype(float)
    counts = [side @ known.astype(float) for side in (one, other)]
    sums = [side @ centred for side in (one, other)]
    enough = np.minimum(counts[0], counts[1]) >= 2
    n1, n2 = (np.where(enough, count, 2.0) for count in counts)
    within = (centred**2).sum(axis=0) - sums[0] ** 2 / n1 - sums[1] ** 2 / n2
    spread = np.sqrt(np.maximum(within, 0.0) / (n1 + n2 - 2))
    scale = (spread + error) * np.sqrt(1 / n1 + 1 / n2)
    return np.where(enough, np.abs(sums[0] / n1 - sums[1] / n2) / scale, 0.0)


def adjust_by_deals(logs: np.ndarray, first: int, error: float, seed: int) -> np.ndarray:
    """Adjusted p of each row: the share of deals in which any row not yet settled differs at least as much.

    `logs`: (launches, rows) logarithms of medians, the first side's launches first.
    """
    if logs.shape[1] == 0:
        return np.zeros(0)
    found = scale_differences(logs, deal_launches(first, logs.shape[0] - first, seed), error)
    order = np.argsort(-found[0], kind="stable")
    # the largest over this row and all that differ less: a row that is settled no longer hides the others
    largest = np.maximum.accumulate(found[:, order[::-1]], axis=1)[:, ::-1]
    share = (largest >= largest[0] * (1 - 1e-12)).mean(axis=0)
    result = np.empty(len(order))
    result[order] = np.maximum.accumulate(share)
    return result
