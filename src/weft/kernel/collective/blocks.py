# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of an all-to-all with unequal counts; native/measure/collective/block_pattern.cpp has the same formulas."""

from fractions import Fraction

LIGHT_SHARE = 8


def least_share(pattern: str, ranks: int, outside: int) -> Fraction:
    """The least that one rank sends to any ``outside`` other ranks, in units of the largest block."""
    if pattern == "equal":
        return Fraction(outside)
    if pattern == "linear":
        return Fraction(outside * (outside + 1), 2 * ranks)
    if pattern == "heavy":
        return Fraction(outside, LIGHT_SHARE)
    return Fraction(0)  # a matrix may have zeros for exactly these
