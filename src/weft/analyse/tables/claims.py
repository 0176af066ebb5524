# SPDX-License-Identifier: BSD-3-Clause
"""The table of claims: what a run may say, each with its numbers, confidence and evidence (`weft.analyse.claims`)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypedDict

from weft.analyse.tables.quality import Called, Grade
from weft.store.tables import TableOf

ClaimKind = Literal["answer", "breakdown", "finding", "doubt", "remedy"]
Unit = Literal["", "seconds", "factor", "share", "bytes", "rate", "count"]
INCONCLUSIVE = "inconclusive"


class ClaimRow(TypedDict):
    """One claim of a run; `weft.words` says it.

    ``id`` is dotted, ``contention.network-bound``; ``rank`` orders a kind, 0 first. ``value`` is in ``unit`` with its
    interval ``low`` to ``high`` of the given ``coverage``; a claim with a range and no point has no ``value``.
    ``bound`` is the lower bound of a time in s, or what a remedy saves at most. ``confidence`` is the claim's
    own: of a run with many doubts some claims may stand. ``more`` holds further numbers and names as a JSON object
    (`extras`), ``next`` a command to paste, in which ``{run}`` is the run's folder, ``evidence`` rows of tables:
    ``verdicts:2``.
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
    """A claim; ``confidence`` is what its own source leaves of it, before the gate; ``more`` becomes its extras.

    ``at`` is a row of the claim's cell and call.
    """
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
