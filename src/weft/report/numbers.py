# SPDX-License-Identifier: BSD-3-Clause
"""The time of a row and its lower bound as text."""

from collections.abc import Mapping
from typing import Any

from weft.analyse.tables.times import CallRow, TimedRow, is_beaten
from weft.format import UNKNOWN, format_seconds, measured_seconds


def time_text(row: Mapping[str, Any]) -> str:
    """A time of the table of calls with its interval, or the status of a row without a time."""
    return measured_seconds(row["median_s"], row["low_s"], row["high_s"]) if row["status"] == "ok" else row["status"]


def root_text(row: Mapping[str, Any]) -> str:
    """The median over the roots that a model went through, with the times of the fastest and the slowest root."""
    return measured_seconds(row["median_s"], row["min_s"], row["max_s"]) if by_root(row) else time_text(row)


def by_root(row: Mapping[str, Any]) -> bool:
    """Whether the samples of a row differ although nothing is drawn at random."""
    return row["interval"] == "none" and format_seconds(row["min_s"]) != format_seconds(row["max_s"])


def bound_text(row: CallRow | TimedRow) -> str:
    """The lower bound and its cause; one that a sample beat is none, and says so."""
    if not row["bound_s"]:
        return UNKNOWN
    wrong = " (wrong: a sample beat it)" if is_beaten(row) else ""
    return f"{measured_seconds(row['bound_s'])}, {row['bound']}{wrong}"
