# SPDX-License-Identifier: BSD-3-Clause
"""A class of pairs in two groups: found behind a valley, never in a long tail or a handful of pairs."""

import numpy as np
import pytest

from weft.analyse.outliers.rule import BINS, TwoModes, two_modes


def modes_of(factors: np.ndarray) -> TwoModes | None:
    buckets, counts = np.unique(np.floor(np.log(factors) * BINS).astype(np.int64), return_counts=True)
    return two_modes(buckets, counts)


@pytest.mark.parametrize("factor", [1.4, 2.0, 14.8])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_two_groups_are_told_with_their_centres_and_shares(factor: float, share: float) -> None:
    rng = np.random.default_rng(1)
    times = np.exp(0.03 * rng.standard_normal(4000))
    times[: int(share * 4000)] *= factor
    found = modes_of(times)
    assert found is not None
    assert found.factor == pytest.approx(factor, rel=0.03)
    assert found.share == pytest.approx(share, abs=0.01)
    assert found.low < found.split < found.high


@pytest.mark.parametrize("pairs", [60, 200, 1000, 100_000])
def test_one_group_is_one_however_noisy_or_long_its_tail(pairs: int) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        for spread in (0.01, 0.1, 0.3):
            assert modes_of(np.exp(spread * rng.standard_normal(pairs))) is None
            assert modes_of(1 + spread * rng.gamma(0.7, 1.0, pairs)) is None


def test_some_slow_pairs_are_no_group() -> None:
    times = np.exp(0.02 * np.random.default_rng(3).standard_normal(5000))
    times[:15] *= 4.0
    assert modes_of(times) is None


def test_few_pairs_make_no_groups() -> None:
    assert modes_of(np.array([1.0] * 10 + [2.0] * 10)) is None
