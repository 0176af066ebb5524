# SPDX-License-Identifier: BSD-3-Clause
"""The only place where the quality of a run decides what it may claim (METHOD 20).

A source proposes claims as if all numbers were good, each with the confidence that it leaves itself: B for what it has
weighed against the run's doubts, such as an outlier that no disturbance could have made. Here the run's grade is added:

A, B
    Everything is claimed, with the run's grade.
C, D
    An answer becomes ``<kernel>.inconclusive`` and keeps its number; causes and remedies are not claimed. What its
    source has weighed stands.
unfitted model
    A simulation of a machine to which no number was fitted has a range and no point; its answer is claimed if the whole
    range agrees with it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from weft.analyse.tables.answers import MATTERS
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.analyse.tables.quality import Grade, QualityRow, grade_of
from weft.analyse.tables.traces import TraceDoubtRow

#: The ratio by which simulations of machines to which nothing was fitted are off at worst (`weft papers machines`).
UNFITTED = 2.0
#: Factors between the same operations of one model, whose error is in both.
RELATIVE = frozenset({"outlier", "pairs", "check", "audit", "whatif", "alternative", "interference", "shared"})
#: Answers that say why there is none.
SILENT = frozenset({INCONCLUSIVE, "unmeasured", "untimed"})


def judge(proposed: Iterable[ClaimRow], quality: Sequence[QualityRow | TraceDoubtRow]) -> list[ClaimRow]:
    """The claims that a run may make, each with its confidence and its rank within its kind."""
    whole = grade_of(quality)
    others = grade_of([row for row in quality if row["doubt"] != "model"])
    unfitted = any(row["doubt"] == "model" for row in quality)
    judged = [found for claim in proposed if (found := _judged(claim, whole, others, unfitted=unfitted))]
    counts = Counter[str]()
    for claim in judged:
        claim["rank"] = counts[claim["kind"]]
        counts[claim["kind"]] += 1
    return judged


def _judged(claim: ClaimRow, whole: Grade, others: Grade, *, unfitted: bool) -> ClaimRow | None:
    if claim["kind"] in ("doubt", "finding"):
        return claim
    if unfitted and claim["confidence"] < "C" and claim["id"].partition(".")[0] not in RELATIVE:
        claim = _without_point(claim)
    if claim["confidence"] == "B":  # weighed by its source
        return {**claim, "confidence": "C" if unfitted else "B"}
    if others < "C":
        return {**claim, "confidence": max(whole, claim["confidence"])}
    if claim["kind"] != "answer":
        return None
    return _inconclusive({**claim, "confidence": max(whole, claim["confidence"])})


def _without_point(claim: ClaimRow) -> ClaimRow:
    """A predicted factor or time as a range; an answer that the range does not bear is inconclusive."""
    value = claim["value"]
    if value is None or claim["unit"] not in ("factor", "seconds"):
        return claim
    low, high = min(claim["low"] or value, value / UNFITTED), max(claim["high"] or value, value * UNFITTED)
    found: ClaimRow = {**claim, "value": None, "low": low, "high": high}
    if claim["kind"] == "answer" and claim["unit"] == "factor" and low < MATTERS and high > 1 / MATTERS:
        return _inconclusive({**found, "confidence": "C"})
    return found


def _inconclusive(claim: ClaimRow) -> ClaimRow:
    family, _, name = claim["id"].partition(".")
    kept = family == "scaling" or name in SILENT
    return claim if kept else {**claim, "id": f"{family if family != 'outlier' else 'pairs'}.{INCONCLUSIVE}"}
