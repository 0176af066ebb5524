# SPDX-License-Identifier: BSD-3-Clause
"""Order statistics: which ranks hold the median, and which sample is a quantile."""

from math import comb

import ibis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.analyse.statistics import quantile
from weft.analyse.statistics.quantile import group_medians, median_ranks, middle_ranks, quantile_rank
from weft.analyse.times import order_statistics


def coverage(n: int, k: int) -> float:
    """P(x(k) <= median <= x(n+1-k)), summed plainly."""
    return 1 - 2 * sum(comb(n, j) for j in range(k)) / 2**n


@pytest.mark.parametrize(
    ("n", "low", "high"),
    # the tables of the binomial test: 6 is the first n with an interval, 9 the first that leaves samples out
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (11, 2, 10), (12, 3, 10), (20, 6, 15), (57, 21, 37), (100, 40, 61)],
)
def test_ranks_of_the_median_interval_are_the_tabled_ones(n: int, low: int, high: int) -> None:
    found = median_ranks(n)
    assert (found.low, found.high) == (low, high)
    assert found.coverage == pytest.approx(coverage(n, low), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_below_six_samples_the_whole_range_is_given_with_the_coverage_it_reaches(n: int) -> None:
    found = median_ranks(n)
    assert (found.low, found.high) == (1, n)
    assert found.coverage == pytest.approx(1 - 2.0 ** (1 - n))
    assert found.coverage < 0.95


@given(st.integers(6, 400))
def test_the_interval_is_the_narrowest_symmetric_one_that_covers(n: int) -> None:
    low, high, reached = median_ranks(n)
    assert low + high == n + 1
    assert reached >= 0.95
    assert coverage(n, low) == pytest.approx(reached, abs=1e-12)
    if low + 1 < n - low:
        assert coverage(n, low + 1) < 0.95


@given(st.integers(6, 3000))
def test_another_sample_never_moves_the_lower_rank_down(n: int) -> None:
    assert median_ranks(n).low <= median_ranks(n + 1).low <= median_ranks(n).low + 1


@pytest.mark.parametrize("n", [200, 1001, 4000])
def test_the_sums_for_large_n_agree_with_the_exact_ones(n: int) -> None:
    exact, floating = quantile._exact(n, 0.95), quantile._floating(n, 0.95)
    assert exact[0] == floating[0]
    assert exact[1] == pytest.approx(floating[1], rel=1e-9)


def test_ranks_of_very_many_samples_follow_the_normal_law() -> None:
    low, high, reached = median_ranks(1_000_000)
    assert low == pytest.approx(500_000 - 0.98 * 1000, abs=2)
    assert 0.95 <= reached < 0.9505
    assert low + high == 1_000_001


@pytest.mark.parametrize("n", [0, -3])
def test_no_samples_have_no_interval(n: int) -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_ranks(n)


@pytest.mark.parametrize(
    ("n", "q", "rank"), [(100, 0.95, 95), (20, 0.95, 19), (101, 0.95, 96), (1, 0.05, 1), (20, 0.05, 1), (100, 0.07, 7)]
)
def test_a_quantile_is_the_sample_at_ceil_q_n(n: int, q: float, rank: int) -> None:
    assert quantile_rank(n, q) == rank


@given(st.integers(1, 10**6), st.integers(0, 1000))
def test_rounding_of_q_n_never_skips_a_sample(n: int, thousandths: int) -> None:
    assert quantile_rank(n, thousandths / 1000) == max(1, -(-n * thousandths // 1000))


@pytest.mark.parametrize("q", [-0.1, 1.1])
def test_a_quantile_lies_between_nought_and_one(q: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        quantile_rank(10, q)


@given(st.integers(2, 10_000))
def test_quantiles_come_in_order(n: int) -> None:
    assert (
        quantile_rank(n, 0.05)
        <= middle_ranks(n)[0]
        <= middle_ranks(n)[1]
        <= quantile_rank(n, 0.95)
        <= quantile_rank(n, 0.99)
        <= n
    )


@pytest.mark.parametrize(("n", "ranks"), [(1, (1, 1)), (2, (1, 2)), (7, (4, 4)), (8, (4, 5))])
def test_the_median_is_the_middle_sample_or_the_mean_of_two(n: int, ranks: tuple[int, int]) -> None:
    assert middle_ranks(n) == ranks


def test_a_box_is_made_of_order_statistics() -> None:
    times = [(1, float(value)) for value in range(100, 0, -1)] + [(2, 3.0)]
    launches, values = zip(*times, strict=True)
    of_others = {"least_s": values, "disturbed": [False] * len(times), "iteration": range(len(times))}
    table = ibis.memtable({"launch": launches, "time_s": values, **of_others})
    found = order_statistics(table, ["launch"], [1, 100]).order_by("launch").to_pyarrow().to_pylist()
    assert [{name: row[name] for name in ("launch", "q1_s", "median_s", "q3_s")} for row in found] == [
        {"launch": 1, "q1_s": 25, "median_s": 50.5, "q3_s": 75},
        {"launch": 2, "q1_s": 3, "median_s": 3, "q3_s": 3},
    ]


@pytest.mark.parametrize("counts", [64, 0])
def test_medians_of_groups_are_those_of_each_group_alone(monkeypatch: pytest.MonkeyPatch, counts: int) -> None:
    monkeypatch.setattr(quantile, "MOST_COUNTS", counts)
    dice = np.random.default_rng(5)
    group = dice.integers(0, 40, 3000).astype(np.int16)
    values = dice.normal(0.0, 1e-6, 3000) * 10.0 ** dice.integers(-3, 3, 3000)
    values[::7], values[1::50], group[group == 13] = np.nan, 0.0, 12
    found = group_medians(group, values, 45)
    for each in range(45):
        own = values[(group == each) & np.isfinite(values)]
        expected = np.median(own) if len(own) else np.nan
        assert found[each] == pytest.approx(expected, rel=1e-12, abs=0, nan_ok=True)
    assert np.isnan(found[[13, 40, 44]]).all()
    assert np.isnan(group_medians(group[:0], values[:0], 3)).all()
    wide = group_medians(group.astype(np.int32) * 5000, values, 45 * 5000)
    assert wide[::5000].tolist() == pytest.approx(found.tolist(), nan_ok=True)
