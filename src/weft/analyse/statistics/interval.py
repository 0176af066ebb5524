# SPDX-License-Identifier: BSD-3-Clause
"""The interval of a median over launches (METHOD 9), and tests of launches against launches (METHOD 15).

Samples of one launch share what it met (places of processes, pages, routes): the launch is the unit. The value is the
median of the launches' medians, its interval from `FEWEST` on by order statistics, interpolated to 95 %
(Hettmansperger and Sheather, 1986; docs/method.md); of fewer their range, with what it covers; of one by its own
samples. A model has none. The ratio of two medians has a bootstrap interval: whole launches are drawn, the same draw
for all rows.

The Wilcoxon-Mann-Whitney test is exact also with ties: up to `EXACT_UP_TO` values a side the null distribution of
doubled midranks, which are integers, is counted (Streitberg and Roehmel's shift algorithm, 1986). The permutation
test deals whole launches anew, and compares each row's difference with the *largest* of any row in each deal
(Westfall and Young's step-down max-T, 1993): that bounds the chance of one false alarm among all rows, however they
correlate, from four launches a side on (2 of 70 deals; docs/dev/compare.md).
"""

import math
import statistics
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, combinations
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from weft.analyse.statistics.quantile import median_ranks

Kind = Literal[
    "", "none", "range of the model", "range of presets", "within one launch", "range of launches", "over launches"
]
CONFIDENCE = 0.95
FEWEST = 6  # under so many launches even their whole range covers less than 95 %
#: Of a time that a model gives.
MODELLED, RANGE_OF_MODEL, RANGE_OF_PRESETS = "none", "range of the model", "range of presets"
RANGES = frozenset({RANGE_OF_MODEL, RANGE_OF_PRESETS})
DRAWS = 4000
#: Values a side up to which the distribution is counted; beyond, the normal approximation is good to 1e-3 at p = 0.01.
EXACT_UP_TO = 50
FAMILY = 0.01  # chance of any false one among all findings of a run that are tested together
#: Launches that agree closer than this do so by chance: no clock here is better for a call of a microsecond.
LEAST_SPREAD = 0.01
#: From so many values on the smallest and the largest do not count: one launch in a dozen is disturbed as a whole.
TRIMMED_FROM = 6
#: Up to this number all deals are tried (7 launches a side make 3,432); beyond, this many are drawn at random.
MOST_DEALS = 5_000


class Interval(NamedTuple):
    """Ends in the unit of the values, the probability that they hold the true median, and what kind it is."""

    low: float | None
    high: float | None
    coverage: float | None
    kind: Kind


NO_INTERVAL = Interval(None, None, None, "none")


def interval_over_launches(medians: Sequence[float], within: Interval) -> Interval:
    """The interval of the median of the launches' medians. Raises ValueError: there is no launch."""
    ordered, count = sorted(medians), len(medians)
    if not count:
        raise ValueError("no interval of no launches")
    if count == 1:
        return within._replace(kind="within one launch")
    if count < FEWEST:
        return Interval(ordered[0], ordered[-1], 1 - 2.0 ** (1 - count), "range of launches")
    rank, share = interpolate_ranks(count)
    low = (1 - share) * ordered[rank - 1] + share * ordered[rank]
    high = (1 - share) * ordered[-rank] + share * ordered[-rank - 1]
    return Interval(low, high, CONFIDENCE, "over launches")


@lru_cache(maxsize=256)
def interpolate_ranks(count: int) -> tuple[int, float]:
    """D and lambda of ``count`` launches, at least `FEWEST`."""
    rank, _, covered = median_ranks(count, CONFIDENCE)
    next_covered = covered - 2 * math.comb(count, rank) / 2**count
    place = (covered - CONFIDENCE) / (covered - next_covered)
    return rank, (count - rank) * place / (rank + (count - 2 * rank) * place)


def student_quantile(probability: float, freedom: int, terms: int = 4) -> float:
    """Quantile of Student's t by its expansion in 1/freedom (Abramowitz and Stegun, 26.7.5): good to 1 % from 3."""
    z = NormalDist().inv_cdf(probability)
    parts = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    found = z
    for power, part in enumerate(parts[:terms], 1):
        found += part / freedom**power
    return found


def outer_share_of_draws(first: int, second: int) -> float:
    """Share of draws left out at each end (Hesterberg's expanded percentile interval, 2015). A bootstrap of n launches
    is too narrow by sqrt((n - 1) / n), and normal, not Student's t: ends move outwards.
    """
    least = min(first, second)
    wide = math.sqrt(least / (least - 1)) * student_quantile((1 + CONFIDENCE) / 2, first + second - 2)
    return NormalDist().cdf(-wide)


def _draw_medians(logs: np.ndarray, rng: "np.random.Generator") -> np.ndarray:
    """Medians over launches drawn with replacement, shape (draws, rows), in the unit of ``logs`` (launches, rows)."""
    chosen = rng.integers(0, logs.shape[0], (DRAWS, logs.shape[0]))
    middle = np.median if np.isfinite(logs).all() else np.nanmedian  # the latter takes ten times as long
    # in slices: 4000 draws of ten launches of 400 rows are 128 MB at once
    return np.concatenate([middle(logs[part], axis=1) for part in np.array_split(chosen, 40)])


def draw_log_ratios(first: np.ndarray, second: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log of (median of the second side / of the first), (rows,), and its draws, (draws, rows). `first`, `second`:
    (launches, rows) logarithms of launches' medians, NaN for none; the same ``seed`` always.
    """
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():  # a draw of launches that all lack a row is NaN, as documented above
        warnings.simplefilter("ignore", RuntimeWarning)
        estimate = np.nanmedian(second, axis=0) - np.nanmedian(first, axis=0)
        drawn = _draw_medians(second, rng) - _draw_medians(first, rng)
    return estimate, drawn


def interval_of_draws(drawn: np.ndarray, first: int, second: int) -> tuple[float, float]:
    """Interval of one quantity from its draws of shape (draws,), any unit, for so many launches a side."""
    outer = outer_share_of_draws(first, second)
    low, high = np.nanquantile(drawn, [outer, 1 - outer], method="inverted_cdf")
    return float(low), float(high)


def doubled_midranks(values: Sequence[float]) -> tuple[int, ...]:
    """Twice the midrank (from 1) of each value: an integer even for ties."""
    ordered = sorted(values)
    # values up to and including each, those below it: its first place is one after the latter
    return tuple(bisect_left(ordered, value) + 1 + bisect_right(ordered, value) for value in values)


def rank_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of the hypothesis that both sides come from one distribution. Raises ValueError: a side is empty."""
    if not first or not second:
        raise ValueError("a side without values has no rank test")
    doubled = doubled_midranks([*first, *second])
    drawn, total = len(first), len(doubled)
    mean = drawn * (total + 1)  # of a doubled midrank: total + 1
    off = abs(sum(doubled[:drawn]) - mean)
    if max(drawn, len(second)) <= EXACT_UP_TO:
        sums, shares = null_distribution(tuple(sorted(doubled)), drawn)
        return min(1.0, float(shares[np.abs(sums - mean) >= off].sum()))
    # normal approximation of the rank sum, its variance taken from the midranks themselves (so ties count)
    variance = sum((rank - total - 1) ** 2 for rank in doubled) / (total - 1) * drawn * (total - drawn) / total
    if variance == 0:
        return 1.0
    return min(1.0, 2 * NormalDist().cdf(-max(0.0, off - 1.0) / math.sqrt(variance)))  # doubled sums are two apart


@lru_cache(maxsize=256)
def null_distribution(doubled: tuple[int, ...], drawn: int) -> tuple[np.ndarray, np.ndarray]:
    """All sums of ``drawn`` doubled midranks, and the probability of each: two arrays of shape (sums,), no unit."""
    ways = np.zeros((drawn + 1, sum(sorted(doubled)[-drawn:]) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        for size in range(drawn, 0, -1):
            ways[size, rank:] += ways[size - 1, : ways.shape[1] - rank]
    return np.arange(ways.shape[1]), ways[drawn] / math.comb(len(doubled), drawn)


def adjust_by_holm(probabilities: Sequence[float]) -> list[float]:
    """Adjusted p (Holm, 1979): rejecting all of at most alpha, any false rejection has a chance of at most alpha."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    each = (min(1.0, (len(order) - place) * probabilities[index]) for place, index in enumerate(order))
    adjusted = dict(zip(order, accumulate(each, max), strict=True))
    return [adjusted[index] for index in range(len(probabilities))]


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


def trimmed_mean(values: Sequence[float], least: float = LEAST_SPREAD) -> TrimmedMean:
    """Mean without the extremes, error by winsorised spread (Yuen, 1974), ``least`` at least: clocks tick."""
    ordered, count = sorted(values), len(values)
    cut = 1 if count >= TRIMMED_FROM else 0
    inner = ordered[cut : count - cut]
    spread = max(statistics.stdev([*inner[:1] * cut, *inner, *inner[-1:] * cut]), least)
    return TrimmedMean(statistics.fmean(inner), spread * math.sqrt(count) / len(inner), len(inner) - 1)


def paired_test(differences: TrimmedMean, over: float) -> float:
    """One-sided p value of the null hypothesis that paired differences have a mean of at most ``over``."""
    return student_tail((differences.value - over) / differences.error, differences.freedom)


def deal_launches(first: int, second: int, seed: int) -> np.ndarray:
    """Which launches count as the first side's, one deal per row; row 0 is the deal as measured."""
    total = first + second
    if math.comb(total, first) <= MOST_DEALS:
        chosen = np.array(list(combinations(range(total), first)))
        return (chosen[:, :, None] == np.arange(total)).any(axis=1)
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(total), (MOST_DEALS, 1)), axis=1)
    order[0] = np.arange(total)
    return order < first


def scale_differences(logs: np.ndarray, dealt: np.ndarray, error: float) -> np.ndarray:
    """Each row's difference between the sides of each deal over its spread; (launches, rows) logarithms, or NaN."""
    known = np.isfinite(logs)
    centred = np.where(known, logs - np.nanmean(logs, axis=0), 0.0)  # less cancellation in the squares
    one, other = dealt.astype(float), (~dealt).astype(float)
    counts = [side @ known.astype(float) for side in (one, other)]
    sums = [side @ centred for side in (one, other)]
    enough = np.minimum(counts[0], counts[1]) >= 2
    n1, n2 = (np.where(enough, count, 2.0) for count in counts)
    within = (centred**2).sum(axis=0) - sums[0] ** 2 / n1 - sums[1] ** 2 / n2
    scale = (np.sqrt(np.maximum(within, 0.0) / (n1 + n2 - 2)) + error) * np.sqrt(1 / n1 + 1 / n2)
    return np.where(enough, np.abs(sums[0] / n1 - sums[1] / n2) / scale, 0.0)


def adjust_by_deals(logs: np.ndarray, first: int, error: float, seed: int) -> np.ndarray:
    """Adjusted p of each row: share of deals in which any row not yet settled differs as much; first side first."""
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
