# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.report.numbers import interval_text, plural, seconds_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.14, "1.14 s"), (85.0, "85.0 s"), (170.62, "171 s"), (0.0521, "52.1 ms"), (1.2e-6, "1.20 µs"),
        (5e-8, "50.0 ns"), (0.9996, "1.00 s"), (9.996e-4, "1.00 ms"), (0.0, "0 ns"), (9.999e-6, "10.0 µs"),
        (99.96e-3, "100 ms"), (None, "–"),
    ],
)  # fmt: skip
def test_times_have_three_digits_in_the_unit_that_suits_them(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_an_interval_shares_the_unit_and_the_digits_of_its_time() -> None:
    assert interval_text(0.0521, 0.0518, 0.0529) == "52.1 ms (51.8–52.9)"
    assert interval_text(0.99, 0.9, 1.2) == "990 ms (900–1200)"
    assert interval_text(1.0, None, None) == "1.00 s"


@given(st.floats(1e-9, 1e5))
def test_what_is_shown_is_the_number_to_three_digits(seconds: float) -> None:
    text = seconds_text(seconds)
    found = re.fullmatch(r"([0-9.]+) (s|ms|µs|ns)", text)
    assert found
    factor = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[found[2]]
    assert float(found[1]) * factor == pytest.approx(seconds, rel=0.006)
    if found[2] != "s":
        assert 0.99 <= float(found[1]) < 1000.5


def test_nouns_agree_with_their_number() -> None:
    assert (plural(1, "launch"), plural(3, "launch"), plural(1200, "cell")) == ("1 launch", "3 launches", "1,200 cells")
