# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of unequal blocks."""

from fractions import Fraction

from weft.kernel.collective.traffic import least_share


def test_the_least_share_is_never_over_what_any_ranks_are_sent() -> None:
    ranks = 6
    linear = [Fraction(to + 1, ranks) for to in range(ranks)]
    for outside in range(ranks + 1):
        assert least_share("linear", ranks, outside) == sum(linear[:outside], Fraction(0))
        assert least_share("heavy", ranks, outside) == Fraction(outside, 8)
        assert least_share("matrix", ranks, outside) == 0
        assert least_share("equal", ranks, outside) == outside
