# SPDX-License-Identifier: BSD-3-Clause
"""What a trace may claim: where its ranks' time goes, what limits it, and what a remedy saves at most."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.analyse.claims.gate import judge
from weft.analyse.tables import traces as tables
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.traces import CallTimeRow, LateRow, ShareRow, TraceDoubtRow, VerdictRow
from weft.store.trace.layout import FILES

#: Smaller shares of time are not claimed.
LEAST = 0.0005
#: The command that follows a remedy.
NEXT = {"network": "weft whatif {run}", "all-to-all": "weft tune --traffic {run}", "placement": "weft whatif {run}"}


def make_claims(root: Path, seconds: float, busiest_s: float) -> list[ClaimRow]:
    """The claims of a trace whose other tables are written; times in s: of the program, of its busiest rank."""
    late, doubts = tables.LATE.read(root), tables.TRACE_DOUBTS.read(root)
    shares = [row for row in tables.SHARES.read(root) if row["share"] >= LEAST]
    doubted = [doubt_claim(row) for row in doubts]
    if not shares or seconds <= 0:
        return judge([make_claim("trace.untimed", "answer"), *doubted], [])
    first = shares[0]
    size: dict[str, Any] = {"ranks": len(late), "nodes": len({row["node"] for row in late})}
    answer = make_claim(
        f"trace.{first['what']}", "answer", "", first["share"], "share", evidence=["trace_shares:0"],
        seconds=seconds, what=first["what"], **size,
    )  # fmt: skip
    limit = _bottleneck(first, late, tables.CALL_TIMES.read(root), seconds, busiest_s)
    rest = [
        make_claim(f"share.{row['what']}", "breakdown", "", row["share"], "share", seconds=row["seconds"], **size)
        for row in shares[1:]
    ]
    helps = [_remedy(index, row) for index, row in enumerate(tables.VERDICT.read(root))]
    return judge([answer, limit, *rest, *helps, *doubted], doubts)


def _bottleneck(
    first: ShareRow, late: Sequence[LateRow], calls: Sequence[CallTimeRow], seconds: float, busiest_s: float
) -> ClaimRow:
    """Who caused most of the largest share: the rank that others waited for, or the call."""
    whole = sum(row["seconds"] for row in late)
    subject, kind, part = "computation", "computing", first["seconds"]
    if first["what"] == "waiting":
        worst = max(late, key=lambda row: row["caused_s"])
        subject, kind, part = f"rank {worst['rank']}", "late", worst["caused_s"]
    elif first["what"] != "computing":
        times = {row["call"]: _time_of(row, first["what"]) for row in calls}
        (subject, part), kind = max(times.items(), key=lambda each: each[1]), "call"
    return make_claim(
        f"bottleneck.{kind}", "breakdown", subject, part / whole, "share", bound=min(busiest_s, seconds),
        seconds=seconds, limit="computation", of=kind,
    )  # fmt: skip


def _time_of(row: CallTimeRow, what: str) -> float:
    """The time of a call, in s over all ranks, that counts as moving data, file calls or unknown."""
    is_file = row["call"] in FILES
    if what == "file":
        return row["seconds"] if is_file else 0.0
    moving = max(row["known_s"] - (row["waiting_s"] or 0.0), 0.0)
    return moving if what == "moving" else 0.0 if is_file else row["seconds"] - row["known_s"]


def _remedy(index: int, row: VerdictRow) -> ClaimRow:
    return make_claim(
        f"remedy.{row['remedy']}", "remedy", "", row["saves_s"] / row["seconds"], "share", bound=row["saves_s"],
        next=NEXT.get(row["remedy"], ""), evidence=[f"trace_verdict:{index}"], seconds=row["seconds"],
        computing_s=row["computing_s"], moving_s=row["moving_s"],
    )  # fmt: skip


def doubt_claim(row: TraceDoubtRow) -> ClaimRow:
    """A doubt about a trace."""
    return make_claim(
        f"trace.{row['doubt']}", "doubt", f"trace-{row['doubt']}", row["share"], "share", confidence=row["grade"],
        count=row["count"], of=row["of"], noun=row["where"],
    )  # fmt: skip
