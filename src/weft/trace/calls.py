# SPDX-License-Identifier: BSD-3-Clause
"""What the calls of a trace do: which of them send, receive, or are collective."""

from weft.store.trace.layout import Flag
from weft.store.trace.script import Act
from weft.trace.events import Event

BLOCKING = frozenset(f"MPI_{name}" for name in ("Send", "Ssend", "Bsend", "Rsend", "Sendrecv", "Sendrecv_replace"))
SENDS = BLOCKING | frozenset(f"MPI_{name}" for name in ("Isend", "Issend", "Ibsend", "Irsend"))
RECEIVES = frozenset(f"MPI_{name}" for name in ("Recv", "Mrecv", "Irecv", "Imrecv"))
_OF_REQUESTS = "Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_free Cancel Startall".split()  # noqa: SIM905
_MADE = ("Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Recv_init", "Psend_init", "Precv_init")
_PARTS = ("Pready", "Pready_range", "Pready_list", "Parrived")
_PROBES = ("Probe", "Iprobe", "Mprobe", "Improbe")
QUIET = frozenset(f"MPI_{name}" for name in (*_OF_REQUESTS, *_MADE, *_PARTS, *_PROBES))
"""Calls that move nothing themselves: a replay needs none of them."""
_ACTS = {
    "Barrier": Act.BARRIER, "Bcast": Act.BCAST, "Reduce": Act.REDUCE, "Allreduce": Act.ALLREDUCE, "Gather": Act.GATHER,
    "Gatherv": Act.GATHER, "Scatter": Act.SCATTER, "Scatterv": Act.SCATTER, "Allgather": Act.ALLGATHER,
    "Allgatherv": Act.ALLGATHER, "Alltoall": Act.ALLTOALL, "Alltoallv": Act.ALLTOALLV, "Alltoallw": Act.ALLTOALLV,
    "Reduce_scatter": Act.REDUCE_SCATTER, "Reduce_scatter_block": Act.REDUCE_SCATTER, "Scan": Act.SCAN,
    "Exscan": Act.EXSCAN,
}  # fmt: skip
VECTORS = frozenset({"Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Alltoallw", "Reduce_scatter"})
"""Collectives with a count for each rank."""
COLLECTIVES: dict[str, tuple[Act, str]] = {
    f"MPI_{name}": (act, plain) for plain, act in _ACTS.items() for name in (plain, f"I{plain.lower()}")
}
"""Act and plain name of every collective call. A non-blocking one is played where it starts, and blocks."""


def sends(event: Event) -> bool:
    """Whether a call sends a message, or starts to."""
    return event.call in SENDS or (event.call == "MPI_Start" and not event.flags & Flag.RECEIVE)


def receives(event: Event) -> bool:
    """Whether a message came by an event: the end of a blocking receive, or a completion of a non-blocking one."""
    return event.call in ("MPI_Recv", "MPI_Mrecv") or (event.call == "completion" and bool(event.flags & Flag.RECEIVE))
