# SPDX-License-Identifier: BSD-3-Clause
"""Writing the claims of a run, the last step of its analysis."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from weft.analyse.claims.gate import judge
from weft.analyse.claims.known import Known
from weft.analyse.quality import doubt_model
from weft.analyse.tables.breakdown import BreakdownRow, RemedyRow
from weft.analyse.tables.claims import CLAIMS, ClaimRow, claims_of, make_claim
from weft.analyse.tables.quality import Doubt, QualityRow
from weft.analyse.tables.times import CallRow, is_refuted
from weft.fabric.model import Fabric
from weft.format import format_bytes
from weft.kernel.sizes import line_name, split_op
from weft.plan.records import Plan

KERNELS = "weft.analyse.claims.kernels"


def write_claims(path: Path, plan: Plan, rows: Sequence[CallRow]) -> None:
    """Make the claims of a run from its other tables and write them."""
    CLAIMS.write(path, make_claims(Known(path, plan, rows)))


def make_claims(known: Known) -> list[ClaimRow]:
    """The claims of a run in the order of the card: answers, breakdown, remedies, findings, doubts."""
    own = f"{KERNELS}.{known.plan.kernel}"
    find: Callable[[Known], list[ClaimRow]] = import_module(own).find_claims if find_spec(own) else claim_measured
    answers = find(known)
    first = next(iter(claims_of(answers, "answer")), None)
    helps = claim_remedies(known, *(first["cell"], first["call"]) if first else ("", ""))
    every = [*answers, *claim_breakdown(known), *helps, *claim_findings(known), *claim_doubts(known)]
    return judge(every, known.quality)


def claim_measured(known: Known) -> list[ClaimRow]:
    """How many times were measured: the answer of a kernel without questions of its own."""
    timed = sum(row["status"] == "ok" and bool(row["samples"]) for row in known.rows)
    return [make_claim("plain.measured", "answer", known.plan.kernel, timed, "count", of=len(known.rows))]


def claim_breakdown(known: Known) -> list[ClaimRow]:
    """A claim for each step of each call, from the floor up; calls of ranks that share cores come last."""
    rows = sorted(enumerate(known.breakdown), key=lambda each: known.plan.cell(each[1]["cell"]).oversubscribed)
    return [_step(index, row) for index, row in rows]


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
    worst = [(known.findings[places[0]], places) for places in groups.values()]
    return [
        make_claim(
            f"finding.{row['rule']}", "finding", row["where"], len(places), "count",
            evidence=[f"findings:{place}" for place in places], level=row["level"], what=row["what"],
            remedy=row["remedy"],
        )
        for row, places in worst
    ]  # fmt: skip


def claim_remedies(known: Known, cell: str, call: str) -> list[ClaimRow]:
    """Remedies of a call, then those of the slowest call of each cell and every confirmed setting.

    What saves most comes first; calls of ranks that share cores come last.
    """
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

    listed = sorted(chosen, key=order)
    return [_remedy(index, row, "" if is_main(row) else _size_of(known, row)) for index, row in listed]


def _size_of(known: Known, row: RemedyRow) -> str:
    """The call and size of a row of a sweep, which a remedy of another call than the answer's must name."""
    name, size = split_op(row["call"])
    named = line_name(name, known.plan.cell(row["cell"]).parameters)
    return "" if size is None else f"{named}, {format_bytes(size)}"


def _remedy(index: int, row: RemedyRow, whose: str) -> ClaimRow:
    return make_claim(
        f"remedy.{row['id']}", "remedy", row["subject"], row["saves_s"] / row["seconds"], "share", bound=row["saves_s"],
        at=row, evidence=[f"remedies:{index}"], seconds=row["seconds"], basis=row["basis"], floor_s=row["floor_s"],
        floor=row["floor"], ratio=row["ratio"], setting=row["setting"], nodes=row["nodes"], whose=whose,
        confidence="B" if row["setting"] else "A",
    )  # fmt: skip


#: Claims of doubts by the doubt.
IDS: Mapping[Doubt, str] = {
    "launches": "launches.vary", "precision": "launches.wide", "steal": "host.steal", "load": "host.load",
    "lost": "host.lost-time", "swap": "host.swap", "core": "host.shared-core", "host": "host.shared-host",
    "oversubscribed": "host.oversubscribed", "kernel": "host.kernel", "floor": "times.below-floor",
    "bound": "times.below-bound", "wrong": "times.contradict", "failed": "cells.failed", "model": "model.unfitted",
    "fitted": "model.fitted", "latency": "model.latency", "trace": "trace.doubted",
}  # fmt: skip


def claim_doubts(known: Known) -> list[ClaimRow]:
    """A claim for each doubt, the most severe first."""
    return [claim_doubt(row, _next(known, row), f"quality:{index}") for index, row in enumerate(known.quality)]


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
