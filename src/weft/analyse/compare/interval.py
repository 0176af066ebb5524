# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of medians with a bootstrap interval: whole launches are drawn, the same draw for all rows."""

import math
import warnings
from statistics import NormalDist

import numpy as np

DRAWS = 4000
CONFIDENCE = 0.95


def student(probability: float, freedom: int) -> float:
    """Quantile of Student's t by its expansion in 1/freedom (Abramowitz and Stegun, 26.7.5): good to 1 % from 3."""
    z = NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / freedom + second / freedom**2 + third / freedom**3 + fourth / freedom**4


def outer_share(first: int, second: int) -> float:
    """Share of draws left out at each end of the interval.

    The bootstrap of n launches is too narrow by sqrt((n - 1) / n), and follows the normal distribution, not Student's
    t. The percentiles are moved outwards to correct for both (Hesterberg's expanded percentile interval, 2015): with
    four launches a side they reach the extremes of the launches, with many the usual 2.5 %.
    """
    least = min(first, second)
    wide = math.sqrt(least / (least - 1)) * student((1 + CONFIDENCE) / 2, first + second - 2)
    return NormalDist().cdf(-wide)


def drawn_medians(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Medians over launches drawn with replacement, shape (draws, rows), in the unit of ``logs`` (launches, rows)."""
    chosen = rng.integers(0, logs.shape[0], (DRAWS, logs.shape[0]))
    middle = np.median if np.isfinite(logs).all() else np.nanmedian  # the latter takes ten times as long
    # in slices: 4000 draws of ten launches of 400 rows are 128 MB at once
    return np.concatenate([middle(logs[part], axis=1) for part in np.array_split(chosen, 40)])


def log_ratios(first: np.ndarray, second: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of (median of the second side / median of the first), and its draws.

    Parameters
    ----------
    first, second
            (launches, rows) logarithms of medians of launches; NaN where a launch has none.
        seed
            Seed of the draws: the same runs always get the same interval.

    Returns
    -------
    tuple
        (rows,) estimates and (draws, rows) bootstrap values (natural logarithms of a ratio); NaN where a draw has only
    """
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():  # a draw of launches that all lack a row is NaN, as documented above
        warnings.simplefilter("ignore", RuntimeWarning)
        estimate = np.nanmedian(second, axis=0) - np.nanmedian(first, axis=0)
        drawn = drawn_medians(second, rng) - drawn_medians(first, rng)
    return estimate, drawn


def bounds(drawn: np.ndarray, first: int, second: int) -> tuple[float, float]:
    """Interval of one quantity from its draws of shape (draws,), any unit, for so many launches a side."""
    outer = outer_share(first, second)
    low, high = np.nanquantile(drawn, [outer, 1 - outer], method="inverted_cdf")
    return float(low), float(high)
