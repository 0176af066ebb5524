# SPDX-License-Identifier: BSD-3-Clause
"""What a verdict answers: a change, surely none, or neither; and whether that stands where times were shorter."""

from collections.abc import Sequence
from typing import Literal

from weft.analyse.tables.answers import MATTERS, VerdictRow

Answer = Literal["falls", "rises", "hardly rises", "none", "undecided", "no verdict"]


def answer_of(row: VerdictRow, low: float | None = None, high: float | None = None) -> Answer:
    """What a verdict answers by its interval, or by another one of the same factor.

    Weak scaling is limited by a rise, and strong scaling is not by a fall: so that end of the interval counts where
    nothing is shown.
    """
    least = low if low is not None else row["low"] or row["factor"] or 0.0
    most = high if high is not None else row["high"] or row["factor"] or 0.0
    if row["outcome"] in ("undecided", "no verdict"):
        return row["outcome"]
    if row["outcome"] == "falls" and most < 1:
        return "falls"
    if row["outcome"] == "rises" and least > 1:
        return "hardly rises" if most <= MATTERS else "rises"
    open_end = most > MATTERS if row["kind"] == "weak" else least < 1 / MATTERS
    return "undecided" if open_end else "none"


def main_verdict(found: Sequence[VerdictRow]) -> VerdictRow | None:
    """The verdict that answers: on weak scaling where there is one; None where none could be given."""
    told = [each for each in found if each["outcome"] != "no verdict"]
    return next((each for each in told if each["kind"] == "weak"), told[0] if told else None)
