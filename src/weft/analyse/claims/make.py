# SPDX-License-Identifier: BSD-3-Clause
"""Writing the claims of a run, its analysis's last step; only here its quality decides what it may claim (METHOD 20).

A source proposes claims as if all numbers were good, with the confidence that it leaves itself: B for what it weighed
against the run's doubts. `judge` adds the run's grade. A, B: everything is claimed. C, D: an answer becomes
``<kernel>.inconclusive`` and keeps its number, causes and remedies are not claimed; what its source has weighed
stands. A simulation of a machine to which no number was fitted has a range and no point: its answer is claimed if the
whole range agrees with it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from weft.analyse.claims.known import Known
from weft.analyse.quality import doubt_model
from weft.analyse.tables.answers import MATTERS
from weft.analyse.tables.breakdown import BreakdownRow, RemedyRow
from weft.analyse.tables.claims import (
    CLAIMS,
    INCONCLUSIVE,
    ClaimRow,
    Doubt,
    Grade,
    QualityRow,
    claims_of,
    grade_of,
    make_claim,
)
from weft.analyse.tables.times import CallRow, is_refuted
from weft.analyse.tables.traces import TraceDoubtRow
from weft.fabric.model import Fabric
from weft.format import format_bytes
from weft.kernel.sizes import line_name, split_op
from weft.plan.records import Plan

KERNELS = "weft.analyse.claims.kernels"
#: Claims of doubts by the doubt.
IDS: Mapping[Doubt, str] = {
    "launches": "launches.vary", "precision": "launches.wide", "steal": "host.steal", "load": "host.load",
    "lost": "host.lost-time", "swap": "host.swap", "core": "host.shared-core", "host": "host.shared-host",
    "oversubscribed": "host.oversubscribed", "kernel": "host.kernel", "floor": "times.below-floor",
    "bound": "times.below-bound", "wrong": "times.contradict", "failed": "cells.failed", "model": "model.unfitted",
    "fitted": "model.fitted", "latency": "model.latency", "trace": "trace.doubted",
}  # fmt: skip
#: The ratio by which simulations of machines to which nothing was fitted are off at worst (`weft papers machines`).
UNFITTED = 2.0
#: Factors between the same operations of one model, whose error is in both.
RELATIVE = frozenset({"outlier", "pairs", "check", "audit", "whatif", "alternative", "interference", "shared"})
SILENT = frozenset({INCONCLUSIVE, "unmeasured", "untimed"})  # answers that say why there is none


def write_claims(path: Path, plan: Plan, rows: Sequence[CallRow]) -> None:
    """Make a run's claims from its other tables, in the order of the card (answers to doubts), and write them."""
    known, own = Known(path, plan, rows), f"{KERNELS}.{plan.kernel}"
    if find_spec(own):
        answers: list[ClaimRow] = import_module(own).find_claims(known)
    else:  # a kernel without questions of its own: how many times were measured
        timed = sum(row["status"] == "ok" and bool(row["samples"]) for row in rows)
        answers = [make_claim("plain.measured", "answer", plan.kernel, timed, "count", of=len(rows))]
    first = next(iter(claims_of(answers, "answer")), None)
    # from the floor up; calls of ranks that share cores come last
    steps = sorted(enumerate(known.breakdown), key=lambda each: plan.cell(each[1]["cell"]).oversubscribed)
    every = [
        *answers,
        *(_step(index, row) for index, row in steps),
        *claim_remedies(known, *(first["cell"], first["call"]) if first else ("", "")),
        *claim_findings(known),
        *(claim_doubt(row, _next(known, row), f"quality:{index}") for index, row in enumerate(known.quality)),
    ]
    CLAIMS.write(path, judge(every, known.quality))


def _step(index: int, row: BreakdownRow) -> ClaimRow:
    value, unit, ends = row["factor"], "factor", (row["factor_low"], row["factor_high"])
    if value is None:
        value, unit, ends = row["seconds"], "seconds", (row["low"], row["high"])
    return make_claim(
        f"breakdown.{row['step']}", "breakdown", row["name"], value, unit, ends, at=row,
        evidence=[f"breakdown:{index}"], seconds=row["seconds"], mover=row["mover"], effect=row["effect"],
    )  # fmt: skip


def claim_findings(known: Known) -> list[ClaimRow]:
    """A claim for each rule and level, the most severe first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(known.findings):
        groups.setdefault((row["level"], row["rule"]), []).append(index)
    return [
        make_claim(
            f"finding.{rule}", "finding", known.findings[places[0]]["where"], len(places), "count",
            evidence=[f"findings:{place}" for place in places], level=level,
            what=known.findings[places[0]]["what"], remedy=known.findings[places[0]]["remedy"],
        )
        for (level, rule), places in groups.items()
    ]  # fmt: skip


def claim_remedies(known: Known, cell: str, call: str) -> list[ClaimRow]:
    """Remedies of a call, of each cell's slowest, and confirmed settings: what saves most first, shared cores last."""
    chosen: list[tuple[int, RemedyRow]] = []
    for _, group in groupby(enumerate(known.remedies), key=lambda each: each[1]["cell"]):
        found = list(group)
        plain = [row for _, row in found if not row["setting"]]
        longest = max(plain or [row for _, row in found], key=lambda row: row["seconds"])["call"]
        chosen += [each for each in found if each[1]["call"] in (longest, call) or each[1]["setting"]]

    def is_main(row: RemedyRow) -> bool:
        return (row["cell"], row["call"]) == (cell, call)

    def order(each: tuple[int, RemedyRow]) -> tuple[bool, bool, float]:
        row = each[1]
        return not is_main(row), known.plan.cell(row["cell"]).oversubscribed, -row["saves_s"] / row["seconds"]

    claims: list[ClaimRow] = []
    for index, row in sorted(chosen, key=order):
        name, size = split_op(row["call"])
        line = line_name(name, known.plan.cell(row["cell"]).parameters)
        whose = "" if size is None or is_main(row) else f"{line}, {format_bytes(size)}"
        claims.append(make_claim(
            f"remedy.{row['id']}", "remedy", row["subject"], row["saves_s"] / row["seconds"], "share",
            bound=row["saves_s"], at=row, evidence=[f"remedies:{index}"], seconds=row["seconds"], basis=row["basis"],
            floor_s=row["floor_s"], floor=row["floor"], ratio=row["ratio"], setting=row["setting"], nodes=row["nodes"],
            whose=whose, confidence="B" if row["setting"] else "A",
        ))  # fmt: skip
    return claims


def find_model_doubt(fabric: Fabric) -> ClaimRow | None:
    """What a prediction for a simulated machine is worth, by what was fitted to it; None of a real machine."""
    row = doubt_model(fabric) if fabric.is_model else None
    return claim_doubt(row) if row else None


def claim_doubt(row: QualityRow, following: str = "", evidence: str = "") -> ClaimRow:
    """A doubt as a claim, with the command that would settle it."""
    return make_claim(
        IDS[row["doubt"]], "doubt", row["doubt"], row["share"], "share", confidence=row["grade"],
        next=following, evidence=[evidence] if evidence else [], count=row["count"], of=row["of"], worst=row["worst"],
        noun=row["noun"], turns=row["turns"],
    )  # fmt: skip


def _next(known: Known, row: QualityRow) -> str:
    if row["doubt"] in ("launches", "precision"):
        return known.again("--launches", str(row["launches"] or 10))
    if row["doubt"] in ("load", "steal", "lost"):
        return known.again("--launches", str(row["launches"] or 10), "--wait")
    stated = any(each["bound_basis"] == "stated" and is_refuted(each) for each in known.warm)
    if row["doubt"] in ("failed", "swap") or (row["doubt"] == "bound" and not stated):
        return known.again()
    return "weft fabric fit --help" if row["doubt"] == "model" else ""


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
