# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a run's doubts, with the grade that each leaves it, and of what it may claim (`weft.analyse.claims`)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from weft.store.tables import Long, TableOf

Grade = Literal["A", "B", "C", "D"]
Doubt = Literal[
    "failed", "wrong", "launches", "precision", "bound", "floor", "steal", "lost", "swap", "core", "host", "kernel",
    "oversubscribed", "load", "model", "latency", "fitted", "trace",
]  # fmt: skip
ClaimKind = Literal["answer", "breakdown", "finding", "doubt", "remedy"]
Unit = Literal["", "seconds", "factor", "share", "bytes", "rate", "count"]
INCONCLUSIVE = "inconclusive"


class Rule(NamedTuple):
    """Above which share of what a doubt could touch the quality is B at best, and from which on C and D."""

    b: float
    c: float
    d: float

    def grade(self, share: float) -> Grade:
        """The best grade that a doubt of such a share leaves."""
        return "A" if share <= self.b else "D" if share >= self.d else "C" if share >= self.c else "B"


class Called(TypedDict):
    """The call of a cell that a row is of."""

    cell: str
    call: str


class Placement(TypedDict):
    """Nodes and ranks of the placement of a row."""

    nodes: int
    ranks: int


class OfCall(Called, Placement):
    """The call of a cell with its nodes and ranks."""


class QualityRow(TypedDict):
    """One doubt about a run; a run without a row has quality A. ``count`` of ``of`` rows (or cells in one launch; of
    the load at the start, hundredths of the cores) are touched, which is ``share`` and ``noun``. ``grade`` is the best
    that the run can have with this doubt: its quality is the worst of them. ``worst`` is a number of the most severe
    case: of ``launches`` the factor between two medians, of ``fitted`` the error on cells left out. ``launches`` is how
    many would settle it, ``turns`` what of it could turn the answer.
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


def grade_of(rows: Iterable[Mapping[str, Any]]) -> Grade:
    """The quality of a run or trace: the worst that one of its doubts leaves it. A further doubt never raises it."""
    grades: list[Grade] = ["A", *(row["grade"] for row in rows)]
    return max(grades)


QUALITY = TableOf("quality", QualityRow)


class ClaimRow(TypedDict):
    """One claim of a run; `weft.words` says it. ``id`` is dotted, ``contention.network-bound``; ``rank`` orders a kind,
    0 first. ``value`` is in ``unit`` with its interval ``low`` to ``high`` of the given ``coverage``; a claim with a
    range and no point has no ``value``. ``bound`` is the lower bound of a time in s, or what a remedy saves at most.
    ``confidence`` is the claim's own: of a run with many doubts some claims may stand. ``more`` holds further numbers
    and names as a JSON object (`extras`), ``next`` a command to paste, in which ``{run}`` is the run's folder,
    ``evidence`` rows of tables: ``verdicts:2``.
    """

    id: str
    kind: ClaimKind
    rank: int
    subject: str
    value: float | None
    unit: Unit
    low: float | None
    high: float | None
    coverage: float | None
    bound: float | None
    confidence: Grade
    cell: str
    call: str
    more: str
    next: str
    evidence: list[str]


CLAIMS = TableOf("claims", ClaimRow)


def make_claim(
    id: str,
    kind: ClaimKind,
    subject: str = "",
    value: float | None = None,
    unit: Unit = "",
    interval: tuple[float | None, float | None] = (None, None),
    *,
    coverage: float | None = None,
    bound: float | None = None,
    confidence: Grade = "A",
    at: Called | None = None,
    cell: str = "",
    call: str = "",
    next: str = "",
    evidence: Iterable[str] = (),
    **more: Any,
) -> ClaimRow:
    """A claim, of a row (``at``), with the confidence that its source leaves it; ``more``: its extras."""
    return ClaimRow(
        id=id, kind=kind, rank=0, subject=subject, value=value, unit=unit, low=interval[0], high=interval[1],
        coverage=coverage, bound=bound, confidence=confidence, cell=at["cell"] if at else cell,
        call=at["call"] if at else call,
        more=json.dumps({key: each for key, each in more.items() if each not in (None, "")}, allow_nan=True),
        next=next, evidence=list(evidence),
    )  # fmt: skip


def extras(claim: ClaimRow) -> dict[str, Any]:
    """The further numbers and names of a claim."""
    return json.loads(claim["more"])


def claims_of(claims: Sequence[ClaimRow], kind: ClaimKind) -> list[ClaimRow]:
    """The claims of a kind in their order."""
    return [each for each in claims if each["kind"] == kind]


def is_doubtful(claims: Sequence[ClaimRow]) -> bool:
    """Whether a difference to a run may come from what its own records doubt: its worst doubt leaves C or D."""
    return any(each["confidence"] >= "C" for each in claims_of(claims, "doubt"))
