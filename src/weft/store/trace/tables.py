# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a trace that come with its events: ranks, communicators, members, call sites."""

from typing import TypedDict

import pyarrow as pa

from weft.store.tables import TableOf


class TraceRankRow(TypedDict):
    """A rank: where it ran, and what its trace lacks (``missing``, in words; empty if nothing).

    Times in ns; ``begin_ns`` and ``end_ns`` are its first and last on rank 0's clock, ``clock_error_ns`` is the
    residual of the clocks, ``cost_ns`` what the tracer costs a call. ``summarised`` calls are counted, but have no
    event of their own. ``cpus`` are those that the rank may run on, of the ``host_cpus``; ``load`` is the host's at
    MPI_Init. In ``looked_ns`` from there on the rank was runnable without a processor for ``lost_ns``, its process had
    ``own_ns`` of processor time, all on these processors ``busy_ns``, and a hypervisor took ``steal_ns`` of the host;
    null: unknown.
    """

    rank: int
    node: int
    host: str
    library: str
    events: int
    summarised: int
    begin_ns: int
    end_ns: int
    clock_error_ns: int
    clock_shared: bool
    cost_ns: float
    closed: bool
    missing: str
    cpus: str
    host_cpus: int
    load: float
    looked_ns: int | None
    lost_ns: int | None
    own_ns: int | None
    busy_ns: int | None
    steal_ns: int | None


class CommunicatorRow(TypedDict):
    """A communicator: ``comm`` is its number in all tables, ``parent`` that of its origin (-1: unknown)."""

    comm: int
    name: str
    size: int
    parent: int
    inter: bool


class MemberRow(TypedDict):
    """A member of a communicator, by its rank in it; those of the world are left out."""

    comm: int
    member: int
    rank: int


class SiteRow(TypedDict):
    """A call site: the function and its place in the program."""

    site: int
    text: str


INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()
TRACE_RANKS = TableOf(
    "trace_ranks",
    TraceRankRow,
    pa.schema(
        [
            ("rank", INT), ("node", INT), ("host", TEXT), ("library", TEXT), ("events", LONG), ("summarised", LONG),
            ("begin_ns", LONG), ("end_ns", LONG), ("clock_error_ns", LONG), ("clock_shared", pa.bool_()),
            ("cost_ns", pa.float64()), ("closed", pa.bool_()), ("missing", TEXT), ("cpus", TEXT), ("host_cpus", INT),
            ("load", pa.float64()), ("looked_ns", LONG), ("lost_ns", LONG), ("own_ns", LONG), ("busy_ns", LONG),
            ("steal_ns", LONG),
        ]
    ),
)  # fmt: skip
COMMUNICATORS = TableOf(
    "trace_communicators",
    CommunicatorRow,
    pa.schema([("comm", INT), ("name", TEXT), ("size", INT), ("parent", INT), ("inter", pa.bool_())]),
)
MEMBER_TABLE = TableOf("trace_members", MemberRow, pa.schema([("comm", INT), ("member", INT), ("rank", INT)]))
SITES = TableOf("trace_sites", SiteRow, pa.schema([("site", INT), ("text", TEXT)]))
