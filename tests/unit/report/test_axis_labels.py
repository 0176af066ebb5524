# SPDX-License-Identifier: BSD-3-Clause
"""Ticks of logarithmic axes, by the rules of the Vega expression that labels them."""

import re

import pytest

from weft.report.figures.theme import BYTES_LABEL, RATES_LABEL, SECONDS_LABEL

STEP = re.compile(
    r"(?:datum\.value >= (?P<least>[^ ]+) \? )?format\(datum\.value / (?P<unit>[^,]+), '~r'\) \+ ' (?P<name>[^']+)'"
)


def label(expression: str, value: float) -> str:
    """What the expression writes at a tick; a condition with its label follows another, and the last has none."""
    for step in STEP.finditer(expression):
        if step["least"] is None or value >= float(step["least"]):
            return f"{value / float(step['unit']):g} {step['name']}"
    raise AssertionError(expression)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1 B"), (256, "256 B"), (512, "512 B"), (1023, "1023 B"), (1024, "1 KiB"), (2**19, "512 KiB"),
     (2**20, "1 MiB"), (2**30, "1 GiB")],
)  # fmt: skip
def test_a_tick_of_bytes_is_in_bytes_below_1_kib_and_then_in_binary_units(value: int, text: str) -> None:
    assert label(BYTES_LABEL, value) == text


def test_a_tick_of_a_time_or_a_rate_is_in_the_largest_unit_that_fits() -> None:
    assert [label(SECONDS_LABEL, value) for value in (1e-9, 1e-6, 1e-3, 1.0)] == ["1 ns", "1 us", "1 ms", "1 s"]
    assert label(RATES_LABEL, 1e9) == "1 GB/s"
