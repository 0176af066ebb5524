# SPDX-License-Identifier: BSD-3-Clause
"""The binary layout of a rank's trace (docs/trace-format.md); ``native/trace/record.hpp`` has the same in C++."""

import enum

import numpy as np

MAGIC = b"WEFTTRC\0"
VERSION = 1
HEADER_BYTES = 512
RECORD_BYTES = 64
FILES = "rank-*.trace"

HEADER = np.dtype(
    {
        "names": [
            "magic", "version", "header_bytes", "record_bytes", "state", "rank", "ranks", "node", "local_rank",
            "opened_ns", "closed_ns", "line_local_ns", "line_ns", "line_drift", "residual_ns", "uncertainty_ns",
            "events", "records", "most_bytes", "cost_ns", "pid", "host", "library",
        ],
        "formats": [
            "S8", "<u4", "<u4", "<u4", "<u4", "<i4", "<i4", "<i4", "<i4",
            "<i8", "<i8", "<i8", "<i8", "<f8", "<i8", "<i8",
            "<u8", "<u8", "<i8", "<f8", "<i8", "S64", "S128",
        ],
        "offsets": [
            0, 8, 12, 16, 20, 24, 28, 32, 36,
            40, 48, 56, 64, 72, 80, 88,
            96, 104, 112, 120, 128, 144, 208,
        ],
        "itemsize": HEADER_BYTES,
    }
)  # fmt: skip
RECORD = np.dtype(
    [
        ("call", "<u2"), ("flags", "<u2"), ("site", "<u4"), ("comm", "<u4"), ("peer", "<i4"),
        ("begin_ns", "<i8"), ("end_ns", "<i8"), ("bytes", "<i8"), ("received", "<i8"), ("request", "<u8"),
        ("tag", "<i4"), ("thread", "<u4"),
    ]
)  # fmt: skip
PAYLOAD = 16
"""Offset of the part of a record whose meaning depends on its call."""


class State(enum.IntFlag):
    """Bits of the header's ``state``."""

    CLOSED = 1  # MPI_Finalize was reached
    LIMITED = 2  # the file is as large as allowed: what followed is summarised
    STOPPED = 4  # no room on the disk: what followed is missing
    SHARED_CLOCK = 8  # all ranks read one clock
    CLOCK_CLOSED = 16  # the clocks were also measured at the end, so drift is known


class Flag(enum.IntFlag):
    """Bits of a record's ``flags``."""

    SUMMARY = 1  # stands for several calls: `request` counts them, tag and thread are their total time
    ANY_SOURCE = 2
    ANY_TAG = 4
    PERSISTENT = 8
    UNFINISHED = 16  # tests or probes without success, `request` of them in a row
    RECEIVE = 32  # of MPI_Start and completions: it is a receive
    INTER = 64  # on an intercommunicator: peer and sizes are those of the other group
    CANCELLED = 128
    FAILED = 256  # the call returned an error
    IN_PLACE = 512


NO_PEER = -1
"""There is none, or it was not known yet (ANY_SOURCE)."""
PROC_NULL = -3

COMPLETE, COUNTS, MEMBERS, SITE, COMMUNICATOR = 1, 2, 3, 4, 5
"""Records that are no calls: a request's end, counts of a call, members, a call site's text, a communicator."""
BETWEEN_GROUPS, AS_PARENT, WITH_OTHERS = 1, 2, 4
"""Traits of a communicator: it connects two groups; it has the members of the one that it was made from; some are
processes of another program."""
COUNTS_EACH, MEMBERS_EACH, TEXT_EACH = 6, 12, 48
WORLD, SELF = 1, 2
"""Numbers of MPI_COMM_WORLD and MPI_COMM_SELF in every rank's records."""

#: First number of each family of calls, and its calls in order. Numbers never change: new calls are appended.
FAMILIES: dict[int, str] = {
    32: "Send Ssend Bsend Rsend Recv Sendrecv Sendrecv_replace Mrecv",
    64: "Isend Issend Ibsend Irsend Irecv Imrecv Start Startall",
    80: "Send_init Ssend_init Bsend_init Rsend_init Recv_init Psend_init Precv_init",
    96: "Probe Iprobe Mprobe Improbe",
    104: "Pready Pready_range Pready_list Parrived",
    112: "Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_free Cancel "
         "Request_get_status",
    128: "Barrier Bcast Reduce Allreduce Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv "
         "Alltoallw Reduce_scatter Reduce_scatter_block Scan Exscan",
    160: "Ibarrier Ibcast Ireduce Iallreduce Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall "
         "Ialltoallv Ialltoallw Ireduce_scatter Ireduce_scatter_block Iscan Iexscan",
    192: "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw",
    224: "Comm_dup Comm_dup_with_info Comm_idup Comm_create Comm_create_group Comm_split Comm_split_type Cart_create "
         "Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent Intercomm_create Intercomm_merge "
         "Comm_free Comm_disconnect",
    256: "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate Rget_accumulate",
    288: "Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free Win_fence Win_lock Win_lock_all "
         "Win_unlock Win_unlock_all Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_post Win_start "
         "Win_complete Win_wait",
}  # fmt: skip
CALLS: dict[int, str] = {
    first + place: f"MPI_{name}" for first, names in FAMILIES.items() for place, name in enumerate(names.split())
}
"""Name of every call by its number."""
NUMBERS: dict[str, int] = {name: number for number, name in CALLS.items()}
FINISH = "completion"
"""Name of a request's completion among the calls."""


def members_of(first: int) -> frozenset[str]:
    """Names of the calls of a family, by its first number."""
    return frozenset(f"MPI_{name}" for name in FAMILIES[first].split())


WAITS = members_of(112) - {"MPI_Request_free", "MPI_Cancel", "MPI_Request_get_status"}
COLLECTIVES = members_of(128)
STARTED_COLLECTIVES = members_of(160)
ONE_SIDED = members_of(256)
