# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a trace know of each other: which messages have both ends, and counts of vector calls."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import COMPLETE, NUMBERS, Flag
from weft.trace.actions import OF_COLLECTIVES, OF_SENDS, OF_VECTORS, START
from weft.trace.events import Columns, Group, ranks_columns

Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]
Message = tuple[int, int, int, int]  # Communicator, sender and receiver (world ranks), tag
Call = tuple[int, int]  # Communicator, and the how manyth collective call on it
UNUSABLE = int(Flag.FAILED | Flag.CANCELLED | Flag.INTER | Flag.UNFINISHED)
"""Flags of an event without an action: it failed, was cancelled, or connects two groups."""
TAG_BITS = 32
_BLOCKING_RECEIVES = (NUMBERS["MPI_Recv"], NUMBERS["MPI_Mrecv"])


@dataclass(frozen=True)
class Common:
    """What the ranks know of each other: messages that were both sent and received, and what vector calls give."""

    messages: Mapping[Message, int]
    given: Mapping[Call, Mapping[int, Mapping[int, int]]]  # bytes of each member to each, or to all (as to itself)

    def paired(self, rank: int, own: Columns, events: Ints, *, sends: bool) -> Flags:
        """Which messages of a rank have both ends: a mask, shape (events,)."""
        distinct, kind = kinds(own, events)
        messages = [(c, rank, p, t) if sends else (c, p, rank, t) for c, p, t in distinct]
        most = np.array([self.messages.get(message, 0) for message in messages], np.int64)
        return turns(kind) < most[kind]


def usable(own: Columns) -> Flags:
    """Mask, shape (events,), of a rank's events that have actions, if their calls have."""
    return (own["flags"] & UNUSABLE) == 0


def starts_to_send(own: Columns) -> Flags:
    """Mask, shape (events,), of a rank's events that send a message, or start to."""
    return OF_SENDS[own["call"]] | ((own["call"] == START) & ((own["flags"] & int(Flag.RECEIVE)) == 0))


def kinds(own: Columns, events: Ints) -> tuple[list[tuple[int, int, int]], Ints]:
    """Distinct communicators, peers and tags of some events; for each event the index of its own, shape (events,)."""
    comm, peer, tag = (own[name][events].astype(np.int64) for name in ("comm", "peer", "tag"))
    _, ends = np.unique((peer << TAG_BITS) | (tag & (2**TAG_BITS - 1)), return_inverse=True)
    numbers, which = np.unique(comm, return_inverse=True)
    _, first, kind = np.unique(ends * max(len(numbers), 1) + which, return_index=True, return_inverse=True)
    return list(zip(comm[first].tolist(), peer[first].tolist(), tag[first].tolist(), strict=True)), kind


def turns(kind: Ints) -> Ints:
    """How many of the same kind stand before each: counts, shape (events,)."""
    order = np.argsort(kind, kind="stable")
    in_order = kind[order]
    first = np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))
    turn = np.empty(len(kind), np.int64)
    turn[order] = np.arange(len(kind)) - np.repeat(first, np.diff(first, append=len(kind)))
    return turn


def common_of(
    folder: TraceFolder, groups: Mapping[int, Group], counts: Mapping[tuple[int, int], Mapping[int, int]]
) -> tuple[Common, set[int]]:
    """What all ranks have in common, and communicators; ``counts``: bytes a call gives each. DataError for threads."""
    sent, received, used = Counter[Message](), Counter[Message](), set[int]()
    vectors: dict[Call, dict[int, Mapping[int, int]]] = defaultdict(dict)
    for rank, own in ranks_columns(folder):
        if (own["thread"] != own["thread"][0]).any():
            raise DataError(
                f"rank {rank} of {folder.path} calls MPI from several threads, whose order among each other a script "
                "does not hold",
                "trace a run with one thread a rank that calls MPI (MPI_THREAD_FUNNELED)",
            )
        call, good, goes = own["call"], usable(own), starts_to_send(own)
        comes = np.isin(call, _BLOCKING_RECEIVES) | ((call == COMPLETE) & ((own["flags"] & int(Flag.RECEIVE)) != 0))
        known = good & (own["peer"] >= 0)
        for total, mask, out in ((sent, known & goes, True), (received, known & comes & ~goes, False)):
            distinct, kind = kinds(own, np.flatnonzero(mask))
            for (comm, peer, tag), number in zip(distinct, np.bincount(kind).tolist(), strict=True):
                total[(comm, rank, peer, tag) if out else (comm, peer, rank, tag)] += number
                used.add(comm)
        together = np.flatnonzero(good & OF_COLLECTIVES[call])
        used |= set(np.unique(own["comm"][together]).tolist())
        for event, key in vector_calls(own, together):
            given = counts.get((rank, int(own["event"][event])))
            vectors[key][rank] = {rank: int(own["bytes"][event])} if given is None else given
    common = Common({message: min(number, received[message]) for message, number in sent.items()}, vectors)
    return common, used & groups.keys()


def vector_calls(own: Columns, together: Ints) -> list[tuple[int, Call]]:
    """Of collective calls, indices of shape (calls,), those with a count for each member, and which each is."""
    comm = own["comm"][together]
    turn = turns(comm)
    listed = OF_VECTORS[own["call"][together]]
    keys = zip(comm[listed].tolist(), turn[listed].tolist(), strict=True)
    return list(zip(together[listed].tolist(), keys, strict=True))
