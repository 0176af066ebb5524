# SPDX-License-Identifier: BSD-3-Clause
"""The table of a run's quality: what its own records doubt, and the grade that each doubt leaves it."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypedDict

from weft.store.tables import Long, TableOf

Grade = Literal["A", "B", "C", "D"]
Doubt = Literal[
    "failed", "wrong", "launches", "precision", "bound", "floor", "steal", "lost", "swap", "core", "host", "kernel",
    "oversubscribed", "load", "model", "latency", "fitted", "trace",
]  # fmt: skip


class Rule(NamedTuple):
    """Above which share of what a doubt could touch the quality is B at best, and from which on C and D."""

    b: float
    c: float
    d: float

    def grade(self, share: float) -> Grade:
        """The best grade that a doubt of such a share leaves."""
        if share <= self.b:
            return "A"
        return "D" if share >= self.d else "C" if share >= self.c else "B"


class Called(TypedDict):
    """The call of a cell that a row is of."""

    cell: str
    call: str


class OfCall(Called):
    """The same with its nodes and ranks."""

    nodes: int
    ranks: int


class QualityRow(TypedDict):
    """One doubt about a run; a run without a row has quality A.

    ``count`` of ``of`` rows (or cells in one launch; of the load at the start, hundredths of the cores) are touched,
    which is ``share`` and ``noun``. ``grade`` is the best that the run can have with this doubt: its quality is the
    worst of them. ``worst`` is a number of the most severe case: of ``launches`` the factor between two medians, of
    ``fitted`` the error on cells left out. ``launches`` is how many would settle it, ``turns`` what of it could
    turn the answer.
    """

    doubt: Doubt
    grade: Grade
    count: Long
    of: Long
    share: float
    noun: str
    worst: float | None
    launches: Long | None
    turns: str


class Graded(TypedDict):
    """A doubt of a run or trace, by the best grade that it leaves."""

    grade: Grade


def grade_of(rows: Iterable[Graded]) -> Grade:
    """The quality of a run or trace: the worst that one of its doubts leaves it. A further doubt never raises it."""
    grades: list[Grade] = ["A", *(row["grade"] for row in rows)]
    return max(grades)


QUALITY = TableOf("quality", QualityRow)
