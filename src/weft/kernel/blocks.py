# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of an all-to-all with unequal counts; native/measure/block_pattern.cpp has the same formulas."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from weft.errors import StudyError

LIGHT_SHARE = 8
MOST_WEIGHT = 2**50
SCALE = 10**6
EXAMPLE = "p lines of p numbers (text), or numpy.save(path, matrix): row i holds what rank i sends to each"


def least_share(pattern: str, ranks: int, outside: int) -> Fraction:
    """What one rank sends to ``outside`` others at the very least, in largest blocks, whoever they are."""
    if pattern == "equal":
        return Fraction(outside)
    if pattern == "linear":
        return Fraction(outside * (outside + 1), 2 * ranks)
    if pattern == "heavy":
        return Fraction(outside, LIGHT_SHARE)
    return Fraction(0)  # a matrix may hold nothing for just these


def read_matrix(path: Path) -> list[list[int]]:
    """Weights of a traffic matrix, as whole numbers: row i holds what rank i sends to each.

    Whole numbers are taken as they are, so that a file of bytes is sent as it stands where the sweep's size is its
    largest; others are scaled so that the largest is a million.

    Raises
    ------
    StudyError
        No file, no square of numbers, a negative one, or nothing but zeros.
    """
    import numpy as np

    try:
        if path.suffix == ".npy":
            found: Any = np.load(path, allow_pickle=False)
        else:
            text = path.read_text(encoding="utf-8").replace(",", " ")
            found = np.array([[float(word) for word in line.split()] for line in text.splitlines() if line.strip()])
    except (OSError, ValueError) as problem:
        raise StudyError(f"traffic matrix {path}: {problem}", f"write {EXAMPLE}") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size or found.dtype.kind not in "iuf":
        raise StudyError(f"traffic matrix {path}: shape {found.shape} of {found.dtype}", f"write {EXAMPLE}")
    values = found.astype(float)
    if not np.isfinite(values).all() or values.min() < 0 or not 0 < values.max() <= MOST_WEIGHT:
        raise StudyError(
            f"traffic matrix {path}: its numbers lie between {values.min():g} and {values.max():g}",
            "give numbers from 0 to 2^50, not all of them 0",
        )
    if (values != np.floor(values)).any():
        values = np.round(values * (SCALE / values.max()))
    return [[int(weight) for weight in row] for row in values]
