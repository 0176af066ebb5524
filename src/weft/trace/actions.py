# SPDX-License-Identifier: BSD-3-Clause
"""Writing one rank's actions: requests get slots, pending receives places of their own in the buffer."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from weft.store.trace.script import ACTION, Act, RankScript
from weft.trace.calls import BLOCKING, COLLECTIVES, QUIET, VECTORS
from weft.trace.events import Event, Group
from weft.trace.layers import Layers

Row = tuple[int, int, int, int, int, int, int, int, int]
BESIDE = -1
"""The request of the receive in MPI_Sendrecv, which has none."""


class RankWriter:
    """Collects the actions of a rank.

    Parameters
    ----------
    rank
        In the world.
    groups
        The communicators by number.
    layers
        Where they are in the script.
    begin_ns
        When the first rank begins: what comes before this rank's first call is computation.

    Attributes
    ----------
    left_out
        Number of calls without an action, by name.
    messages
        Messages to others, and for a collective call one to each other member.
    computed_ns
        Time between calls.
    """

    def __init__(self, rank: int, groups: Mapping[int, Group], layers: Layers, begin_ns: int) -> None:
        self.rank, self.left_out = rank, Counter[str]()
        self.messages = self.computed_ns = 0
        self._groups, self._layers, self._at = groups, layers, begin_ns
        self._rows: list[Row] = []
        self._counts: list[int] = []
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._most_slots = 0
        self._pending: set[int] = set()
        self._top = 0
        self._sent = self._received = 0

    def compute_until(self, event: Event) -> None:
        """The time from the end of the call before to the beginning of this one."""
        gap = event.begin_ns - self._at
        if gap > 0:
            self.computed_ns += gap
            if self._rows and self._rows[-1][0] == Act.COMPUTE:
                gap += self._rows.pop()[7]
            self._rows.append((Act.COMPUTE, 0, 0, 0, 0, 0, 0, gap, 0))
        self._at = max(self._at, event.end_ns)

    def leave_out(self, event: Event) -> None:
        """Count a call without an action, if it moved something or held somebody up."""
        if event.call not in QUIET:
            self.left_out[event.call] += 1

    def send(self, event: Event) -> None:
        """A message to another rank."""
        self.messages += 1
        self._sent = max(self._sent, event.bytes)
        act, slot = (Act.SEND, 0) if event.call in BLOCKING else (Act.ISEND, self._slot(event.request))
        self._add(act, event, event.peer, size=event.bytes, value=slot)

    def receive(self, event: Event, came: Event) -> None:
        """A message from another rank, as it came: without wildcards."""
        blocking = event is came
        act, slot = (Act.RECEIVE, 0) if blocking else (Act.IRECEIVE, self._slot(event.request))
        self._add(act, came, came.peer, received=came.received, value=slot, offset=self._place(came.received))
        if not blocking:
            self._pending.add(event.request)

    def post_beside(self, came: Event) -> None:
        """The receive of MPI_Sendrecv, posted before the message is sent."""
        slot = self._slot(BESIDE)
        self._add(Act.IRECEIVE, came, came.peer, received=came.received, value=slot, offset=self._place(came.received))

    def wait(self, event: Event) -> None:
        """The end of a request that has an action."""
        request = event.request or BESIDE
        if request in self._slots:
            slot = self._slots.pop(request)
            self._rows.append((Act.WAIT, 0, 0, 0, 0, 0, 0, slot, 0))
            self._free.append(slot)
            self._pending.discard(request)

    def finish(self) -> None:
        """Wait for what the application never asked about: sends whose requests it freed."""
        for slot in sorted(self._slots.values()):
            self._rows.append((Act.WAIT, 0, 0, 0, 0, 0, 0, slot, 0))
        self._slots.clear()

    def collective(self, event: Event, given: Mapping[int, Mapping[int, int]]) -> None:
        """A collective call; ``given`` are the bytes that each member of a vector call gives, by receiver."""
        act, plain = COLLECTIVES[event.call]
        if event.comm not in self._layers.of:
            self.leave_out(event)
            return
        group = self._groups[event.comm]
        size = group.size
        self.messages += size - 1
        if plain in VECTORS:
            self._vector(act, plain, event, group, given)
            return
        gives, gets = event.bytes, event.received
        if act in (Act.ALLTOALL, Act.SCATTER):
            gives //= size
        if act in (Act.ALLGATHER, Act.GATHER):
            gets //= size
        if act is Act.BCAST:
            gives = max(gives, gets)
        if act is Act.REDUCE_SCATTER:
            gives = gets
        whole = size if act in (Act.ALLTOALL, Act.SCATTER, Act.REDUCE_SCATTER) else 1
        self._sent = max(self._sent, gives * whole, gives)
        self._received = max(self._received, gets * (size if act in (Act.ALLGATHER, Act.GATHER) else 1), gives * whole)
        self._add(act, event, max(event.peer, 0) if self._has_root(act) else None, size=gives, received=gets, value=-1)

    @staticmethod
    def _has_root(act: Act) -> bool:
        return act in (Act.BCAST, Act.REDUCE, Act.GATHER, Act.SCATTER)

    def _vector(self, act: Act, plain: str, event: Event, group: Group, given: Mapping[int, Mapping[int, int]]) -> None:
        """A call with a count for each rank: those of the sender, of the root, or one of each member."""
        members = range(group.size) if group.members is None else group.members
        own = given.get(self.rank, {})
        if act is Act.ALLTOALLV:
            out = [own.get(member, 0) for member in members]
            into = [given.get(member, {}).get(self.rank, 0) for member in members]
            self._listed(act, event, None, (out, into), sum(out), sum(into))
            return
        if plain == "Scatterv":
            root = given.get(event.peer, {})
            counts = [root.get(member, 0) for member in members]
            gets = counts[group.place(self.rank)] if self.rank in members else 0
            self._listed(act, event, event.peer, (counts,), sum(counts), gets)
        elif plain == "Reduce_scatter":
            counts = [own.get(member, 0) for member in members]
            self._listed(act, event, None, (counts,), sum(counts), sum(counts))
        else:
            counts = [given.get(member, {}).get(member, 0) for member in members]
            root = event.peer if act is Act.GATHER else None
            self._listed(act, event, root, (counts,), event.bytes, sum(counts))

    def _listed(
        self, act: Act, event: Event, root: int | None, counts: Sequence[Sequence[int]], gives: int, gets: int
    ) -> None:
        self._sent, self._received = max(self._sent, gives), max(self._received, gets)
        first = len(self._counts)
        for each in counts:
            self._counts += each
        self._add(act, event, root, size=gives, received=gets, value=first)

    def script(self) -> RankScript:
        """What was collected."""
        actions = np.zeros(len(self._rows), ACTION)
        names = ("act", "comm", "peer", "tag", "bytes", "received", "unused", "value", "offset")
        for name, column in zip(names, zip(*self._rows, strict=True), strict=False):
            actions[name] = column
        counts = np.array(self._counts, np.int64)
        return RankScript(actions, counts, self._sent, self._received, self._most_slots)

    def _add(
        self, act: Act, event: Event, peer: int | None, *, size: int = 0, received: int = 0, value: int = 0,
        offset: int = 0,
    ) -> None:  # fmt: skip
        group = self._groups[event.comm]
        place = 0 if peer is None else max(group.place(peer), 0)
        tag = event.tag if act in (Act.SEND, Act.RECEIVE, Act.ISEND, Act.IRECEIVE) else 0
        self._rows.append((act, self._layers.of[event.comm], place, tag, size, received, 0, value, offset))

    def _slot(self, request: int) -> int:
        slot = self._free.pop() if self._free else self._most_slots
        self._most_slots = max(self._most_slots, slot + 1)
        self._slots[request] = slot
        return slot

    def _place(self, size: int) -> int:
        """A place in the receive buffer beside those of all pending receives."""
        if not self._pending:
            self._top = 0
        place = self._top
        self._top += size
        self._received = max(self._received, self._top)
        return place
