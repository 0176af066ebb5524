# SPDX-License-Identifier: BSD-3-Clause
"""Performance guidelines that a library violates as claims, the worst first, with remedies; or that there is none."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.claims.known import Known
from weft.analyse.tables.answers import FEWEST_LAUNCHES, GUIDELINES, GuidelineRow
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, make_claim
from weft.mpi.algorithms import knob
from weft.mpi.guidelines import MOCK_UPS
from weft.mpi.knobs import known_issue


def find_claims(known: Known) -> list[ClaimRow]:
    """A claim for each violated guideline with the size at which it is worst, and what to do about the first."""
    rows = GUIDELINES.read(known.path)
    launches = min((row["launches"] for row in rows), default=0)
    counted: dict[str, Any] = {
        "guidelines": len({(row["collective"], row["guideline"]) for row in rows}), "tests": len(rows),
        "launches": launches,
    }  # fmt: skip
    if launches < FEWEST_LAUNCHES:
        again = known.again("--launches", str(FEWEST_LAUNCHES))
        return [make_claim(f"audit.{INCONCLUSIVE}", "answer", next=again, confidence="C", **counted)]
    groups: dict[tuple[str, str], list[tuple[int, GuidelineRow]]] = {}
    for index, row in enumerate(rows):
        groups.setdefault((row["collective"], row["guideline"]), []).append((index, row))
    found = [group for group in groups.values() if any(row["violated"] for _, row in group)]
    if not found and any(row["status"] != "ok" for row in known.rows):
        return [make_claim(f"audit.{INCONCLUSIVE}", "answer", next=known.again(), confidence="C", **counted)]
    if not found:
        return [make_claim("audit.consistent", "answer", confidence="B", **counted)]
    found.sort(key=lambda group: -_worst(group)["factor"])
    return [
        *(_violation(group, "also" if place else "violated", counted) for place, group in enumerate(found)),
        *(_remedy(known, _worst(group)) for group in found),
    ]


def _worst(group: Sequence[tuple[int, GuidelineRow]]) -> GuidelineRow:
    return max((row for _, row in group if row["violated"]), key=lambda row: row["factor"])


def _violation(group: Sequence[tuple[int, GuidelineRow]], name: str, counted: dict[str, Any]) -> ClaimRow:
    worst = _worst(group)
    return make_claim(
        f"audit.{name}", "answer", worst["collective"], worst["factor"], "factor", (worst["low"], worst["high"]),
        coverage=0.95, confidence="B", cell=worst["cell"], call=f"{worst['collective']}@{worst['bytes']}",
        evidence=[f"guidelines:{index}" for index, row in group if row["violated"]], guideline=worst["guideline"],
        bytes=worst["bytes"], sizes=[row["bytes"] for _, row in group if row["violated"]], of_sizes=len(group),
        seconds=worst["seconds"], rival_s=worst["rival_s"], nodes=worst["nodes"], ranks=worst["ranks"], **counted,
    )  # fmt: skip


def _remedy(known: Known, row: GuidelineRow) -> ClaimRow:
    """What to do: the mock-up itself, the variable that chooses another algorithm, and who knows of it already."""
    collective, guideline = row["collective"], row["guideline"]
    tuned = collective in ("alltoall", "alltoallv")
    return make_claim(
        "audit.next", "remedy", collective, 1 - 1 / row["factor"], "share", confidence="B",
        mock_up=guideline if guideline in MOCK_UPS[collective] else "", knob=knob(known.library, collective),
        issue=known_issue(known.library, collective, guideline), tuned=tuned, next=known.tuning if tuned else "",
    )  # fmt: skip
