# SPDX-License-Identifier: BSD-3-Clause
"""``weft trace``: every call of every binding of both libraries, with its exact peers, bytes, tags, communicator."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from interposed import LIBRARIES, Site
from traced import PROGRAMS, compiled, events_of, weft_trace

from weft.store.trace.convert import rank_files
from weft.store.trace.folder import COMMUNICATORS, MEMBER_TABLE, TRACE_RANKS, TraceFolder
from weft.store.trace.layout import Flag

RANKS = 4
Rows = list[dict[str, Any]]


def expected(rank: int) -> Counter[tuple[Any, ...]]:
    """Calls of the mini-application on a rank: name, peer, tag, bytes, received, communicator."""
    after, before, far = (rank + 1) % RANKS, (rank - 1) % RANKS, (rank + 2) % RANKS
    half = "even" if rank % 2 == 0 else "odd"
    root = RANKS - 2 + rank % 2  # ranks of a half are in descending order
    first = (
        [("MPI_Send", after, 1, 12, 0, "world"), ("MPI_Recv", before, 2, 0, 20, "world")]
        if rank % 2 == 0
        else [("MPI_Recv", before, 1, 0, 12, "world"), ("MPI_Ssend", after, 2, 20, 0, "world")]
    )
    sums = 4 * sum((rank + i) % 3 for i in range(RANKS))
    bytes_of_root = (24, 0) if rank == root else (0, 24)
    calls = [
        *first,
        ("MPI_Irecv", -1, 3, 0, 256, "world"), ("MPI_Isend", after, 3, 28, 0, "world"),
        ("MPI_Request_get_status", -1, 0, 0, 0, ""), ("MPI_Waitall", -1, 0, 0, 0, ""),
        ("completion", before, 3, 0, 28, "world"), ("completion", after, 3, 28, 0, "world"),
        ("MPI_Sendrecv", after, 4, 16, 0, "world"), ("completion", before, 4, 0, 16, "world"),
        ("MPI_Send_init", after, 5, 44, 0, "world"), ("MPI_Recv_init", before, 5, 0, 256, "world"),
        *3 * [("MPI_Start", after, 5, 44, 0, "world"), ("MPI_Start", before, 5, 0, 256, "world"),
              ("MPI_Startall", -1, 0, 0, 0, ""), ("MPI_Wait", -1, 0, 0, 0, ""), ("MPI_Test", -1, 0, 0, 0, ""),
              ("completion", after, 5, 44, 0, "world"), ("completion", before, 5, 0, 44, "world")],
        *2 * [("MPI_Request_free", -1, 0, 0, 0, "")],
        ("MPI_Irecv", before, 6, 0, 256, "world"), ("MPI_Isend", -3, 6, 4, 0, "world"),
        ("MPI_Send", after, 6, 52, 0, "world"), ("completion", before, 6, 0, 52, "world"),
        ("completion", -3, 6, 4, 0, "world"),
        ("MPI_Irecv", before, 7, 0, 256, "world"), ("MPI_Isend", after, 7, 68, 0, "world"),
        *2 * [("MPI_Waitany", -1, 0, 0, 0, "")],
        ("completion", before, 7, 0, 68, "world"), ("completion", after, 7, 68, 0, "world"),
        ("MPI_Comm_split", -1, 0, 0, 0, "world"), ("MPI_Comm_dup", -1, 0, 0, 0, half),
        ("MPI_Isend", after, 8, 76, 0, "world"), ("MPI_Mprobe", -1, 8, 0, 0, "world"),
        ("MPI_Mrecv", before, 8, 0, 76, "world"), ("MPI_Wait", -1, 0, 0, 0, ""),
        ("completion", after, 8, 76, 0, "world"),
        ("MPI_Isend", far, 9, 92, 0, half), ("MPI_Improbe", far, 9, 0, 0, half),
        ("MPI_Imrecv", far, 9, 0, 256, half), ("MPI_Waitall", -1, 0, 0, 0, ""),
        ("completion", far, 9, 92, 0, half), ("completion", far, 9, 0, 92, half),
        ("MPI_Bcast", root, 0, *bytes_of_root, half),
        ("MPI_Reduce", root, 0, 16, 16 if rank == root else 0, half),
        ("MPI_Allreduce", -1, 0, 36, 36, f"copy of {half}"), ("MPI_Allgather", -1, 0, 8, 32, "world"),
        ("MPI_Alltoall", -1, 0, 24, 24, half), ("MPI_Alltoallv", -1, 0, sums, sums, "world"),
        ("MPI_Ibarrier", -1, 0, 0, 0, f"copy of {half}"), ("MPI_Wait", -1, 0, 0, 0, ""),
        ("completion", -1, 0, 0, 0, f"copy of {half}"),
        ("MPI_Comm_free", -1, 0, 0, 0, f"copy of {half}"), ("MPI_Barrier", -1, 0, 0, 0, "world"),
    ]  # fmt: skip
    return Counter(calls)


def communicators(run: Path) -> dict[int, str]:
    """What each communicator is, by its members and its origin."""
    members: dict[int, list[int]] = {}
    for row in MEMBER_TABLE.read(run):
        members.setdefault(row["comm"], []).append(row["rank"])
    names = {-1: "", 0: "world", 1: "self"}
    halves = {tuple(range(RANKS - 2, -1, -2)): "even", tuple(range(RANKS - 1, 0, -2)): "odd"}
    for row in COMMUNICATORS.read(run):
        if row["comm"] > 1:
            half = halves[tuple(members[row["comm"]])]
            names[row["comm"]] = half if row["parent"] == 0 else f"copy of {names[row['parent']]}"
    return names


def found(rows: Rows, names: dict[int, str]) -> Counter[tuple[Any, ...]]:
    """The events of a rank in the terms of `expected`; polls without success and calls of MPI_Waitsome are chance."""
    return Counter(
        (row["call"], row["peer"], row["tag"], row["bytes"], row["received"], names[row["comm"]])
        for row in rows
        if not row["flags"] & Flag.UNFINISHED and row["call"] != "MPI_Waitsome"
    )


@pytest.mark.parametrize("suffix", LIBRARIES)
@pytest.mark.parametrize("binding", PROGRAMS)
def test_every_event_of_every_binding_is_exact(binding: str, suffix: str, tmp_path: Path) -> None:
    site = Site(suffix)
    program = compiled(site, binding, tmp_path)
    done = weft_trace(tmp_path, [*site.start(RANKS), str(program)])
    assert done.returncode == 0, done.stderr
    assert "all right" in done.stdout
    run = tmp_path / "run"
    names, rows = communicators(run), events_of(run)
    for rank in range(RANKS):
        own = [row for row in rows if row["rank"] == rank]
        assert found(own, names) == expected(rank)
        check_order(own)
    assert {row["missing"] for row in TRACE_RANKS.read(run)} == {""}
    counts = [row for file in rank_files(TraceFolder(run).counts) for row in pq.read_table(file).to_pylist()]
    sent = {(row["rank"], row["peer"]): row["bytes"] for row in counts}
    assert sent == {(i, j): 4 * ((i + j) % 3) for i in range(RANKS) for j in range(RANKS) if (i + j) % 3}


def check_order(rows: Rows) -> None:
    """A completion follows its start, a call ends before the next one of its thread begins, wildcards stay known."""
    started: set[int] = set()
    calls = [row for row in rows if row["call"] not in ("completion", "MPI_Start")]
    assert all(one["end_ns"] <= two["begin_ns"] for one, two in pairwise(calls))
    for row in rows:
        if row["call"] == "completion" and row["request"]:
            assert row["request"] in started
            started.remove(row["request"])
        elif row["request"] and not row["call"].startswith("MPI_Request"):
            started.add(row["request"])
    assert not started
    wild = [row for row in rows if row["flags"] & Flag.ANY_SOURCE]
    assert [row["call"] for row in wild].count("completion") == 1
