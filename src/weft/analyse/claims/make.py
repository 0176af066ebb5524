# SPDX-License-Identifier: BSD-3-Clause
"""Writing the claims of a run, its analysis's last step; only here its quality decides what it may claim (METHOD 20).

A source proposes claims as if all numbers were good, with the confidence that it leaves itself: B for what it weighed
against the run's doubts. `judge` adds the run's grade. A, B: everything is claimed. C, D: an answer becomes
``<kernel>.inconclusive`` and keeps its number, causes and remedies are not claimed; what its source has weighed
stands. A simulation of a machine to which no number was fitted has a range and no point: its answer is claimed if the
whole range agrees with it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from weft.analyse.doubts import doubt_model
from weft.analyse.tables.answers import CHANGES, FINDINGS, MATTERS, VERDICTS, WINNERS, ChangeRow, WinnerRow
from weft.analyse.tables.breakdown import BOTTLENECKS, BREAKDOWN, CAUSES, REMEDIES, SENSITIVITY, BreakdownRow, RemedyRow
from weft.analyse.tables.claims import (
    CLAIMS,
    INCONCLUSIVE,
    QUALITY,
    ClaimRow,
    Doubt,
    Grade,
    QualityRow,
    grade_of,
    make_claim,
)
from weft.analyse.tables.sweeps import Line, beats, find_stretches, lines_of, most_saved
from weft.analyse.tables.times import CallRow, TimedRow, is_refuted, timed
from weft.analyse.tables.traces import TraceDoubtRow
from weft.fabric.model import Fabric
from weft.fabric.nodeset import fold
from weft.files.shipped import shipped
from weft.format import format_bytes
from weft.kernel.sizes import line_name, split_op
from weft.mpi.alltoall import is_own
from weft.plan.records import Plan
from weft.store.rows import LAUNCH_TABLE
from weft.store.tables import grouped, read_once

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


@dataclass(frozen=True)
class Known:
    """A run whose other tables are written."""

    path: Path  # the run folder
    plan: Plan
    rows: Sequence[CallRow]  # the table of calls
    verdicts = read_once(VERDICTS)  # verdicts on series that scale
    causes = read_once(CAUSES)  # what most of the time of each cell goes to
    bottlenecks = read_once(BOTTLENECKS)  # the busiest link of each shape
    breakdown = read_once(BREAKDOWN)  # the breakdown of each call
    remedies = read_once(REMEDIES)  # what would help, and how much at most
    winners = read_once(WINNERS)  # the fastest algorithms
    sensitivity = read_once(SENSITIVITY)  # what a simulated verdict depends on
    quality = read_once(QUALITY)  # the doubts about the run
    findings = read_once(FINDINGS)  # errors, warnings and notes about the numbers

    @cached_property
    def warm(self) -> list[TimedRow]:
        """Rows of the steady state with a time."""
        return timed(self.rows, phase="warm")

    @cached_property
    def lines(self) -> list[Line]:
        """The sweeps over message sizes."""
        return lines_of(self.path, self.plan, self.rows)

    @cached_property
    def library(self) -> str:
        """The version string of the MPI library; empty where none is known."""
        return next((row["mpi_library"] for row in LAUNCH_TABLE.read(self.path) if row["mpi_library"]), "")

    @property
    def machine(self) -> str:
        """The machine for ``--on``: a shipped one's name, or its file in the run's folder."""
        return self.plan.fabric if _is_shipped("fabrics", self.plan.fabric) else "{run}/fabric.toml"

    @property
    def tuning(self) -> str:
        """The command that makes a selection table for this machine."""
        return f"weft tune --on {self.machine}"

    def longer(self, verb: str, time_s: float) -> str:
        """The command of ``verb`` for twice ``time_s``, on the nodes and with the ranks per node of this run."""
        cell = max(self.plan.measured, key=lambda cell: cell.nodes)
        is_part = cell.hosts and set(cell.hosts) != set(self.plan.planned_fabric.hosts)
        nodes = f" --nodes '{fold(cell.hosts)}'" if is_part else ""
        time = max(round(float(f"{2 * time_s:.2g}")), 1)
        return f"weft {verb} --on {self.machine}{nodes} --ranks-per-node {cell.ranks_per_node} --time {time}s"

    def again(self, *options: str) -> str:
        """The command that adds to this run; ``{run}`` is its folder where study or fabric are no shipped ones."""
        study, fabric = self.plan.study, self.plan.fabric
        own = _is_shipped("studies", study) and _is_shipped("fabrics", fabric)
        command = f"{study} --on {fabric}" if own else "{run}/study.toml --on {run}/fabric.toml --into {run}"
        return " ".join(("weft run", command, *options))


def _is_shipped(folder: str, name: str) -> bool:
    return (shipped(folder) / f"{name}.toml").is_file()


def find_thresholds(known: Known, lines: Sequence[Line]) -> list[ClaimRow]:
    """The eager limit of each pattern, or else how many change-overs there are, and sizes slower than their double."""
    limits = [(line, change) for line in lines for change in line.changes if change["eager_limit"]]
    limits.sort(key=lambda each: not each[1]["confirmed"])
    found: dict[str, ClaimRow] = {}
    for line, change in limits:  # a pair has the same limit hot and cold
        found.setdefault(str(line.cell.parameters.get("members", line.name)), _limit(known, line, change))
    jumps = [change for line in lines for change in line.jumps]
    slower = sum(len(line.slower) for line in lines)
    switched, confirmed = (sum(bool(each[key]) for each in jumps) for key in ("algorithm_after", "confirmed"))
    counted = make_claim(
        "threshold.change-overs", "breakdown", "", len(jumps), "count", switched=switched, confirmed=confirmed,
        possible=sum(bool(each["knobs"]) for each in jumps) - confirmed,
        bends=sum(change["kind"] == "bend" for line in lines for change in line.changes),
    )  # fmt: skip
    doubles = [make_claim("threshold.slower-than-double", "breakdown", "", slower, "count")] if slower else []
    return [*(found.values() or [counted]), *doubles]


def name_change(known: Known, change: ChangeRow) -> str:
    """A change-over as evidence of a claim."""
    return f"change_overs:{CHANGES.read(known.path).index(change)}"


def _limit(known: Known, line: Line, change: ChangeRow) -> ClaimRow:
    ends = (change["low"], change["high"]) if change["low"] != change["high"] else (None, None)
    return make_claim(
        "threshold.eager-limit", "breakdown", line.name, change["factor"], "factor", ends,
        confidence="B" if change["confirmed"] else "A", at=change, evidence=[name_change(known, change)],
        lower=change["lower"], upper=change["upper"], confirmed=change["confirmed"],
        knobs=dict(zip(change["knobs"], change["knob_values"], strict=True)), refuted=change["refuted"],
    )  # fmt: skip


def claim_winners(
    winners: Sequence[WinnerRow], setting: Callable[[WinnerRow], str] = lambda _: "", following: str = ""
) -> list[ClaimRow]:
    """Faster algorithms by stretches of sizes, with the library's ``setting`` or the command ``following`` for each."""
    found: list[ClaimRow] = []
    for rows in find_stretches(winners):
        best = most_saved(rows)
        low, high = best["low"], best["high"]
        ends = (1 / high, 1 / low) if low and high and low < high else (None, None)
        found.append(make_claim(
            "collective.faster-algorithm", "answer", best["algorithm"], 1 / best["ratio"], "factor", ends,
            evidence=[f"winners:{winners.index(best)}"], name=f"MPI_{best['call'].capitalize()}",
            first=rows[0]["bytes"], last=rows[-1]["bytes"], bytes=best["bytes"], nodes=best["nodes"],
            ranks=best["ranks"], beaten=sum(map(beats, winners)), of=len(winners), setting=setting(best),
            next=following if is_own(best["algorithm"]) else "",
        ))  # fmt: skip
    return found or [make_claim("collective.none-faster", "answer", "", len(winners), "count")]


def write_claims(path: Path, plan: Plan, rows: Sequence[CallRow]) -> None:
    """Make a run's claims from its other tables, in the order of the card (answers to doubts), and write them."""
    known, own = Known(path, plan, rows), f"{KERNELS}.{plan.kernel}"
    if find_spec(own):
        answers: list[ClaimRow] = import_module(own).find_claims(known)
    else:  # a kernel without questions of its own: how many times were measured
        timed = sum(row["status"] == "ok" and bool(row["samples"]) for row in rows)
        answers = [make_claim("plain.measured", "answer", plan.kernel, timed, "count", of=len(rows))]
    first = next((each for each in answers if each["kind"] == "answer"), None)
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
    groups = grouped(enumerate(known.findings), lambda each: (each[1]["level"], each[1]["rule"]))
    return [
        make_claim(
            f"finding.{rule}", "finding", own[0][1]["where"], len(own), "count", level=level, what=own[0][1]["what"],
            evidence=[f"findings:{place}" for place, _ in own], remedy=own[0][1]["remedy"],
        )
        for (level, rule), own in groups.items()
    ]  # fmt: skip


def claim_remedies(known: Known, cell: str, call: str) -> list[ClaimRow]:
    """Remedies of a call, of each cell's slowest, and confirmed settings: what saves most first, shared cores last."""
    chosen: list[tuple[int, RemedyRow]] = []
    for _, group in groupby(enumerate(known.remedies), key=lambda each: each[1]["cell"]):
        found = list(group)
        plain = [row for _, row in found if not row["setting"]]
        longest = max(plain or [row for _, row in found], key=lambda row: row["seconds"])["call"]
        chosen += [each for each in found if each[1]["call"] in (longest, call) or each[1]["setting"]]

    def order(each: tuple[int, RemedyRow]) -> tuple[bool, bool, float]:
        row, is_other = each[1], (each[1]["cell"], each[1]["call"]) != (cell, call)
        return is_other, known.plan.cell(row["cell"]).oversubscribed, -row["saves_s"] / row["seconds"]

    claims: list[ClaimRow] = []
    for index, row in sorted(chosen, key=order):
        name, size = split_op(row["call"])
        line = line_name(name, known.plan.cell(row["cell"]).parameters)
        is_main = (row["cell"], row["call"]) == (cell, call)
        whose = "" if size is None or is_main else f"{line}, {format_bytes(size)}"
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
    for own in grouped(judged, lambda claim: claim["kind"]).values():
        for rank, claim in enumerate(own):
            claim["rank"] = rank
    return judged


def _judged(claim: ClaimRow, whole: Grade, others: Grade, *, unfitted: bool) -> ClaimRow | None:
    if claim["kind"] in ("doubt", "finding"):
        return claim
    if unfitted and claim["confidence"] < "C" and claim["id"].partition(".")[0] not in RELATIVE:
        claim = _without_point(claim)
    if claim["confidence"] == "B":  # weighed by its source
        return {**claim, "confidence": "C" if unfitted else "B"}
    graded: ClaimRow = {**claim, "confidence": max(whole, claim["confidence"])}
    return graded if others < "C" else _inconclusive(graded) if claim["kind"] == "answer" else None


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
