# SPDX-License-Identifier: BSD-3-Clause
"""What a verdict answers by its interval."""

from typing import Any, cast

import pytest

from weft.analyse.tables.answers import VerdictRow, answer_of


def verdict(kind: str, low: float, high: float, outcome: str = "none") -> VerdictRow:
    row: dict[str, Any] = {"kind": kind, "outcome": outcome, "factor": (low * high) ** 0.5, "low": low, "high": high}
    return cast(VerdictRow, row)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        (verdict("weak", 0.7, 2.0), "undecided"),
        (verdict("weak", 0.5, 1.05), "none"),
        (verdict("strong", 0.5, 1.05), "undecided"),
        (verdict("strong", 0.95, 2.0), "none"),
        (verdict("weak", 1.01, 1.05, "rises"), "hardly rises"),
        (verdict("weak", 1.01, 1.5, "rises"), "rises"),
    ],
)
def test_an_interval_that_holds_a_doubling_does_not_show_that_nothing_changed(row: VerdictRow, answer: str) -> None:
    assert answer_of(row) == answer
