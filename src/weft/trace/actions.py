# SPDX-License-Identifier: BSD-3-Clause
"""One rank's actions: which messages have both ends, slots of requests, places of pending receives in the buffer."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import (
    BLOCKING_SENDS,
    CALLS,
    COMPLETE,
    NUMBERS,
    PREPARING,
    RECEIVES,
    SENDS,
    VOCABULARY,
    Flag,
)
from weft.store.trace.script import ACTION, Act
from weft.trace.events import Columns, Event, Group, Layers, ranks_columns

_ACTS = {
    "Barrier": Act.BARRIER, "Broadcast": Act.BCAST, "Reduce": Act.REDUCE, "AllReduce": Act.ALLREDUCE,
    "Gather": Act.GATHER, "GatherV": Act.GATHER, "Scatter": Act.SCATTER, "ScatterV": Act.SCATTER,
    "AllGather": Act.ALLGATHER, "AllGatherV": Act.ALLGATHER, "AllToAll": Act.ALLTOALL, "AllToAllV": Act.ALLTOALLV,
    "AllToAllW": Act.ALLTOALLV, "ReduceScatter": Act.REDUCE_SCATTER, "ReduceScatterBlock": Act.REDUCE_SCATTER,
}  # fmt: skip
_SCANS = {"scan": Act.SCAN, "exscan": Act.EXSCAN}
#: Families of collectives with a count for each rank.
VECTORS = frozenset({"GatherV", "ScatterV", "AllGatherV", "AllToAllV", "AllToAllW", "ReduceScatter"})
COLLECTIVES: dict[str, tuple[Act, str]] = {
    name: (_SCANS.get(name.removeprefix("MPI_").removeprefix("I").lower(), _ACTS[call.family]), call.family)
    for name, call in VOCABULARY.items()
    if call.family in _ACTS
}
"""Act and family of every collective call. A non-blocking one is played where it starts, and blocks."""
Ints = npt.NDArray[np.integer[Any]]
BESIDE = -1  # the request of the receive in MPI_Sendrecv, which has none
STEPS = 4
COMPUTED, POSTED, DONE = range(3)
"""What an event may stand for, in this order: time before it, a receive beside it, itself. Of `STEPS` places."""
PART_GIVEN = (Act.ALLTOALL, Act.SCATTER)
PART_GOT = (Act.ALLGATHER, Act.GATHER)
ROOTED = (Act.BCAST, Act.REDUCE, Act.GATHER, Act.SCATTER)
SENT, CAME, CAME_LATER, CAME_BESIDE, ENDED = range(5)
"""Steps of requests: a send starts; a receive that blocks, one that does not, one beside a send; a request ends."""
Flags = npt.NDArray[np.bool_]
Message = tuple[int, int, int, int]  # Communicator, sender and receiver (world ranks), tag
Call = tuple[int, int]  # Communicator, and the how manyth collective call on it
UNUSABLE = int(Flag.FAILED | Flag.CANCELLED | Flag.INTER | Flag.UNFINISHED)
"""Flags of an event without an action: it failed, was cancelled, or connects two groups."""
TAG_BITS = 32
_BLOCKING_RECEIVES = (NUMBERS["MPI_Recv"], NUMBERS["MPI_Mrecv"])


def marked(names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """A mask, shape (numbers,), of calls by their numbers in :data:`weft.store.trace.layout.NUMBERS`."""
    found = np.zeros(max(CALLS) + 1, np.bool_)
    found[[NUMBERS[name] for name in names]] = True
    return found


OF_SENDS, OF_RECEIVES, OF_COLLECTIVES = marked(SENDS), marked(RECEIVES), marked(COLLECTIVES)
OF_BLOCKING, OF_QUIET = marked(BLOCKING_SENDS), marked(PREPARING)
OF_VECTORS = marked(name for name, (_, plain) in COLLECTIVES.items() if plain in VECTORS)
ACT_OF = np.zeros(max(CALLS) + 1, np.int64)  # act of each collective call, by its number
ACT_OF[[NUMBERS[name] for name in COLLECTIVES]] = [act for act, _ in COLLECTIVES.values()]
START = NUMBERS["MPI_Start"]


def sends(event: Event) -> bool:
    """Whether a call sends a message, or starts to."""
    return event.call in SENDS or (event.call == "MPI_Start" and not event.flags & Flag.RECEIVE)


@dataclass
class Rows:
    """Actions by their place among the events: `STEPS` times the event's, and a step."""

    places: list[Ints] = field(default_factory=list[Ints])
    actions: list[npt.NDArray[Any]] = field(default_factory=list[npt.NDArray[Any]])

    def add(self, place: Ints, **columns: Ints | int) -> npt.NDArray[Any]:
        """Add actions, shape (actions,), with columns of ACTION (bytes, ns, ranks); the others are zero."""
        made = np.zeros(len(place), ACTION)
        for name, column in columns.items():
            made[name] = column
        self.places.append(place)
        self.actions.append(made)
        return made

    def in_order(self, last: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """All actions, shape (actions,), by place, ``last`` behind them; times (ns) with none between are one."""
        order = np.argsort(np.concatenate(self.places), kind="stable") if self.places else slice(0)
        rows = np.concatenate([*self.actions, np.zeros(0, ACTION)])[order]
        computes = rows["act"] == Act.COMPUTE
        again = computes & np.concatenate(([False], computes[:-1]))[: len(rows)]
        if again.any():
            first = np.flatnonzero(~again)
            summed = np.add.reduceat(rows["value"], first)
            rows = rows[first]
            rows["value"] = np.where(rows["act"] == Act.COMPUTE, summed, rows["value"])
        return np.concatenate([rows, last])


class Requests(NamedTuple):
    """What requests get in turn: slots (-1 without an action), and places in the receive buffer beside all pending."""

    slots: list[int]
    places: list[int]
    most_slots: int
    most_bytes: int
    left: list[int]  # slots of what the application never asked about: sends whose requests it freed


def in_turn(steps: Iterable[tuple[int, int, int]]) -> Requests:
    """Slots and places that requests get, by steps in order: what happens, to which request, bytes that come."""
    slots, places, free = list[int](), list[int](), list[int]()
    used, pending = dict[int, int](), set[int]()
    top = most_slots = most_bytes = 0
    for step, request, size in steps:
        slot = place = 0
        if step == ENDED:
            if (slot := used.pop(request, -1)) >= 0:
                free.append(slot)
                pending.discard(request)
        elif step != CAME:
            slot = used[request] = free.pop() if free else most_slots
            most_slots = max(most_slots, slot + 1)
        if step in (CAME, CAME_LATER, CAME_BESIDE):
            place = top if pending else 0
            top = place + size
            most_bytes = max(most_bytes, top)
        if step == CAME_LATER:
            pending.add(request)
        slots.append(slot)
        places.append(place)
    return Requests(slots, places, most_slots, most_bytes, sorted(used.values()))


def places_in(groups: Mapping[int, Group], comm: Ints, peer: Ints) -> Ints:
    """Ranks in their communicators of world ranks, shape (events,); 0 for those that are no members."""
    found = np.zeros(len(comm), np.int64)
    for number in np.unique(comm):
        own = comm == number
        group = groups[int(number)]
        distinct, where = np.unique(peer[own], return_inverse=True)
        found[own] = np.array([max(group.place(int(each)), 0) for each in distinct], np.int64)[where]
    return found


def comms_in(layers: Layers, comm: Ints) -> Ints:
    """The communicators' numbers in actions, shape (events,); no unit."""
    distinct, where = np.unique(comm, return_inverse=True)
    return np.array([layers.of[int(each)] for each in distinct], np.int64)[where]


def shares(act: Ints, size: Ints, given: Ints, got: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Bytes given and got of equal collective calls, (calls,), from those traced, and what their buffers need."""
    gives = np.where(np.isin(act, PART_GIVEN), given // size, given)
    gets = np.where(np.isin(act, PART_GOT), got // size, got)
    gives = np.where(act == Act.BCAST, np.maximum(gives, gets), gives)
    gives = np.where(act == Act.REDUCE_SCATTER, gets, gives)
    whole = gives * np.where(np.isin(act, (*PART_GIVEN, Act.REDUCE_SCATTER)), size, 1)
    return gives, gets, whole, np.maximum(gets * np.where(np.isin(act, PART_GOT), size, 1), whole)


@dataclass(frozen=True)
class Common:
    """What the ranks know of each other: messages that were both sent and received, and what vector calls give."""

    messages: Mapping[Message, int]
    given: Mapping[Call, Mapping[int, Mapping[int, int]]]  # bytes of each member to each, or to all (as to itself)

    def paired(self, rank: int, own: Columns, events: Ints, *, sends: bool) -> Flags:
        """Which messages of a rank have both ends: a mask, shape (events,)."""
        distinct, kind = kinds(own, events)
        messages = [(c, rank, p, t) if sends else (c, p, rank, t) for c, p, t in distinct]
        return turns(kind) < np.array([self.messages.get(message, 0) for message in messages], np.int64)[kind]


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
    comm, listed = own["comm"][together], OF_VECTORS[own["call"][together]]
    keys = zip(comm[listed].tolist(), turns(comm)[listed].tolist(), strict=True)
    return list(zip(together[listed].tolist(), keys, strict=True))
