# SPDX-License-Identifier: BSD-3-Clause
"""Labels of logarithmic axes: each tick in its own unit, such as 10 ms rather than 0.01."""

from collections.abc import Mapping
from itertools import pairwise

from weft.format import SECONDS
from weft.units import RATES, SIZES


def label_expression(units: Mapping[str, float]) -> str:
    """A Vega expression that writes a tick in the largest of ``units`` (name to factor, smallest first) that fits.

    A tick such as 1e-6 may lie a rounding error below its unit, so a unit begins halfway to the one before.
    """
    (smallest, least), *_ = units.items()
    text = _label(smallest, least)
    for (_, below), (name, factor) in pairwise(units.items()):
        limit = factor / 2 if factor / below < 1024 else factor
        text = f"datum.value >= {limit!r} ? {_label(name, factor)} : {text}"
    return text


def _label(name: str, factor: float) -> str:
    return f"format(datum.value / {factor!r}, '~r') + ' {name}'"


SECONDS_LABEL = label_expression(SECONDS)
RATES_LABEL = label_expression(RATES)
BYTES_LABEL = label_expression(SIZES)
