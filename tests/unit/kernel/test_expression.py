# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic in study files."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import StudyError
from weft.kernel.exchange.study import evaluate

NAMES = {"N": 3, "p": 24, "r": 8}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("512", 512),
        ("512 * N", 1536),
        ("16*p", 384),
        ("2 ** N", 8),
        ("p // 7", 3),
        ("p % 7", 3),
        ("p / N", 8),
        ("-(N - p)", 21),
        ("0.1 * 10 * N", 3),
    ],
)
def test_arithmetic_in_n_and_p_gives_a_whole_number(text: str, value: int) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("512 * M", 'unknown name "M"'),
        ("512 *", "not an expression"),
        ("", "not an expression"),
        ("N / 2", "not an integer"),
        ("N / (p - 24)", "divides by zero"),
        ("10 ** 40", "too large"),
        ("2 ** -1", "too large"),
        ("9 ** 9 ** 9 ** 9", "too large"),
        ("1e999", "too large"),
        ("__import__('os')", "not arithmetic"),
        ("N.real", "not arithmetic"),
        ("(1).__class__", "not arithmetic"),
        ("[1][0]", "not arithmetic"),
        ("True", "not a number"),
        ("'a' * N", "not a number"),
        ("N if p else 1", "not arithmetic"),
        ("N << 3", "not arithmetic"),
        ("1\0", "not an expression"),
        ("(" * 150 + "1" + ")" * 150, "too long"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        evaluate(text, NAMES)


@given(st.text(alphabet="Npr0123456789+-*/%(). \n_", max_size=40))
def test_no_text_gets_past_the_study_error(text: str) -> None:
    with contextlib.suppress(StudyError):
        assert isinstance(evaluate(text, NAMES), int)
