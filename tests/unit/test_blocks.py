# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices and patterns of unequal blocks."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from weft.errors import StudyError
from weft.kernel.blocks import least_share, read_matrix


def test_whole_numbers_are_taken_as_they_stand(tmp_path: Path) -> None:
    text = tmp_path / "traffic.txt"
    text.write_text("0 4096\n1048576, 7\n\n")
    assert read_matrix(text) == [[0, 4096], [1048576, 7]]
    np.save(tmp_path / "traffic.npy", np.array([[0, 4096], [1048576, 7]]))
    assert read_matrix(tmp_path / "traffic.npy") == [[0, 4096], [1048576, 7]]


def test_other_numbers_are_scaled_to_a_million(tmp_path: Path) -> None:
    (tmp_path / "shares.txt").write_text("0.5 0.25\n0.125 0\n")
    assert read_matrix(tmp_path / "shares.txt") == [[1_000_000, 500_000], [250_000, 0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 2\n3\n", "traffic.txt"),
        ("1 2 3\n4 5 6\n", r"shape \(2, 3\)"),
        ("1 two\n3 4\n", "two"),
        ("0 0\n0 0\n", "between 0 and 0"),
        ("1 -2\n3 4\n", "between -2 and 4"),
        ("nan 1\n1 1\n", "between nan"),
        ("", "shape"),
    ],
)
def test_what_is_no_matrix_is_refused_with_what_was_seen(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "traffic.txt").write_text(text)
    with pytest.raises(StudyError, match=why) as caught:
        read_matrix(tmp_path / "traffic.txt")
    assert caught.value.remedy


def test_a_missing_matrix_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"none\.npy"):
        read_matrix(tmp_path / "none.npy")


def test_the_least_share_is_never_over_what_any_ranks_are_sent() -> None:
    ranks = 6
    linear = [Fraction(to + 1, ranks) for to in range(ranks)]
    for outside in range(ranks + 1):
        assert least_share("linear", ranks, outside) == sum(linear[:outside], Fraction(0))
        assert least_share("heavy", ranks, outside) == Fraction(outside, 8)
        assert least_share("matrix", ranks, outside) == 0
        assert least_share("equal", ranks, outside) == outside
