# SPDX-License-Identifier: BSD-3-Clause
"""The interval of a median over launches (METHOD 9): the launch is the unit, however many samples each of them took.

Samples of one launch share what that launch met (places of processes, of pages, of routes): pooled, they would count
one accident a hundred times. So the value is the median of the launches' medians, and its interval follows from these
alone: from `FEWEST` launches on by order statistics, interpolated to 95 % (Hettmansperger and Sheather, 1986; the
formula is in docs/method.md); of fewer their range, with what it covers; of one by its own samples, which know nothing
of another launch. A model repeats itself: no interval.

The ratio of two medians has a bootstrap interval: whole launches are drawn, the same draw for all rows.
"""

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from weft.analyse.statistics.quantile import median_ranks

Kind = Literal[
    "", "none", "range of the model", "range of presets", "within one launch", "range of launches", "over launches"
]

CONFIDENCE = 0.95
#: Under so many launches even their whole range covers less than 95 %.
FEWEST = 6


class Interval(NamedTuple):
    """Ends in the unit of the values, the probability that they hold the true median, and what kind it is."""

    low: float | None
    high: float | None
    coverage: float | None
    kind: Kind


#: Of a time that a model gives.
MODELLED, RANGE_OF_MODEL, RANGE_OF_PRESETS = "none", "range of the model", "range of presets"
RANGES = frozenset({RANGE_OF_MODEL, RANGE_OF_PRESETS})
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


DRAWS = 4000


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
    """Share of draws left out at each end of the interval.

    The bootstrap of n launches is too narrow by sqrt((n - 1) / n), and follows the normal distribution, not Student's
    t. The percentiles are moved outwards to correct for both (Hesterberg's expanded percentile interval, 2015): with
    four launches a side they reach the extremes of the launches, with many the usual 2.5 %.
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
    """Natural logarithm of (median of the second side / median of the first), (rows,), and its draws, (draws, rows).

    `first`, `second`: (launches, rows) logarithms of medians of launches, no unit; NaN where a launch has none. `seed`:
    seed of the draws: the same runs always get the same interval.
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
