# SPDX-License-Identifier: BSD-3-Clause
"""The time of a row and its lower bound as text."""

from collections.abc import Mapping
from typing import Any

from weft.format import UNKNOWN, measured_seconds


def time_text(row: Mapping[str, Any]) -> str:
    """A time of the table of calls with its interval, or the status of a row without a time."""
    return measured_seconds(row["median_s"], row["low_s"], row["high_s"]) if row["status"] == "ok" else row["status"]


def bound_text(row: Mapping[str, Any]) -> str:
    """The lower bound and its cause."""
    return f"{measured_seconds(row['bound_s'])}, {row['bound']}" if row["bound_s"] else UNKNOWN
