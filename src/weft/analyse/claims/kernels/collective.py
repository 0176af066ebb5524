# SPDX-License-Identifier: BSD-3-Clause
"""Which guidelines a library violates, or else which collective is furthest above its alternative, or its bound."""

import tomllib
from collections.abc import Sequence, Set
from functools import partial
from typing import Any, Literal

from weft.analyse.claims.kernels.exchange import find_bottleneck
from weft.analyse.claims.make import Known, claim_winners, find_thresholds, name_change
from weft.analyse.tables import answers as tables
from weft.analyse.tables.answers import FEWEST_LAUNCHES, GUIDELINE_LAUNCHES, GuidelineRow, OverlapRow, WinnerRow
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, Doubt, make_claim
from weft.analyse.tables.sweeps import Line, common_rows, largest_lines, own_lines, size_of
from weft.analyse.tables.times import TimedRow, holding_bound_s, reach
from weft.analyse.thresholds.trials import assignments
from weft.bound.placed import terms_of, traffic_of
from weft.bound.terms import largest
from weft.errors import FabricError
from weft.files.beneath import read_plain
from weft.kernel.traffic import MatrixTraffic
from weft.mpi.algorithms import DEFAULT, MOCK_UPS, algorithms, knob, progress_thread, setting
from weft.mpi.knobs import ISSUES
from weft.mpi.library import parse_library
from weft.plan.trials import AUDIT_SHARE
from weft.store.folder import RunFolder
from weft.store.tables import grouped

#: A library is consistent if nearly every test excludes that the call takes so many times what it is held against.
EXCLUDED, NEARLY = 2.0, 0.9
LEAST_SAVED = 0.1
TUNED = frozenset({"alltoall", "alltoallv"})  # calls of which `weft tune` compares algorithms
#: A library that hides less than this share of a call makes no progress of its own worth the name; and the width of an
#: interval beyond which a share says nothing.
HIDES, WIDEST = 0.5, 0.5
#: A progress thread that makes the call itself slower than this factor waits for its turn on the rank's core.
SHARES_A_CORE = 2.0
#: Doubts that a share survives whose times were taken in turns, with an interval over launches: they touch all alike.
IN_TURNS: frozenset[Doubt] = frozenset({"launches", "precision", "steal", "load", "lost"})


def claim_guidelines(known: Known) -> list[ClaimRow]:
    """A claim for each violated guideline with the size at which it is worst, and what to do about the first."""
    every = list(enumerate(tables.GUIDELINES.read(known.path)))
    enough = [(index, row) for index, row in every if row["launches"] >= GUIDELINE_LAUNCHES]
    rows = [row for _, row in enough or every]
    launches = min((row["launches"] for row in rows), default=0)
    bad = {row["cell"] for row in known.rows if row["status"] != "ok"}
    failed = sorted({cell.parameters["collective"] for cell in known.plan.measured if cell.id in bad})
    counted: dict[str, Any] = {
        "guidelines": len({(row["collective"], row["guideline"]) for row in rows}), "tests": len(rows),
        "launches": launches, "excluded": sum(row["high"] < EXCLUDED for row in rows),
    }  # fmt: skip
    unknown: dict[str, Any] = {"failed": failed, "fewest": GUIDELINE_LAUNCHES, **counted}
    again = "" if failed else _again(known, launches)
    inconclusive = make_claim(f"audit.{INCONCLUSIVE}", "answer", next=again, confidence="C", **unknown)
    if not enough:
        return [inconclusive]
    left = _left_out(known, rows, bad)
    covered = [make_claim("audit.covered", "breakdown", left=left, **counted)] if left else []
    groups = grouped(enough, lambda each: (each[1]["collective"], each[1]["guideline"]))
    found = [group for group in groups.values() if any(row["violated"] for _, row in group)]
    if not found:
        blind = counted["excluded"] < NEARLY * len(rows)
        consistent = make_claim("audit.consistent", "answer", confidence="B", **counted)
        return [inconclusive if blind or failed else consistent, *covered]
    found.sort(key=lambda group: -_worst_violation(group)["factor"])
    return [
        *(_guideline(group, "also" if place else "violated", counted) for place, group in enumerate(found)),
        *covered,
        *(_instead_of(known, _worst_violation(group)) for group in found),
    ]


def _again(known: Known, launches: int) -> str:
    """The audit with twice its time; for a study of one's own more launches."""
    if known.plan.study != "audit":
        return known.again("--launches", str(max(GUIDELINE_LAUNCHES, 2 * launches)))
    # those of the plan are the ones that the time allowed
    planned = tomllib.loads(read_plain(RunFolder(known.path).study).decode())["measure"]["launches"]
    turns = 2 * planned * sum(len(cell.parameters["bytes"]) for cell in known.plan.measured)
    return known.longer("audit", known.plan.measure.budget * turns / AUDIT_SHARE)


def _left_out(known: Known, rows: Sequence[GuidelineRow], failed: Set[str]) -> list[tuple[str, list[int]]]:
    """Calls, and sizes that took too long for the time of the audit in some launches or in all."""
    measured = {(row["cell"], row["bytes"]) for row in rows}
    audited = [each for each in known.plan.measured if each.parameters.get("guidelines") and each.id not in failed]
    left = grouped(
        ((cell, size) for cell in audited for size in cell.parameters["bytes"] if (cell.id, size) not in measured),
        lambda each: str(each[0].parameters["collective"]),
    )
    return [(collective, [size for _, size in sizes]) for collective, sizes in left.items()]


def _worst_violation(group: Sequence[tuple[int, GuidelineRow]]) -> GuidelineRow:
    return max((row for _, row in group if row["violated"]), key=lambda row: row["factor"])


def _guideline(group: Sequence[tuple[int, GuidelineRow]], name: str, counted: dict[str, Any]) -> ClaimRow:
    worst = _worst_violation(group)
    return make_claim(
        f"audit.{name}", "answer", worst["collective"], worst["factor"], "factor", (worst["low"], worst["high"]),
        coverage=0.95, confidence="B", cell=worst["cell"], call=f"{worst['collective']}@{worst['bytes']}",
        evidence=[f"guidelines:{index}" for index, row in group if row["violated"]], guideline=worst["guideline"],
        bytes=worst["bytes"], sizes=[row["bytes"] for _, row in group if row["violated"]], of_sizes=len(group),
        seconds=worst["seconds"], rival_s=worst["rival_s"], nodes=worst["nodes"], ranks=worst["ranks"], **counted,
    )  # fmt: skip


def _instead_of(known: Known, row: GuidelineRow) -> ClaimRow:
    collective, guideline = row["collective"], row["guideline"]
    tuned, family = collective in TUNED, parse_library(known.library).family
    return make_claim(
        "audit.next", "remedy", collective, 1 - 1 / row["factor"], "share", confidence="B",
        mock_up=guideline if guideline in MOCK_UPS[collective] else "", knob=knob(known.library, collective),
        issue=ISSUES.get((family, collective, guideline), ""), tuned=tuned, next=known.tuning if tuned else "",
    )  # fmt: skip


def find_claims(known: Known) -> list[ClaimRow]:
    """Algorithms that beat the library's own choice; without rivals the call furthest above its bound."""
    if any(cell.parameters.get("guidelines") for cell in known.plan.measured):
        return claim_guidelines(known)
    if any(cell.parameters.get("overlap") for cell in known.plan.measured):
        return find_overlaps(known, tables.OVERLAPS.read(known.path))
    lines = own_lines(known.lines)
    rest = find_thresholds(known, lines)
    if known.winners:
        return [*claim_winners(known.winners, partial(_setting, known), known.tuning), *rest]
    rivals = {line.algorithm for line in known.lines}
    launches = min((row["launches"] for line in known.lines for row in line.rows), default=0)
    if DEFAULT in rivals and len(rivals) > 1 and 0 < launches < FEWEST_LAUNCHES:  # too few to name a winner
        again = known.again("--launches", str(FEWEST_LAUNCHES))
        return [make_claim(f"collective.{INCONCLUSIVE}", "answer", launches=launches, next=again), *rest]
    return [*_above_bound(known, largest_lines(lines)), *rest]


def find_overlaps(known: Known, rows: Sequence[OverlapRow]) -> list[ClaimRow]:
    """What each call hides on the most ranks at the largest size at which that is known, the least first; a remedy."""
    most = max((row["ranks"] for row in rows), default=0)
    sure = [row for row in rows if row["ranks"] == most and _is_sure(row)]
    waits = sorted((row for row in sure if _kind(row) == "wait"), key=lambda row: (row["bytes"], -row["share"]))
    largest = {row["collective"]: row for row in waits}  # of several at one size, the one that hides least
    plain = sorted(largest.values(), key=lambda row: row["share"])
    launches = min((row["launches"] for row in rows), default=0)
    if not plain or launches < FEWEST_LAUNCHES:
        again = known.again("--launches", str(max(FEWEST_LAUNCHES, launches + 1)))
        return [make_claim(f"overlap.{INCONCLUSIVE}", "answer", launches=launches, next=again)]
    worst = plain[0]
    ways = [row for row in rows if all(row[key] == worst[key] for key in ("collective", "bytes", "nodes", "ranks"))]
    claims = [
        *(_overlap("also" if place else "hidden", "answer", row) for place, row in enumerate(plain)),
        *(_overlap(_kind(row), "breakdown", row) for row in ways if _is_sure(row) and _kind(row) != "wait"),
    ]
    if worst["high"] < HIDES:
        claims += _next_progress(known, worst, ways)
    doubts = {row["doubt"] for row in known.quality if row["grade"] > "B"}
    return [{**claim, "confidence": "B"} for claim in claims] if doubts and doubts <= IN_TURNS else claims


def _is_sure(row: OverlapRow) -> bool:
    return row["high"] - row["low"] <= WIDEST


def _next_progress(known: Known, worst: OverlapRow, ways: Sequence[OverlapRow]) -> list[ClaimRow]:
    """MPI_Test, or the library's thread: what helped here, or is unknown; a thread that slows the call lacks a core."""
    helps = {_kind(row): row["low"] > worst["high"] for row in ways if _is_sure(row)}
    thread = progress_thread(known.library, several_nodes=worst["nodes"] > 1)
    slower = max((row["alone_s"] / worst["alone_s"] for row in ways if _kind(row) == "thread"), default=0.0)
    knob = assignments(thread) if helps.get("thread", True) or slower > SHARES_A_CORE else ""
    polls = helps.get("test", True)
    advice: dict[str, Any] = {"knob": knob, "polls": polls, "unknown": not thread}
    advice |= {"slower": slower} if slower > SHARES_A_CORE else {}
    return [make_claim("overlap.next", "remedy", worst["collective"], **advice)] if knob or polls else []


def _kind(row: OverlapRow) -> str:
    """``wait``, ``test``, ``persistent``; ``thread`` and ``thread-test`` with the progress thread."""
    return row["way"] if not row["thread"] else "thread" if row["way"] == "wait" else f"thread-{row['way']}"


def _overlap(name: str, kind: Literal["answer", "breakdown"], row: OverlapRow) -> ClaimRow:
    return make_claim(
        f"overlap.{name}", kind, row["collective"], row["share"], "share", (row["low"], row["high"]), coverage=0.95,
        cell=row["cell"], call=f"{row['collective']}@{row['bytes']}", bytes=row["bytes"], alone_s=row["alone_s"],
        nodes=row["nodes"], ranks=row["ranks"],
    )  # fmt: skip


def _setting(known: Known, best: WinnerRow) -> str:
    """``NAME=VALUE`` for each variable of the library that chooses an algorithm."""
    listed = algorithms(known.library, best["call"], best["ranks"])
    chosen = next((each for each in listed if each.name == best["algorithm"]), None)
    return assignments(setting(known.library, best["call"], chosen)) if chosen else ""


def _above_bound(known: Known, lines: Sequence[Line]) -> list[ClaimRow]:
    rows = common_rows(lines) or [(line, line.rows[-1]) for line in lines]
    if not rows:
        return [make_claim("collective.untimed", "answer")]
    bounded = [(row["median_s"] / bound_s, line, row) for line, row in rows if (bound_s := holding_bound_s(row))]
    if not bounded:
        line, row = max(rows, key=lambda each: each[1]["median_s"])
        return [_call(known, "collective.slowest", line, row), *_alternatives(known, line)]
    _, line, row = max(bounded, key=lambda each: each[0])
    return [
        _call(known, "collective.above-bound", line, row),
        *find_bottleneck(known, row["cell"], row["call"]),
        *_imbalance(known, row),
        *_left_algorithm(known, line, row),
        *_alternatives(known, line),
    ]


def _left_algorithm(known: Known, line: Line, row: TimedRow) -> list[ClaimRow]:
    """The algorithm left just below this size, if its line is surely far lower; unseen beyond twice that size."""
    size = size_of(row)
    left = [each for each in line.jumps if each["algorithm_after"] and each["upper"] <= size]
    change = max(left, key=lambda each: each["upper"], default=None)
    if change is None or change["algorithm_after"] != row["algorithm"] or size > 2 * change["upper"]:
        return []
    rate = change["before_rate"]  # none where the line is flat
    expected_s = change["lower_s"] + ((size - change["lower"]) / rate if rate else 0.0)
    saves = 1 - expected_s / row["median_s"]
    if (change["low"] or 0.0) <= 1 or saves < LEAST_SAVED:
        return []
    return [make_claim(
        "remedy.algorithm-of-smaller", "remedy", change["algorithm_before"], saves, "share", confidence="B", at=row,
        basis="extended", seconds=row["median_s"], evidence=[name_change(known, change)],
    )]  # fmt: skip


def _imbalance(known: Known, row: TimedRow) -> list[ClaimRow]:
    """What the lower bound of unequal blocks is, and that of the same bytes in equal ones; nothing for equal blocks."""
    cell = known.plan.cell(row["cell"])
    planned, traffic = cell.bounds.get(row["call"]), traffic_of(cell, row["call"])
    # the blocks of neighbours are alike
    if planned is None or cell.parameters.get("form") == "neighbor" or not isinstance(traffic, MatrixTraffic):
        return []
    try:
        even = largest(terms_of(traffic.evenly(), cell, known.plan.planned_fabric))
    except FabricError:  # a dump that stayed on another machine
        return []
    if even is None or even.seconds > 0.999 * planned.seconds:
        return []
    more: dict[str, Any] = {"limit": planned.name, "seconds": row["median_s"], "even": even.seconds}
    return [make_claim("collective.imbalance", "breakdown", "", planned.seconds, "seconds", at=row, **more)]


def _alternatives(known: Known, line: Line) -> list[ClaimRow]:
    """What to do about a call for which nothing was computed that would help: compare its algorithms."""
    if known.remedies:
        return []
    return [make_claim("remedy.algorithms", "remedy", line.name, next=known.tuning if line.call in TUNED else "")]


def _call(known: Known, id: str, line: Line, row: TimedRow) -> ClaimRow:
    bound_s, (low, high) = holding_bound_s(row), reach(row)
    of = bound_s or 1.0
    return make_claim(
        id, "answer", line.name, row["median_s"] / of, "factor" if bound_s else "seconds",
        (low / of, high / of) if row["low_s"] else (None, None), bound=bound_s, coverage=row["coverage"],
        at=row, bytes=size_of(row), seconds=row["median_s"], limit=row["bound"],
        nodes=row["nodes"], ranks=row["ranks"], calls=len(largest_lines(own_lines(known.lines))),
    )  # fmt: skip
