# SPDX-License-Identifier: BSD-3-Clause
"""Writing one rank's actions: requests get slots, pending receives places of their own in the buffer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.store.trace.layout import BLOCKING_SENDS, CALLS, NUMBERS, PREPARING, RECEIVES, SENDS, VOCABULARY, Flag
from weft.store.trace.script import ACTION, Act, RankScript
from weft.trace.events import Event, Group, Layers

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


Ints = npt.NDArray[np.integer[Any]]
BESIDE = -1  # the request of the receive in MPI_Sendrecv, which has none
STEPS = 4
COMPUTED, POSTED, DONE = range(3)
"""What an event may stand for, in this order: time before it, a receive beside it, itself. Of `STEPS` places."""
PART_GIVEN = (Act.ALLTOALL, Act.SCATTER)
PART_GOT = (Act.ALLGATHER, Act.GATHER)
ROOTED = (Act.BCAST, Act.REDUCE, Act.GATHER, Act.SCATTER)


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


class Requests:
    """Slots of requests, and places in the receive buffer beside those of all pending receives."""

    def __init__(self) -> None:
        self.most_slots = self.most_bytes = 0
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._pending: set[int] = set()
        self._top = 0

    def slot(self, request: int) -> int:
        """A free one for a request."""
        slot = self._free.pop() if self._free else self.most_slots
        self.most_slots = max(self.most_slots, slot + 1)
        self._slots[request] = slot
        return slot

    def place(self, size: int) -> int:
        """Where a message of so many bytes goes."""
        place = self._top if self._pending else 0
        self._top = place + size
        self.most_bytes = max(self.most_bytes, self._top)
        return place

    def post(self, request: int) -> None:
        """A receive is pending from here on."""
        self._pending.add(request)

    def end(self, request: int) -> int:
        """The slot of a request that ends; -1 if it has no action."""
        slot = self._slots.pop(request, -1)
        if slot >= 0:
            self._free.append(slot)
            self._pending.discard(request)
        return slot

    def left(self) -> list[int]:
        """Slots of what the application never asked about: sends whose requests it freed."""
        return sorted(self._slots.values())


SENT, CAME, CAME_LATER, CAME_BESIDE, ENDED = range(5)
"""Steps of requests: a send starts; a receive that blocks, one that does not, one beside a send; a request ends."""


def in_turn(steps: Iterable[tuple[int, int, int]], requests: Requests) -> tuple[list[int], list[int]]:
    """Slots and places that requests get, by steps in order: what happens, to which request, bytes that come."""
    slots: list[int] = []
    places: list[int] = []
    slot, place, end = requests.slot, requests.place, requests.end
    for step, request, size in steps:
        if step == ENDED:
            slots.append(end(request))
            places.append(0)
            continue
        slots.append(0 if step == CAME else slot(request))
        places.append(0 if step == SENT else place(size))
        if step == CAME_LATER:
            requests.post(request)
    return slots, places


@dataclass
class Lists:
    """Counts of a rank's calls with one for each member, and the most bytes that collective calls send and receive."""

    counts: list[int] = field(default_factory=list[int])
    sent: int = 0
    received: int = 0

    def widen(self, sent: Ints, received: Ints) -> None:
        """Note the bytes of some calls, shape (calls,)."""
        self.sent = max(self.sent, int(sent.max(initial=0)))
        self.received = max(self.received, int(received.max(initial=0)))

    def add(
        self, rank: int, event: Event, group: Group, given: Mapping[int, Mapping[int, int]]
    ) -> tuple[int, int, int, int]:
        """A vector call: root, bytes given and got, and the index of its counts; ``given`` is by receiver."""
        act, plain = COLLECTIVES[event.call]
        members = range(group.size) if group.members is None else group.members
        own = given.get(rank, {})
        root = 0
        if act is Act.ALLTOALLV:
            out = [own.get(member, 0) for member in members]
            into = [given.get(member, {}).get(rank, 0) for member in members]
            lists, gives, gets = (out, into), sum(out), sum(into)
        elif plain == "ScatterV":
            at_root = given.get(event.peer, {})
            counts = [at_root.get(member, 0) for member in members]
            lists, gives, root = (counts,), sum(counts), max(group.place(event.peer), 0)
            gets = counts[group.place(rank)] if rank in members else 0
        elif plain == "ReduceScatter":
            counts = [own.get(member, 0) for member in members]
            lists, gives, gets = (counts,), sum(counts), sum(counts)
        else:
            counts = [given.get(member, {}).get(member, 0) for member in members]
            lists, gives, gets = (counts,), event.bytes, sum(counts)
            root = max(group.place(event.peer), 0) if act is Act.GATHER else 0
        return root, gives, gets, self._listed(lists, gives, gets)

    def _listed(self, lists: Sequence[Sequence[int]], gives: int, gets: int) -> int:
        self.sent, self.received = max(self.sent, gives), max(self.received, gets)
        first = len(self.counts)
        for each in lists:
            self.counts += each
        return first

    def script(self, actions: npt.NDArray[Any], requests: Requests) -> RankScript:
        """The rank's part, with its actions, shape (actions,), and their bytes."""
        sends = actions["bytes"][np.isin(actions["act"], (Act.SEND, Act.ISEND))]
        sent, received = max(self.sent, int(sends.max(initial=0))), max(self.received, requests.most_bytes)
        return RankScript(actions, np.array(self.counts, np.int64), sent, received, requests.most_slots)


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
