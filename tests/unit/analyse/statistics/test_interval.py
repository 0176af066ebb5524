# SPDX-License-Identifier: BSD-3-Clause
"""The interval over launches: what it is for how many, that it covers, and that the pooled one would not."""

import math
from fractions import Fraction

import numpy as np
import pytest

from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interpolate_ranks, interval_over_launches
from weft.analyse.statistics.quantile import median_ranks

WITHIN = Interval(0.9, 1.1, 0.96, "within one launch")
SAMPLES, DRAWS = 20, 3000


def binomial_below(count: int, below: int) -> Fraction:
    return Fraction(sum(math.comb(count, k) for k in range(below)), 2**count)


@pytest.mark.parametrize("count", [6, 7, 8, 10, 16, 40])
def test_from_six_launches_on_it_is_the_interpolated_order_statistic_interval(count: int) -> None:
    """Hettmansperger and Sheather's formula in whole fractions."""
    covered = {d: 1 - 2 * binomial_below(count, d) for d in range(1, count // 2 + 1)}
    d = max(rank for rank, share in covered.items() if share >= Fraction(95, 100))
    place = (covered[d] - Fraction(95, 100)) / (covered[d] - (1 - 2 * binomial_below(count, d + 1)))
    share = (count - d) * place / (d + (count - 2 * d) * place)
    assert interpolate_ranks(count) == (d, pytest.approx(float(share)))
    x = sorted(1 + 0.1 * np.sin(np.arange(count) ** 2))
    found = interval_over_launches(list(reversed(x)), WITHIN)
    weight = float(share)
    assert found.low == pytest.approx((1 - weight) * x[d - 1] + weight * x[d])
    assert found.high == pytest.approx((1 - weight) * x[count - d] + weight * x[count - d - 1])
    assert (found.coverage, found.kind) == (0.95, "over launches")


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_two_to_five_launches_give_their_range_and_what_it_covers(count: int) -> None:
    found = interval_over_launches([1 + 0.1 * k for k in range(count)], WITHIN)
    assert (found.low, found.high) == (1, 1 + 0.1 * (count - 1))
    assert (found.coverage, found.kind) == (1 - 2 * 0.5**count, "range of launches")


def test_one_launch_gives_its_own_interval_by_its_name() -> None:
    assert interval_over_launches([1.0], WITHIN) == WITHIN
    assert NO_INTERVAL.kind == "none"
    with pytest.raises(ValueError, match="no launch"):
        interval_over_launches([], WITHIN)


def samples_of(rng: np.random.Generator, launches: int, between: float, alike: float) -> np.ndarray:
    """(draws, launches, samples) times whose true median is 1: launches differ by ``between``, neighbours are alike."""
    shape = (DRAWS, launches, SAMPLES)
    noise = rng.standard_normal(shape)
    for place in range(1, SAMPLES):
        noise[..., place] = alike * noise[..., place - 1] + math.sqrt(1 - alike**2) * noise[..., place]
    return np.exp(0.03 * noise + between * rng.standard_normal(shape[:2])[..., None])


def coverage_over_launches(times: np.ndarray) -> float:
    found = [interval_over_launches(row.tolist(), WITHIN) for row in np.median(times, axis=2)]
    return float(np.mean([each.low <= 1 <= each.high for each in found if each.low and each.high]))


def coverage_pooled(times: np.ndarray) -> float:
    pooled = np.sort(times.reshape(len(times), -1), axis=1)
    low, high, _ = median_ranks(pooled.shape[1])
    return float(np.mean((pooled[:, low - 1] <= 1) & (pooled[:, high - 1] >= 1)))


@pytest.mark.parametrize("launches", [6, 7, 10, 16])
@pytest.mark.parametrize("between", [0.0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9])
def test_it_covers_the_true_median_however_launches_differ_and_neighbours_are_alike(
    launches: int, between: float, alike: float
) -> None:
    times = samples_of(
        np.random.default_rng([launches, round(100 * between), round(10 * alike)]), launches, between, alike
    )
    assert 0.93 <= coverage_over_launches(times) <= 0.97
    if between or alike:
        assert coverage_pooled(times) < 0.93  # what Weft printed before: each sample a trial of its own


def test_pooled_samples_cover_only_while_launches_and_neighbours_are_independent() -> None:
    assert coverage_pooled(samples_of(np.random.default_rng(5), 6, 0.0, 0.0)) > 0.93
