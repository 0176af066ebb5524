# SPDX-License-Identifier: BSD-3-Clause
"""Whole launches permuted, and the bootstrap interval: exactness, coverage, and that both are repeatable."""

import math

import numpy as np
import pytest

from weft.analyse.compare.comparison import Evidence, judged
from weft.analyse.statistics import interval


def launches(rng: np.random.Generator, count: int, rows: int, spread: float = 0.03, common: float = 0.02) -> np.ndarray:
    """Logarithms of medians with a spread of their own and one that all rows of a launch share."""
    return rng.normal(0, spread, (count, rows)) + rng.normal(0, common, (count, 1))


def test_every_deal_is_tried_where_there_are_few_and_the_measured_one_comes_first() -> None:
    dealt = interval.deal_launches(4, 5, seed=1)
    assert dealt.shape == (math.comb(9, 4), 9)
    assert len({tuple(row) for row in dealt}) == len(dealt)
    assert dealt.sum(axis=1).tolist() == [4] * len(dealt)
    assert dealt[0].tolist() == [True] * 4 + [False] * 5


def test_many_deals_are_drawn_repeatably_and_keep_the_sides_sizes() -> None:
    dealt = interval.deal_launches(10, 12, seed=1)
    assert dealt.shape == (interval.MOST_DEALS, 22)
    assert set(dealt.sum(axis=1).tolist()) == {10}
    assert dealt[0].tolist() == [True] * 10 + [False] * 12
    assert (dealt == interval.deal_launches(10, 12, seed=1)).all()
    assert not (dealt == interval.deal_launches(10, 12, seed=2)).all()


def test_one_slow_row_among_forty_is_named_and_no_other() -> None:
    """No corrected rank test could: 40 x 2/70 is more than 1."""
    rng = np.random.default_rng(3)
    logs = launches(rng, 8, 40)
    logs[4:, 17] += math.log(1.25)
    found = interval.adjust_by_deals(logs, 4, 0.025, seed=1)
    assert found[17] == pytest.approx(2 / 70)
    assert np.delete(found, 17).min() > 0.05


def test_the_chance_of_any_alarm_is_what_it_promises() -> None:
    """Under the null the smallest adjusted p of all rows is at most 2/70 in 2 of 70 cases; 400 cases give +-1.7 %."""
    rng = np.random.default_rng(5)
    smallest = [interval.adjust_by_deals(launches(rng, 8, 12), 4, 0.025, seed=1).min() for _ in range(400)]
    share = np.mean(np.array(smallest) < 0.03)
    assert 0.005 < share < 0.055


def test_rows_that_depend_on_each_other_do_not_raise_it() -> None:
    rng = np.random.default_rng(6)
    smallest = [interval.adjust_by_deals(launches(rng, 8, 12, 0.001, 0.05), 4, 0.025, seed=1).min() for _ in range(300)]
    assert np.mean(np.array(smallest) < 0.03) < 0.06


def test_rows_already_settled_do_not_hide_smaller_differences() -> None:
    """Step down: a row twice as slow in each deal would otherwise be the largest of half of them."""
    rng = np.random.default_rng(8)
    logs = launches(rng, 12, 6, common=0.0)
    logs[6:, 0] += math.log(8)
    logs[6:, 1] += math.log(1.3)
    found = interval.adjust_by_deals(logs, 6, 0.025, seed=1)
    assert found[0] <= found[1] <= 2 / math.comb(12, 6) + 1e-12


def test_a_missing_launch_counts_for_its_rows_only() -> None:
    rng = np.random.default_rng(9)
    logs = launches(rng, 10, 3)
    logs[5:, 1] += 0.5
    logs[2, 0] = math.nan
    found = interval.adjust_by_deals(logs, 5, 0.025, seed=1)
    assert np.isfinite(found).all()
    assert found[1] < 0.03 < min(found[0], found[2])


def test_identical_launches_show_nothing_and_no_rows_give_none() -> None:
    assert interval.adjust_by_deals(np.zeros((8, 3)), 4, 0.025, seed=1).tolist() == [1.0, 1.0, 1.0]
    assert interval.adjust_by_deals(np.zeros((8, 0)), 4, 0.025, seed=1).size == 0


@pytest.mark.parametrize(
    ("freedom", "tabled"), [(3, 3.182), (4, 2.776), (6, 2.447), (8, 2.306), (18, 2.101), (120, 1.98)]
)
def test_quantiles_of_student_are_the_tabled_ones(freedom: int, tabled: float) -> None:
    assert interval.student_quantile(0.975, freedom) == pytest.approx(tabled, rel=0.002)


def test_many_launches_leave_the_usual_share_outside_and_four_almost_none() -> None:
    assert interval.outer_share_of_draws(1000, 1000) == pytest.approx(0.025, rel=0.02)
    assert interval.outer_share_of_draws(4, 4) < 0.003


@pytest.mark.parametrize("count", [4, 6, 10])
def test_the_interval_covers_the_true_ratio_as_often_as_it_says(count: int) -> None:
    """95 % was asked for; 400 intervals leave +-2.2 %, and too many are allowed, too few are not."""
    rng = np.random.default_rng(count)
    base, other = (rng.normal(0, 0.05, (count, 400)) for _ in range(2))
    estimate, drawn = interval.draw_log_ratios(base, other + 0.3, seed=1)
    covered = [
        low <= 0.3 <= high for low, high in (interval.interval_of_draws(column, count, count) for column in drawn.T)
    ]
    assert np.mean(covered) > 0.925
    assert np.mean(estimate) == pytest.approx(0.3, abs=0.01)


def test_the_interval_holds_its_estimate_and_is_the_same_every_time() -> None:
    rng = np.random.default_rng(1)
    base, other = launches(rng, 4, 5), launches(rng, 6, 5)
    estimate, drawn = interval.draw_log_ratios(base, other, seed=1)
    for column, value in zip(drawn.T, estimate, strict=True):
        low, high = interval.interval_of_draws(column, 4, 6)
        assert low <= value <= high
    assert (drawn == interval.draw_log_ratios(base, other, seed=1)[1]).all()


def test_a_launch_without_a_row_is_left_out_of_its_ratio() -> None:
    base = np.array([[0.0], [math.nan], [0.0], [0.0], [0.0]])
    estimate, drawn = interval.draw_log_ratios(base, np.full((5, 1), 0.7), seed=1)
    assert estimate[0] == pytest.approx(0.7)
    assert np.nanmax(np.abs(drawn - 0.7)) == pytest.approx(0)


@pytest.mark.parametrize(
    ("p_holm", "p_launches", "outcome"),
    [
        (0.03, 0.03, "no difference shown"),  # either would pass at 5 %, and five of a hundred equals with it
        (0.021, 0.011, "no difference shown"),
        (0.019, 0.5, "slower"),
        (0.5, 0.009, "slower"),
    ],
)
def test_the_two_corrected_tests_decide_at_one_and_at_two_per_cent(
    p_holm: float, p_launches: float, outcome: str
) -> None:
    known = Evidence(1.2, 1.1, 1.3, launches=(10, 10), p=0.001, p_holm=p_holm, p_launches=p_launches)
    assert judged(known, modelled=False, below_floor=False, margin=0.05).outcome == outcome
