# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a trace that come with its events: ranks, communicators, members, call sites."""

from typing import TypedDict

from weft.store.tables import Long, TableOf


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
    events: Long
    summarised: Long
    begin_ns: Long
    end_ns: Long
    clock_error_ns: Long
    clock_shared: bool
    cost_ns: float
    closed: bool
    missing: str
    cpus: str
    host_cpus: int
    load: float
    looked_ns: Long | None
    lost_ns: Long | None
    own_ns: Long | None
    busy_ns: Long | None
    steal_ns: Long | None


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


TRACE_RANKS = TableOf("trace_ranks", TraceRankRow)
COMMUNICATORS = TableOf("trace_communicators", CommunicatorRow)
MEMBER_TABLE = TableOf("trace_members", MemberRow)
SITES = TableOf("trace_sites", SiteRow)
