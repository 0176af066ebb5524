# SPDX-License-Identifier: BSD-3-Clause
"""What a trace may claim, what its own records doubt (METHOD 11 and 20), and what remedies save at most.

A rank that is runnable without a processor looks as if it computed or waited. Where ranks share processors by plan
that is mostly the others' turns: one doubt, and what others took is counted instead. What a remedy saves is a bound.
With the computing and file calls of every rank as they were (c, less the time without a processor), no network makes
the program faster than its busiest rank, nor than ranks that share processors can compute there (an ideal network, as
in Dimemas); nor does a placement. A faster all-to-all saves at most the time from its last arrival to its last end.
Ranks that compute equally long may still wait at every step, so c bounds no imbalance: with m the time for which a
rank surely moved data, the sum of c + m stays however the computing is shared, so at most the mean of T - c - m is
saved; and nobody waited longer for computing than the sum of c.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from weft.analyse.claims.make import judge
from weft.analyse.tables import traces as tables
from weft.analyse.tables.claims import ClaimRow, Rule, make_claim
from weft.format import plural
from weft.host import parse_cpus
from weft.store.trace.folder import TraceRankRow
from weft.store.trace.layout import FILES

#: The order is that of gravity between doubts that leave the same grade.
RULES: dict[tables.TraceDoubt, Rule] = {
    "oversubscribed": Rule(0, 0.01, 0.5), "core": Rule(0, 0.01, 0.5), "lost": Rule(0.01, 0.05, 0.25),
    "load": Rule(0.05, 0.25, 0.9), "steal": Rule(0.01, 0.05, 0.25), "tracer": Rule(0.01, 0.1, 0.5),
    "partial": Rule(0, 0.5, 1.01), "unmeasured": Rule(0, 1.01, 1.01),
}  # fmt: skip
Cores = Sequence[tuple[Sequence[int], int]]  # ranks that share processors there, and how many of these
Late = Sequence[tables.LateRow]
LEAST_SAVED = 0.005  # a remedy that saves less than this share is none
LEAST = 0.0005  # smaller shares of time are not claimed
#: The command that follows a remedy.
NEXT = {"network": "weft whatif {run}", "all-to-all": "weft tune --traffic {run}", "placement": "weft whatif {run}"}


class Shared(NamedTuple):
    """Ranks whose processors overlap: they, and all these processors."""

    ranks: list[TraceRankRow]
    cpus: frozenset[int]


def sharing(rows: Iterable[TraceRankRow]) -> list[Shared]:
    """The ranks of each host in groups whose processors overlap; ranks of unknown binding are in none."""
    hosts: dict[str, list[Shared]] = defaultdict(list)
    for row in rows:
        if own := parse_cpus(row["cpus"]):
            met = [group for group in hosts[row["host"]] if group.cpus & own]
            apart = [group for group in hosts[row["host"]] if not group.cpus & own]
            merged = Shared([row, *(each for group in met for each in group.ranks)], own.union(*(g.cpus for g in met)))
            hosts[row["host"]] = [*apart, merged]
    return [group for groups in hosts.values() for group in groups]


def trace_doubts(rows: Sequence[TraceRankRow]) -> list[tables.TraceDoubtRow]:
    """Rows of TRACE_DOUBTS, the most severe first; none for a trace without a doubt."""
    groups = sharing(rows)
    crowded = [group for group in groups if len(group.ranks) > len(group.cpus)]
    narrow = [group for group in crowded if len(group.cpus) < group.ranks[0]["host_cpus"]]
    shared = {row["rank"] for group in crowded for row in group.ranks}
    whole_ns = sum(row["end_ns"] - row["begin_ns"] for row in rows)
    lost = [row["lost_ns"] for row in rows if row["rank"] not in shared and row["lost_ns"] is not None]
    ran = sum(row["looked_ns"] or 0 for row in rows if row["rank"] not in shared)
    calls_ns = sum(row["cost_ns"] * (row["events"] + row["summarised"]) for row in rows)
    unknown = sum(row["lost_ns"] is None for row in rows)
    # time that hypervisors took, and all time of all processors, ns; a host counts once
    hosts = {row["host"]: row for row in rows if row["steal_ns"] is not None and row["looked_ns"]}
    had = sum(row["host_cpus"] * (row["looked_ns"] or 0) for row in hosts.values())
    found = [
        _doubt("oversubscribed", *_crowd([group for group in crowded if group not in narrow], len(rows))),
        _doubt("core", *_crowd(narrow, len(rows))),
        _doubt("lost", sum(lost), ran, ""),
        _doubt("load", *_others(groups)),
        _doubt("steal", sum(row["steal_ns"] or 0 for row in hosts.values()), had, ""),
        _doubt("tracer", round(calls_ns), whole_ns, ""),
        _doubt("partial", sum(bool(row["missing"]) for row in rows), len(rows), ""),
        _doubt("unmeasured", unknown, len(rows), ""),
    ]
    return sorted(filter(None, found), key=lambda row: (-ord(row["grade"]), list(RULES).index(row["doubt"])))


def _crowd(groups: Sequence[Shared], ranks: int) -> tuple[int, int, str]:
    """Ranks of these groups, of all, and the worst of the groups in words."""
    if not groups:
        return 0, ranks, ""
    worst = max(groups, key=lambda group: len(group.ranks) / len(group.cpus))
    who = f"{plural(len(worst.ranks), 'rank')} on {plural(len(worst.cpus), 'core')} of {worst.ranks[0]['host']}"
    return sum(len(group.ranks) for group in groups), ranks, who


def _others(groups: Sequence[Shared]) -> tuple[int, int, str]:
    """Processor time of other processes on the ranks' processors, and all time of these, ns."""
    taken = had = 0
    for group in groups:
        looked = [row["looked_ns"] for row in group.ranks if row["looked_ns"]]
        if len(looked) < len(group.ranks) or all(row["busy_ns"] is None for row in group.ranks):
            continue
        # overlapping bindings that are not the same: the widest look at least sees its own processors
        widest = max(group.ranks, key=lambda row: len(parse_cpus(row["cpus"])))
        cpus = parse_cpus(widest["cpus"])
        own = sum(row["own_ns"] or 0 for row in group.ranks if parse_cpus(row["cpus"]) <= cpus)
        taken += max((widest["busy_ns"] or 0) - own, 0)
        had += len(cpus) * max(looked)
    return taken, had, ""


def _doubt(doubt: tables.TraceDoubt, count: int, of: int, who: str) -> tables.TraceDoubtRow | None:
    share = count / of if of > 0 else 0.0
    grade = RULES[doubt].grade(share)
    row = tables.TraceDoubtRow(doubt=doubt, grade=grade, count=count, of=of, share=share, where=who)
    return row if grade > "A" else None


def busiest_s(ranks: Late, cores: Cores = ()) -> float:
    """The computing of the busiest rank, or of the ranks that share some cores there: no network is faster."""
    needs = {row["rank"]: max(row["compute_s"] + row["file_s"] - (row["lost_s"] or 0.0), 0.0) for row in ranks}
    together = [sum(needs.get(rank, 0.0) for rank in group) / max(number, 1) for group, number in cores]
    return max([*needs.values(), *together], default=0.0)


def verdict(
    ranks: Late, all_to_all_s: float, moved_s: Mapping[int, float], seconds: float, cores: Cores = ()
) -> list[tables.VerdictRow]:
    """Rows of VERDICT, the one that could save most first."""
    if not ranks or seconds <= 0:
        return []
    computing = [row["compute_s"] + row["file_s"] for row in ranks]
    busiest, mean = busiest_s(ranks, cores), sum(computing) / len(computing)
    moving = sum(moved_s.get(row["rank"], 0.0) for row in ranks) / len(ranks)
    ideal, several = max(seconds - busiest, 0.0), len({row["node"] for row in ranks}) > 1
    # what it saves at most, and what is left of computing and transfers
    given: list[tuple[tables.BoundedRemedy, float, float, float]] = [
        ("network" if several else "memory", ideal, busiest, 0.0),
        ("balance", min(seconds - mean - moving, sum(computing)), mean, moving),
        ("all-to-all", min(all_to_all_s, ideal), busiest, 0.0),
        ("placement", ideal if several else 0.0, busiest, 0.0),
    ]
    rows = [
        tables.VerdictRow(seconds=seconds, remedy=remedy, saves_s=saves_s, computing_s=left_s, moving_s=moving_s)
        for remedy, saves_s, left_s, moving_s in given
        if saves_s >= LEAST_SAVED * seconds
    ]
    return sorted(rows, key=lambda row: -round(row["saves_s"] * 1e9))


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
    subject, kind, part = _bottleneck(first, late, root)
    limit = make_claim(
        f"bottleneck.{kind}", "breakdown", subject, part / sum(row["seconds"] for row in late), "share",
        bound=min(busiest_s, seconds), seconds=seconds, limit="computation", of=kind,
    )  # fmt: skip
    rest = [
        make_claim(f"share.{row['what']}", "breakdown", "", row["share"], "share", seconds=row["seconds"], **size)
        for row in shares[1:]
    ]
    helps = [_remedy(index, row) for index, row in enumerate(tables.VERDICT.read(root))]
    return judge([answer, limit, *rest, *helps, *doubted], doubts)


def _bottleneck(first: tables.ShareRow, late: Late, root: Path) -> tuple[str, str, float]:
    """Who caused most of the largest share: the rank that others waited for, or the call; its kind, and seconds."""
    if first["what"] == "computing":
        return "computation", "computing", first["seconds"]
    if first["what"] == "waiting":
        worst = max(late, key=lambda row: row["caused_s"])
        return f"rank {worst['rank']}", "late", worst["caused_s"]
    times = {row["call"]: _time_of(row, first["what"]) for row in tables.CALL_TIMES.read(root)}
    subject = max(times, key=times.__getitem__)
    return subject, "call", times[subject]


def _time_of(row: tables.CallTimeRow, what: str) -> float:
    """The time of a call, in s over all ranks, that counts as moving data, file calls or unknown."""
    is_file = row["call"] in FILES
    if what == "file":
        return row["seconds"] if is_file else 0.0
    moving = max(row["known_s"] - (row["waiting_s"] or 0.0), 0.0)
    return moving if what == "moving" else 0.0 if is_file else row["seconds"] - row["known_s"]


def _remedy(index: int, row: tables.VerdictRow) -> ClaimRow:
    return make_claim(
        f"remedy.{row['remedy']}", "remedy", "", row["saves_s"] / row["seconds"], "share", bound=row["saves_s"],
        next=NEXT.get(row["remedy"], ""), evidence=[f"trace_verdict:{index}"], seconds=row["seconds"],
        computing_s=row["computing_s"], moving_s=row["moving_s"],
    )  # fmt: skip


def doubt_claim(row: tables.TraceDoubtRow) -> ClaimRow:
    """A doubt about a trace."""
    return make_claim(
        f"trace.{row['doubt']}", "doubt", f"trace-{row['doubt']}", row["share"], "share", confidence=row["grade"],
        count=row["count"], of=row["of"], noun=row["where"],
    )  # fmt: skip
