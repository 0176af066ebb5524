# SPDX-License-Identifier: BSD-3-Clause
"""The table of a run's quality: what its own records doubt, and the grade that each doubt leaves it."""

from collections.abc import Sequence
from typing import Literal, TypedDict

import pyarrow as pa

from weft.store.typed import TableOf

TEXT, LONG, REAL = pa.string(), pa.int64(), pa.float64()

Grade = Literal["A", "B", "C", "D"]
Doubt = Literal[
    "failed", "wrong", "launches", "precision", "bound", "floor", "steal", "taint", "swap", "core", "host", "kernel",
    "oversubscribed", "load",
]  # fmt: skip

MEANING: dict[Grade, str] = {
    "A": "nothing that was recorded speaks against the numbers",
    "B": "some numbers are to be read with care",
    "C": "too much is in doubt: a difference is not shown",
    "D": "most is in doubt: no cause is named",
}


class QualityRow(TypedDict):
    """One doubt about a run; a run without a row has quality A.

    ``count`` of ``of`` rows (or cells in one launch; of the load at the start, hundredths of the cores) are touched,
    which is ``share``. ``grade`` is the best that the run can have with this doubt: its quality is the worst of them.
    """

    doubt: Doubt
    grade: Grade
    count: int
    of: int
    share: float
    what: str
    remedy: str


def grade_of(rows: Sequence[QualityRow]) -> Grade:
    """The quality of a run: the worst that one of its doubts leaves it. A further doubt never raises it."""
    worst: Grade = "A"
    for row in rows:
        worst = row["grade"] if row["grade"] > worst else worst
    return worst


def quality_in_words(rows: Sequence[QualityRow]) -> str:
    """The grade and its gravest reason: ``C: times below the noise floor (649 of 5,000 rows)``."""
    if not rows:
        return f"A: {MEANING['A']}"
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{grade_of(rows)}: {rows[0]['what']}{more}"


QUALITY = TableOf(
    "quality",
    QualityRow,
    pa.schema(
        [
            ("doubt", TEXT), ("grade", TEXT), ("count", LONG), ("of", LONG), ("share", REAL), ("what", TEXT),
            ("remedy", TEXT),
        ]
    ),
)  # fmt: skip
