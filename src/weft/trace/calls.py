# SPDX-License-Identifier: BSD-3-Clause
"""What the calls of a trace do in a replay, by the one list of calls."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from weft.store.trace.calls import BLOCKING_SENDS, CALLS, NUMBERS, PREPARING, RECEIVES, SENDS, VOCABULARY
from weft.store.trace.layout import Flag
from weft.store.trace.script import Act
from weft.trace.events import Event

_ACTS = {
    "Barrier": Act.BARRIER, "Broadcast": Act.BCAST, "Reduce": Act.REDUCE, "AllReduce": Act.ALLREDUCE,
    "Gather": Act.GATHER, "GatherV": Act.GATHER, "Scatter": Act.SCATTER, "ScatterV": Act.SCATTER,
    "AllGather": Act.ALLGATHER, "AllGatherV": Act.ALLGATHER, "AllToAll": Act.ALLTOALL, "AllToAllV": Act.ALLTOALLV,
    "AllToAllW": Act.ALLTOALLV, "ReduceScatter": Act.REDUCE_SCATTER, "ReduceScatterBlock": Act.REDUCE_SCATTER,
}  # fmt: skip
_SCANS = {"scan": Act.SCAN, "exscan": Act.EXSCAN}
VECTORS = frozenset({"GatherV", "ScatterV", "AllGatherV", "AllToAllV", "AllToAllW", "ReduceScatter"})
"""Families of collectives with a count for each rank."""
COLLECTIVES: dict[str, tuple[Act, str]] = {
    name: (_SCANS.get(name.removeprefix("MPI_").removeprefix("I").lower(), _ACTS[call.family]), call.family)
    for name, call in VOCABULARY.items()
    if call.family in _ACTS
}
"""Act and family of every collective call. A non-blocking one is played where it starts, and blocks."""


def marked(names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """A mask, shape (numbers,), of calls by their numbers in :data:`weft.store.trace.calls.NUMBERS`."""
    found = np.zeros(max(CALLS) + 1, np.bool_)
    found[[NUMBERS[name] for name in names]] = True
    return found


OF_SENDS, OF_RECEIVES, OF_COLLECTIVES = marked(SENDS), marked(RECEIVES), marked(COLLECTIVES)
OF_BLOCKING, OF_QUIET = marked(BLOCKING_SENDS), marked(PREPARING)
OF_VECTORS = marked(name for name, (_, plain) in COLLECTIVES.items() if plain in VECTORS)
ACT_OF = np.zeros(max(CALLS) + 1, np.int64)
"""Act of each collective call, by its number."""
ACT_OF[[NUMBERS[name] for name in COLLECTIVES]] = [act for act, _ in COLLECTIVES.values()]
START = NUMBERS["MPI_Start"]


def sends(event: Event) -> bool:
    """Whether a call sends a message, or starts to."""
    return event.call in SENDS or (event.call == "MPI_Start" and not event.flags & Flag.RECEIVE)
