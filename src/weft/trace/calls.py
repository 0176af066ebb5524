# SPDX-License-Identifier: BSD-3-Clause
"""What the calls of a trace do: which of them send, receive, or are collective."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from weft.store.trace.layout import CALLS, NUMBERS, Flag
from weft.store.trace.script import Act
from weft.trace.events import Event

BLOCKING = frozenset(f"MPI_{name}" for name in ("Send", "Ssend", "Bsend", "Rsend", "Sendrecv", "Sendrecv_replace"))
SENDS = BLOCKING | frozenset(f"MPI_{name}" for name in ("Isend", "Issend", "Ibsend", "Irsend"))
RECEIVES = frozenset(f"MPI_{name}" for name in ("Recv", "Mrecv", "Irecv", "Imrecv"))
_OF_REQUESTS = (
    "Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_free", "Cancel",
    "Request_get_status", "Startall",
)  # fmt: skip
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


def marked(names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """A mask, shape (numbers,), of calls by their numbers in :data:`weft.store.trace.layout.NUMBERS`."""
    found = np.zeros(max(CALLS) + 1, np.bool_)
    found[[NUMBERS[name] for name in names]] = True
    return found


OF_SENDS, OF_RECEIVES, OF_COLLECTIVES = marked(SENDS), marked(RECEIVES), marked(COLLECTIVES)
OF_BLOCKING, OF_QUIET = marked(BLOCKING), marked(QUIET)
OF_VECTORS = marked(name for name, (_, plain) in COLLECTIVES.items() if plain in VECTORS)
ACT_OF = np.zeros(max(CALLS) + 1, np.int64)
"""Act of each collective call, by its number."""
ACT_OF[[NUMBERS[name] for name in COLLECTIVES]] = [act for act, _ in COLLECTIVES.values()]
START = NUMBERS["MPI_Start"]


def sends(event: Event) -> bool:
    """Whether a call sends a message, or starts to."""
    return event.call in SENDS or (event.call == "MPI_Start" and not event.flags & Flag.RECEIVE)
