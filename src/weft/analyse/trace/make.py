# SPDX-License-Identifier: BSD-3-Clause
"""Making a trace's tables of answers from its events."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis

from weft.analyse.engine import Expression, Scratch, bound_memory, connect, read, scratch
from weft.analyse.tables import traces
from weft.analyse.tables.claims import CLAIMS
from weft.analyse.tables.manifest import MANIFEST
from weft.analyse.trace import sums
from weft.analyse.trace.claims import busiest_s, make_claims, sharing, trace_doubts, verdict
from weft.analyse.trace.timeline import find_activity, phases
from weft.files.atomic import try_remove, write_json
from weft.store.tables import Table, TableOf, write_parquet
from weft.store.trace.convert import rank_files
from weft.store.trace.folder import COMMUNICATORS, MEMBER_TABLE, SITES, TRACE_RANKS, TraceFolder, TraceRankRow
from weft.store.trace.layout import ALL_TO_ALLS

MOST_MEMORY = "768MiB"
"""Of the engine's buffers, however many events there are; what does not fit goes to the trace's folder meanwhile."""
MATCHED = ("rank", "peer", "begin_ns", "end_ns", "waiting_ns", "own_ns", "awaited", "sent_ns", "bytes")
MOST_EVENTS = 32_000_000
"""Of the ranks whose receives are matched with their messages at a time; each piece reads all events once more."""


def make_trace_tables(folder: TraceFolder, engine: str = "duckdb://") -> None:
    """Write the tables of `weft.analyse.tables.traces`; convert the trace first."""
    root = folder.path
    backend = connect(engine, root)
    try_remove(folder.tables / MANIFEST)
    events, counts = read(backend, rank_files(folder.events)), read(backend, rank_files(folder.counts))
    ranks, communicators = (read(backend, [table.path(root)]) for table in (TRACE_RANKS, COMMUNICATORS))
    rows, sites = TRACE_RANKS.read(root), {row["site"]: row["text"] for row in SITES.read(root)}
    seconds = sum((row["end_ns"] - row["begin_ns"]) * sums.NS for row in rows)
    # the world's members are all ranks, one's own communicator is left out
    given = read(backend, [MEMBER_TABLE.path(root)])
    world = ranks.select(comm=ibis.literal(0).cast("int32"), rank=ranks.rank)
    members = ibis.union(given.filter(given.rank >= 0).select("comm", "rank"), world)
    members = members.join(communicators.select("comm", "size"), "comm")
    with scratch(backend, folder.tables) as kept:
        (kept.folder / "spill").mkdir()
        bound_memory(backend, MOST_MEMORY, kept.folder / "spill")
        waited, seen = _waited(kept, events, communicators, counts, pieces(rows, MOST_EVENTS))
        traces.NODE_PAIRS.write(root, sums.node_pairs(seen, ranks))
        _write(root, traces.CALL_TIMES, sums.by_call(events, waited, seconds))
        _write(root, traces.CALL_SIZES, sums.by_size(events))
        _write(root, traces.COMM_TIMES, sums.by_communicator(events, communicators))
        _write(root, traces.MATRIX, sums.matrix(events, counts, members))
        _write(root, traces.LATE, sums.late_ranks(events, ranks, waited))
        traces.PHASES.write(root, phases(events, [sites[number] for number in sorted(sites)]))
        calls, moved = read(backend, [kept.folder / "collectives.parquet"]), _moved(waited)
        each = calls.filter(calls.call.isin(sorted(ALL_TO_ALLS))).group_by(["comm", "call", "number"])
        spans = each.agg(ns=calls.done_ns.max() - calls.last_ns.max())  # from last arrival to last end
        exchanging = float(spans.ns.sum().to_pyarrow().as_py() or 0) * sums.NS
        _write_columns(root, traces.ACTIVITY, find_activity(events, waited, rows))
    late, used = traces.LATE.read(root), [row for row in rows if row["events"]]
    whole_s = (max(row["end_ns"] for row in used) - min(row["begin_ns"] for row in used)) * sums.NS if used else 0.0
    cores = [([row["rank"] for row in group.ranks], len(group.cpus)) for group in sharing(rows)]
    traces.SHARES.write(root, _shares(late, moved))
    traces.TRACE_DOUBTS.write(root, trace_doubts(rows))
    traces.VERDICT.write(root, verdict(late, exchanging, moved, whole_s, cores))
    CLAIMS.write(root, make_claims(root, whole_s, busiest_s(late, cores)))
    write_json(folder.tables / MANIFEST, traces.trace_manifest(folder))


def _shares(late: Sequence[traces.LateRow], moved: dict[int, float]) -> list[traces.ShareRow]:
    whole, computing, file, waiting, inside = (
        sum(row[name] for row in late) for name in ("seconds", "compute_s", "file_s", "waited_s", "mpi_s")
    )
    moving = sum(moved.values())
    given: dict[traces.Spent, float] = {
        "waiting": waiting, "moving": moving, "file": file, "unknown": max(inside - file - waiting - moving, 0.0),
        "computing": computing,
    }  # fmt: skip
    rows = [traces.ShareRow(what=what, seconds=each, share=each / whole) for what, each in given.items() if whole]
    return sorted(rows, key=lambda row: -row["seconds"])


def _write(root: Path, table: TableOf[Any], rows: Expression) -> None:
    _write_columns(root, table, rows.select(*table.schema.names).to_pyarrow().cast(table.schema))


def _write_columns(root: Path, table: TableOf[Any], columns: Table) -> None:
    write_parquet(table.path(root), [columns], table.schema, f"weft-{table.name}/1")


def pieces(rows: Sequence[TraceRankRow], most: int) -> list[tuple[int, int]]:
    """First and last rank of pieces of a trace that have at most so many events, or one rank."""
    found: list[tuple[int, int]] = []
    held = 0
    for row in sorted(rows, key=lambda row: row["rank"]):
        held += row["events"]
        if held > most or not found:
            found.append((row["rank"], row["rank"]))
            held = row["events"]
        found[-1] = (found[-1][0], row["rank"])
    return found


def _waited(
    kept: Scratch, events: Expression, communicators: Expression, counts: Expression, several: Sequence[tuple[int, int]]
) -> tuple[Expression, Expression]:
    """rank, event, call, waiting_ns, own_ns, awaited of each call whose waiting is known; messages that were seen."""
    columns = ["rank", "event", "call", "waiting_ns", "own_ns", "awaited", "begin_ns", "end_ns"]
    calls = sums.collectives(events, communicators, counts).select(*columns, "comm", "number", "last_ns", "done_ns")
    came, seen = [kept.keep("collectives", calls).select(*columns)], list[Expression]()
    # all at once, the matching of 500 million events ended with an error of the engine
    for ranks in several:
        matched = kept.keep(f"receives-{ranks[0]}", sums.receives(events, ranks).select(*MATCHED))
        own = events.filter(events.rank.between(*ranks))
        came.append(kept.keep(f"waits-{ranks[0]}", sums.per_call(matched, own).select(*columns)))
        seen.append(sums.transfers(matched))
    return kept.keep("waited", ibis.union(*came)), kept.keep("seen", ibis.union(seen[0], *seen[1:]))


def _moved(waited: Expression) -> dict[int, float]:
    """Seconds for which each rank moved data in calls of which we know how long they waited, by rank."""
    found = waited.group_by("rank").agg(ns=(waited.end_ns - waited.begin_ns - waited.waiting_ns).sum()).to_pyarrow()
    return {rank: ns * sums.NS for rank, ns in zip(found["rank"].to_pylist(), found["ns"].to_pylist(), strict=True)}
