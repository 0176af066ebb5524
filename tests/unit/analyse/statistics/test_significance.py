# SPDX-License-Identifier: BSD-3-Clause
"""The rank test against its published tables and against plain enumeration, and Holm's correction."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.analyse.statistics.interval import adjust_by_holm, doubled_midranks, rank_test


def sides(first: int, second: int, u: int) -> tuple[list[float], list[float]]:
    """Two sides without ties whose Mann-Whitney U is ``u``: ``u`` pairs stand in the wrong order."""
    order = [0] * first + [1] * second
    while u:
        place = next(index for index in range(len(order) - 1) if order[index : index + 2] == [0, 1])
        order[place], order[place + 1] = 1, 0
        u -= 1
    ones = [float(index) for index, side in enumerate(order) if side == 0]
    return ones, [float(index) for index, side in enumerate(order) if side == 1]


# Largest U whose two-sided p is at most 5 %, and at most 1 % (-1: none): the tables in every textbook.
CRITICAL = [
    (4, 4, 0, -1), (4, 5, 1, -1), (5, 5, 2, 0), (5, 6, 3, 1), (6, 6, 5, 2), (7, 7, 8, 4), (8, 8, 13, 7),
    (9, 9, 17, 11), (10, 10, 23, 16), (12, 12, 37, 27), (20, 20, 127, 105), (4, 10, 5, 2),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "five", "one"), CRITICAL)
def test_critical_values_are_the_tabled_ones(first: int, second: int, five: int, one: int) -> None:
    for level, u in ((0.05, five), (0.01, one)):
        if u >= 0:
            assert rank_test(*sides(first, second, u)) <= level
        assert rank_test(*sides(first, second, u + 1)) > level


def test_four_against_four_can_reach_two_in_seventy_and_no_less() -> None:
    assert rank_test([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(2 / 70)
    assert rank_test([1, 2, 3, 5], [4, 6, 7, 8]) == pytest.approx(4 / 70)


def enumerated(first: list[int], second: list[int]) -> float:
    """The same p by trying every split."""
    doubled = doubled_midranks([*first, *second])
    mean = len(first) * (len(doubled) + 1)
    seen = abs(sum(doubled[: len(first)]) - mean)
    splits = list(combinations(doubled, len(first)))
    return sum(abs(sum(split) - mean) >= seen for split in splits) / len(splits)


short = st.lists(st.integers(0, 6), min_size=1, max_size=6)


@given(short, short)
def test_with_ties_too_it_counts_every_split(first: list[int], second: list[int]) -> None:
    assert rank_test(first, second) == pytest.approx(enumerated(first, second))


@given(short, short)
def test_the_order_of_sides_and_the_unit_do_not_matter(first: list[int], second: list[int]) -> None:
    p = rank_test(first, second)
    assert rank_test(second, first) == pytest.approx(p)
    assert rank_test([7e-6 * x for x in first], [7e-6 * x for x in second]) == pytest.approx(p)


def test_equal_sides_show_nothing() -> None:
    assert rank_test([3.0] * 5, [3.0] * 7) == 1


def test_large_sides_are_approximated_closely() -> None:
    """Fifty-one a side take the normal approximation; the exact value of fifty a side must lie near it."""
    first = [float(index) for index in range(0, 100, 2)]
    second = [index + 12.5 for index in first]
    exact = rank_test(first, second)
    close = rank_test([*first, 100.0], [*second, 112.5])
    assert 0.01 < exact < 0.1
    assert close == pytest.approx(exact, rel=0.15)


def test_a_side_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match="without values"):
        rank_test([], [1.0])


def test_holm_gives_his_own_steps() -> None:
    assert adjust_by_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_by_holm([0.9, 0.6]) == [1.0, 1.0]
    assert adjust_by_holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_lowers(probabilities: list[float]) -> None:
    adjusted = adjust_by_holm(probabilities)
    assert all(after >= before for before, after in zip(probabilities, adjusted, strict=True))
    for (p, q), (a, b) in zip(combinations(probabilities, 2), combinations(adjusted, 2), strict=True):
        assert p >= q or a <= b
