# SPDX-License-Identifier: BSD-3-Clause
"""Sizes, rates and times as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from weft.units import (
    Bytes,
    Rate,
    Seconds,
    parse_bytes,
    parse_rate,
    parse_seconds,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "size"), [("0 B", 0), ("256 KiB", 262144), ("1.5MiB", 1572864), ("24 GiB", 24 * 2**30), ("0.5 KiB", 512)]
)
def test_a_size_has_a_binary_prefix(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "rate"), [("3.5 GB/s", 3.5e9), ("10 Gbit/s", 1.25e9), ("62.5 MB/s", 62.5e6), ("1 B/s", 1.0)]
)
def test_a_rate_has_a_decimal_prefix(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "seconds"), [("1.2 us", 1.2e-6), ("1.2 µs", 1.2e-6), ("5 s", 5.0), ("2 min", 120.0), ("300 ns", 3e-7)]
)
def test_a_time_has_its_unit(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds, rel=1e-15)


def test_a_decimal_prefix_of_a_size_is_refused_with_both_sizes_it_may_mean() -> None:
    with pytest.raises(ValueError, match=r'"5 MiB" for powers of 1024, or "5000000 B" if powers of 1000'):
        parse_bytes("5 MB")


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_bytes, "5", "has no unit"),
        (parse_bytes, 5, "in quotes"),
        (parse_bytes, "", "no size"),
        (parse_bytes, "-1 KiB", "not negative"),
        (parse_bytes, "0.5 B", "no whole number of bytes"),
        (parse_bytes, "5 s", '"s" is no unit of a size'),
        (parse_bytes, "9e999 GiB", "larger than any memory"),
        (parse_bytes, "5 KiBs", "no unit of a size"),
        (parse_rate, "5 GiB/s", "10\\^9 bytes a second"),
        (parse_rate, "0 GB/s", "above 0"),
        (parse_rate, "9e999 GB/s", "below"),
        (parse_seconds, "5 GB", "no unit of a time"),
        (parse_seconds, "9e99 h", "longer than"),
        (parse_seconds, None, "in quotes"),
        (parse_share, "0 %", "above 0"),
        (parse_share, "101 %", "at most 100 %"),
    ],
)
def test_a_wrong_unit_is_named(parse, text, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


@given(st.integers(0, 2**62))
def test_a_size_survives_being_written_and_read(size: int) -> None:
    adapter = TypeAdapter(Bytes)
    assert adapter.validate_python(adapter.dump_python(size)) == size


@given(st.floats(1e-9, 1e17))
def test_a_rate_survives_being_written_and_read(rate: float) -> None:
    adapter = TypeAdapter(Rate)
    assert adapter.validate_python(adapter.dump_python(rate)) == rate


@given(st.floats(0, 1e9))
def test_a_time_survives_being_written_and_read(seconds: float) -> None:
    adapter = TypeAdapter(Seconds)
    assert adapter.validate_python(adapter.dump_python(seconds)) == seconds
