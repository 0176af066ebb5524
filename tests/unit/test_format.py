# SPDX-License-Identifier: BSD-3-Clause
"""How sizes, rates, times, counts and factors are written."""

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.format import (
    SECONDS,
    capital,
    exact_bytes,
    format_bytes,
    format_factor,
    format_rate,
    format_seconds,
    measured_factor,
    measured_rate,
    measured_seconds,
    plural,
    relative_error,
)
from weft.units import RATES, SIZES, parse_bytes, parse_rate, parse_seconds

NEXT_TO_A_UNIT = (0.9994, 0.9995, 0.9996, 0.99949999, 1.0, 999.4, 999.5, 999.6, 999.9999)
NEXT_TO_A_BINARY_UNIT = (999.5, 1000.4, 1022.9, 1023.4, 1023.5, 1023.6, 1023.9999)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_bytes(0), "0 B"),
        (format_bytes(1023), "1023 B"),
        (format_bytes(1536), "1.5 KiB"),
        (format_bytes(95_551_488), "91.1 MiB"),
        (format_bytes(1024**2 - 1), "1 MiB"),
        (format_rate(3.5e9), "3.5 GB/s"),
        (format_rate(999.96e6), "1 GB/s"),
        (format_seconds(1.2e-6), "1.2 us"),
        (format_seconds(999.6e-6), "1 ms"),
        (format_seconds(0.0521), "52.1 ms"),
        (format_seconds(0), "0 ns"),
        (format_seconds(300), "5 min"),
        (format_seconds(9000), "2.5 h"),
        (format_seconds(0.0123456, 4), "12.35 ms"),
        (format_factor(170.2), "170"),
        (format_factor(2.5), "2.5"),
        (format_factor(99.96), "100"),
        (format_factor(1234.5), "1,234"),
        (measured_factor(170.2), "170"),
        (measured_factor(2.5), "2.50"),
        (measured_factor(0.088), "0.0880"),
        (measured_factor(1.25, 1.2, 1.3117), "1.25 (1.20–1.31)"),
        (exact_bytes(4096), "4 KiB"),
        (exact_bytes(4466), "4,466 B"),
    ],
)
def test_values_have_three_digits_in_the_unit_that_suits_them(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.14, "1.14 s"), (85.0, "85.0 s"), (170.62, "171 s"), (0.0521, "52.1 ms"), (1.2e-6, "1.20 us"),
        (5e-8, "50.0 ns"), (0.9996, "1.00 s"), (9.996e-4, "1.00 ms"), (0.0, "0 ns"), (9.999e-6, "10.0 us"),
        (99.96e-3, "100 ms"), (1220.4, "1,220 s"), (None, "–"),
    ],
)  # fmt: skip
def test_a_measured_time_keeps_its_zeros(seconds: float | None, text: str) -> None:
    assert measured_seconds(seconds) == text


def test_an_interval_shares_the_unit_and_the_decimals_of_its_value() -> None:
    assert measured_seconds(0.0521, 0.0518, 0.0529) == "52.1 ms (51.8–52.9)"
    assert measured_seconds(0.99, 0.9, 1.2) == "990 ms (900–1,200)"
    assert measured_seconds(1.0, None, None) == "1.00 s"


def test_the_interval_of_a_rate_is_the_interval_of_the_time_turned_round() -> None:
    assert measured_rate(10**9, 0.2, 0.19, 0.21) == "5.00 GB/s (4.76–5.26)"
    assert measured_rate(10**9, None) == "–"


def _significant(text: str) -> str:
    return re.sub(r"[^0-9]", "", text.split()[0]).lstrip("0").rstrip("0")


@pytest.mark.parametrize("near", NEXT_TO_A_UNIT)
@pytest.mark.parametrize(
    ("write", "read", "factor"),
    [(format_seconds, parse_seconds, factor) for factor in SECONDS.values()]
    + [(measured_seconds, parse_seconds, factor) for factor in SECONDS.values() if factor < 1]
    + [(format_rate, parse_rate, factor) for factor in RATES.values()],
)
def test_next_to_a_unit_a_value_is_right_in_unit_and_digits(
    write: Callable[[float], str], read: Callable[[object], float], factor: float, near: float
) -> None:
    text = write(near * factor)
    assert read(text) == pytest.approx(near * factor, rel=5.1e-3)
    number = float(text.split()[0])
    largest = text.split()[1] in ("TB/s", "s", "min", "h")
    smallest = text.split()[1] in ("B/s", "ns")
    assert number < 1000 or largest
    assert number >= 1 or smallest
    assert len(_significant(text)) <= 3 or number >= 1000
    assert "e" not in text.split()[0]


@pytest.mark.parametrize("near", NEXT_TO_A_BINARY_UNIT)
@pytest.mark.parametrize("factor", SIZES.values())
def test_next_to_a_binary_unit_a_size_is_right_in_unit_and_digits(factor: int, near: float) -> None:
    text = format_bytes(near * factor)
    assert parse_bytes(text) == pytest.approx(near * factor, rel=1e-3)
    assert float(text.split()[0]) < 1024 or text.endswith("PiB")
    assert (text.split()[0] == "1") == (near >= 1023.5 and factor < SIZES["PiB"])


@given(st.floats(1e-9, 0.99e9))
def test_a_written_time_reads_as_the_time_to_three_digits(seconds: float) -> None:
    assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds, rel=0.0051)


@given(st.floats(1, 1e17))
def test_a_written_rate_reads_as_the_rate_to_three_digits(rate: float) -> None:
    assert parse_rate(format_rate(rate)) == pytest.approx(rate, rel=0.0051)


@given(st.integers(0, 2**62))
def test_a_written_size_reads_as_the_size_to_three_digits(size: int) -> None:
    exact = float(format_bytes(size).split()[0]) * SIZES[format_bytes(size).split()[1]]
    assert exact == pytest.approx(size, rel=0.0051)
    assert parse_bytes(exact_bytes(size).replace(",", "")) == size


@given(st.floats(1e-3, 1e12))
def test_a_written_factor_is_the_factor_without_exponent(factor: float) -> None:
    for text in (format_factor(factor), measured_factor(factor)):
        assert float(text.replace(",", "")) == pytest.approx(factor, rel=0.051 if factor < 0.01 else 0.0051)
        assert "e" not in text


@given(st.floats(1e-9, 1e5), st.floats(1e-9, 1e5))
def test_a_longer_time_never_reads_as_a_shorter_one(one: float, other: float) -> None:
    short, long = sorted((one, other))
    assert parse_seconds(measured_seconds(short).replace(",", "")) <= parse_seconds(
        measured_seconds(long).replace(",", "")
    ) * (1 + 1e-12)


def test_a_value_that_is_no_number_says_so() -> None:
    assert "nan" in format_seconds(math.nan)
    assert "inf" in format_rate(math.inf)


def test_nouns_agree_with_their_number() -> None:
    assert (plural(1, "launch"), plural(3, "launch"), plural(1200, "cell")) == ("1 launch", "3 launches", "1,200 cells")


def test_an_error_of_nothing_has_no_sign() -> None:
    # two runs of `weft papers` once differed by the sign of a zero
    assert (relative_error(1e-7), relative_error(-1e-7), relative_error(-0.004, 0)) == ("0.0 %", "0.0 %", "0 %")
    assert (relative_error(-0.0351), relative_error(0.001)) == ("-3.5 %", "+0.1 %")


def test_a_sentence_begins_large_but_not_with_what_users_type() -> None:
    assert capital("take it") == "Take it"
    for typed in ("network.eager_limit: messages", "weft run again", "eager_limit is it", "A=1 helps"):
        assert capital(typed) == typed
