# SPDX-License-Identifier: BSD-3-Clause
r"""Order statistics: which of n sorted samples is a quantile, and which two enclose the median with 95 % confidence.

Definitions, shared with the kernel's stop rule (native/measure/sample/stop_rule):

- x(1) <= x(2) <= ... <= x(n) are the sorted samples.
- The quantile q is x(ceil(q n)); the median is the mean of x(floor((n+1)/2)) and x(floor(n/2)+1).
- The interval of the median is x(k) .. x(n+1-k) with the largest k for which
  P(k <= B <= n-k) = 1 - 2 P(B <= k-1) >= 0.95, where B counts the samples below the true median: binomial, n, 1/2.
  It is valid for every continuous distribution; ties only raise its coverage. n = 10 gives x(2) .. x(9), 97.9 %.

Successive samples are alike, so n of them are worth fewer independent ones (METHOD 8), as in the kernels
(native/measure/sample/effective.cpp): with r the lag-1 correlation of the samples' ranks, ties sharing the mean of
theirs, corrected for its bias -(1 + 3 r) / n (Kendall 1954),

.. math:: n_e = n \frac{1 - r}{1 + r} \quad (r > 0), \qquad n_e = n \quad (r \le 0).

The interval of the median is at the quantiles of the order statistics that enclose it among n_e samples.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression, memory_table

EXACT_UP_TO = 4000  # up to here the binomial sums are exact integers; beyond, in floating point, good to 1e-9
MANY = 2000  # from so many effective samples on the ranks follow from the normal distribution
MAD = 1.4826  # the standard deviation of a normal distribution over its median absolute deviation
MOST_COUNTS = 64
"""Groups of as many values are taken together; with more different counts than this all values are sorted."""


class MedianRanks(NamedTuple):
    """Ranks (from 1) of the two order statistics that enclose the median, and the probability that they do."""

    low: int
    high: int
    coverage: float


def quantile_rank(n: int, q: float) -> int:
    """Rank (from 1) of the quantile ``q`` of ``n`` samples. Raises ValueError: no samples, q outside 0 .. 1."""
    if n < 1 or not 0 <= q <= 1:
        raise ValueError(f"no quantile {q} of {n} samples")
    # 0.95 * 20 may round to 19.000000000000004: a value this close to an integer is taken as the integer.
    return max(1, math.ceil(q * n - 1e-9))


def middle_ranks(n: int) -> tuple[int, int]:
    """Ranks (from 1) of the one or two samples whose mean is the median."""
    return (n + 1) // 2, n // 2 + 1


@lru_cache(maxsize=4096)
def median_ranks(n: int, confidence: float = 0.95) -> MedianRanks:
    """Ranks of the narrowest symmetric interval that covers the median with ``confidence``, or x(1) .. x(n). Raises
    ValueError: There are no samples.
    """
    if n < 1:
        raise ValueError("no interval of no samples")
    low, outside = _exact(n, confidence) if n <= EXACT_UP_TO else _floating(n, confidence)
    return MedianRanks(low, n + 1 - low, 1 - outside)


def _exact(n: int, confidence: float) -> tuple[int, float]:
    """Largest k, and 2 P(B <= k-1), from integer binomial coefficients."""
    whole = 1 << n
    coefficient = tail = 1  # C(n, 0), and the sum of C(n, 0) .. C(n, k-1) for k = 1
    for k in range(1, (n + 1) // 2):
        coefficient = coefficient * (n - k + 1) // k
        # int / int is correctly rounded in Python for integers of any length
        if 1 - 2 * (tail + coefficient) / whole < confidence:
            return k, 2 * tail / whole
        tail += coefficient
    return max(1, (n + 1) // 2), 2 * tail / whole


def _floating(n: int, confidence: float) -> tuple[int, float]:
    """The same for large n: the tail is summed downwards from its largest term until the terms vanish."""

    def outside(k: int) -> float:
        term = math.exp(math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(n - k + 2) - n * math.log(2))
        total, j = 0.0, k - 1
        while j >= 0 and term > total * 1e-17:
            total += term
            term *= j / (n - j + 1)
            j -= 1
        return 2 * total

    k = max(1, n // 2 - math.ceil(math.sqrt(n)))  # two standard deviations: just outside 95 %
    while k > 1 and 1 - outside(k) < confidence:
        k -= 1
    while 1 - outside(k + 1) >= confidence:
        k += 1
    return k, outside(k)


def with_effective_interval(ranked: Expression, key: Sequence[str], in_order: str, most: int) -> Expression:
    """Samples with the ranks ``low`` and ``high`` and the ``coverage`` of their group's effective number of samples."""
    import ibis

    group, ties = ibis.window(group_by=list(key)), ibis.window(group_by=[*key, "time_s"])
    measured = ibis.window(group_by=list(key), order_by=in_order)
    centred = ranked.mutate(off=ranked.place.mean().over(ties) - (ranked.samples + 1) / 2)
    lagged = centred.mutate(both=centred.off * centred.off.lag().over(measured).coalesce(0.0))
    summed = lagged.mutate(squares=(lagged.off * lagged.off).sum().over(group), products=lagged.both.sum().over(group))
    n = summed.samples.cast("float64")
    biased = ibis.ifelse(summed.squares > 0, summed.products / summed.squares, 0.0)
    corrected = ibis.ifelse((n < 3) | (summed.squares == 0), 0.0, (biased + (1 + 3 * biased) / n).clip(-1.0, 1.0))
    effective = ibis.ifelse(corrected <= 0, n, ibis.greatest(1.0, n * (1 - corrected) / (1 + corrected)))
    counted = summed.mutate(of_effective=effective.floor().cast("int64"))
    known = range(1, min(most, MANY) + 1)
    found = [median_ranks(each) for each in known]
    table = memory_table(
        {"known": list(known), "rank": [each.low for each in found], "coverage": [each.coverage for each in found]},
        schema={"known": "int64", "rank": "int64", "coverage": "float64"},
    )
    joined = counted.mutate(known=ibis.least(counted.of_effective, MANY)).join(table, "known")
    by_normal = ((joined.of_effective - 1.96 * joined.of_effective.sqrt()) / 2).floor()
    rank = ibis.ifelse(joined.of_effective > MANY, by_normal, joined["rank"])
    share = rank / (joined.of_effective + 1)
    low = ibis.ifelse(joined.coverage < 0.95, 1, (share * (joined.samples + 1) + 1e-9).floor()).cast("int64")
    low = ibis.greatest(low, 1)
    return joined.mutate(low=low, high=joined.samples + 1 - low)


def robust_deviation(values: NDArray[np.float64]) -> float:
    """Standard deviation of values (n,), in their unit, from their median absolute deviation; 0 of none."""
    return float(MAD * np.median(np.abs(values - np.median(values)))) if values.size else 0.0


def group_medians(group: NDArray[Any], values: NDArray[Any], groups: int) -> NDArray[np.float64]:
    """Median of the ``values`` of each index ``group`` (n,), without nan; groups alike in size are not sorted."""
    known = np.isfinite(values)
    if not known.all():
        group, values = group[known], values[known]
    counts = np.bincount(group, minlength=groups)
    first, found = np.cumsum(counts) - counts, np.full(groups, np.nan)
    sizes = np.unique(counts[counts > 0])
    if len(sizes) > MOST_COUNTS:
        own, ordered = counts > 0, values[np.lexsort((values, group))]
        found[own] = (ordered[first[own] + (counts[own] - 1) // 2] + ordered[first[own] + counts[own] // 2]) / 2
        return found
    ordered = values if (np.diff(group) >= 0).all() else values[_grouped(group, groups)]
    for size in sizes.tolist():
        own = np.flatnonzero(counts == size)
        middle = [(size - 1) // 2, size // 2]
        for some in np.array_split(own, max(1, len(own) * size >> 22)):  # a part at a time, for memory's sake
            parts = np.partition(ordered[first[some][:, None] + np.arange(size)], middle, axis=1)
            found[some] = parts[:, middle].astype(np.float64).mean(axis=1)
    return found


def _grouped(group: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """Order (n,) of values by their group: NumPy sorts numbers of 16 bits without comparing them."""
    order = np.argsort(group.astype(np.uint16), kind="stable")  # its lower bits
    if groups > 1 << 16:
        order = order[np.argsort((group[order] >> 16).astype(np.uint16), kind="stable")]
    return order
