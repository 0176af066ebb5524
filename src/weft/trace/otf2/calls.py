# SPDX-License-Identifier: BSD-3-Clause
"""An archive of OTF2 as a rank's records: regions ``MPI_...`` are calls, what stands inside is what they did."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from weft.store.trace.layout import FINISH, NO_PEER, NUMBERS, SELF, Flag, RankRecords, calls_of

Fields: TypeAlias = dict[str, int]  # fields of a record by name

COUNTED = calls_of("AllToAllV", "AllToAllW") | calls_of("AllToAllV", "AllToAllW", wrapper="Started")
"""Calls with bytes for each member, of which the format keeps the sum."""
ENDS = ("MpiIsendComplete", "MpiIrecv", "MpiRequestCancelled", "NonBlockingCollectiveComplete")
MOST_HELD = 1 << 20
"""Records held for the end of a non-blocking collective call; beyond it, the call stays without its sizes."""


@dataclass(frozen=True)
class Known:
    """A communicator of the archive: its number in the records, and its world ranks (None: the world, or a rank)."""

    number: int
    members: tuple[int, ...] | None

    def world(self, place: int) -> int:
        """World rank of a rank in it; -1 for one that it does not have."""
        if self.members is None:
            return place
        return self.members[place] if 0 <= place < len(self.members) else NO_PEER


@dataclass
class _Open:
    """A call that is not left yet."""

    name: str
    begin_ns: int
    given: Fields = field(default_factory=dict[str, int])
    starts: list[Fields] = field(default_factory=list[dict[str, int]])
    ends: list[Fields] = field(default_factory=list[dict[str, int]])


class RankCalls:
    """Turns the events of a rank's threads into its records.

    A non-blocking collective call is described at its end only, so what follows its start is held until then.
    `to_ns`: a time of the archive in ns. `left_out`: regions named ``MPI_...`` that Weft's traces do not have, by
    name; most of them move nothing. `shared_evenly`: calls whose bytes to each member are not known.
    """

    def __init__(
        self, rank: int, records: RankRecords, communicators: Mapping[int, Known], to_ns: Callable[[int], int]
    ) -> None:
        self.rank, self._records, self._known, self._to_ns = rank, records, communicators, to_ns
        self._numbered = {each.number: each for each in communicators.values()}
        self._open: dict[int, _Open] = {}
        self._depth: dict[int, int] = {}
        self._pending: dict[int, Fields] = {}
        self._unclear: set[int] = set()
        self._held: list[tuple[str, int, int, Fields]] = []
        self._requests = 0
        self.left_out: Counter[str] = Counter()
        self.shared_evenly = self.calls = 0

    def add(self, thread: int, event: Any) -> None:
        """Take an event of a thread."""
        kind = type(event).__name__
        if kind == "Enter":
            self._enter(thread, event)
        elif kind == "Leave":
            self._leave(thread, event)
        elif inside := self._open.get(thread):
            self._inside(inside, kind, event)

    def finish(self) -> int:
        """Write what is held; how many calls were never left: the archive is torn, or the application was."""
        self._unclear.clear()
        self._write()
        return len(self._open)

    def _enter(self, thread: int, event: Any) -> None:
        name = str(event.region.name)
        if thread in self._open:  # a call that a library makes inside another
            self._depth[thread] += 1
        elif name in NUMBERS:
            self._open[thread] = _Open(name, self._to_ns(event.time))
            self._depth[thread] = 0
        elif name.startswith("MPI_"):
            self.left_out[name] += 1

    def _leave(self, thread: int, event: Any) -> None:
        if thread not in self._open:
            return
        if self._depth[thread]:
            self._depth[thread] -= 1
            return
        call = self._open.pop(thread)
        begin_ns, end_ns = call.begin_ns, self._to_ns(event.time)
        own = call.starts[0] if call.starts and call.name != "MPI_Startall" else call.given
        if call.name == "MPI_Startall":
            self._held += [("MPI_Start", begin_ns, begin_ns, start | {"thread": thread}) for start in call.starts]
        own["thread"] = thread
        self._held.append((call.name, begin_ns, end_ns, own))
        self._held += [(FINISH, begin_ns, end_ns, end | {"thread": thread}) for end in call.ends]
        self.calls += 1
        if not self._unclear or len(self._held) > MOST_HELD:
            self._write()

    def _write(self) -> None:
        for name, begin_ns, end_ns, fields in self._held:
            self._records.call(name, begin_ns, end_ns, **{"comm": 0, **fields})
            if name in COUNTED and fields.get("comm"):
                size = self._size(self._numbered[fields["comm"]])
                each, rest = divmod(fields.get("bytes", 0), size)
                self._records.counts([each + (place < rest) for place in range(size)], fields["comm"])
                self.shared_evenly += 1
        self._held.clear()

    def _size(self, known: Known) -> int:
        world = int(self._records.head["ranks"])
        return (1 if known.number == SELF else world) if known.members is None else len(known.members)

    def _place(self, event: Any, peer: int) -> Fields:
        known = self._known.get(id(event.communicator))
        if known is None:
            return {"comm": 0, "peer": NO_PEER}
        return {"comm": known.number, "peer": self.rank if known.number == SELF else known.world(peer)}

    def _message(self, event: Any, *, sent: bool) -> Fields:
        place = self._place(event, event.receiver if sent else event.sender)
        return place | {"tag": event.msg_tag, "bytes" if sent else "received": event.msg_length}

    def _new(self, archives: int, fields: Fields) -> Fields:
        self._requests += 1
        fields["request"] = self._requests
        self._pending[archives] = fields
        return fields

    def _inside(self, call: _Open, kind: str, event: Any) -> None:
        """Take what happened inside a call."""
        if kind == "MpiSend":
            call.given |= self._message(event, sent=True)
        elif kind == "MpiIsend":
            call.starts.append(self._new(event.request_id, self._message(event, sent=True)))
        elif kind == "MpiIrecvRequest":
            call.starts.append(self._new(event.request_id, {"flags": int(Flag.RECEIVE)}))
        elif kind == "MpiRecv" and call.name in ("MPI_Recv", "MPI_Mrecv"):
            call.given |= self._message(event, sent=False)
        elif kind == "MpiRecv":  # of MPI_Sendrecv
            call.ends.append(self._message(event, sent=False) | {"flags": int(Flag.RECEIVE)})
        elif kind == "MpiCollectiveEnd":
            call.given |= self._operation(event)
        elif kind == "NonBlockingCollectiveRequest":
            self._new(event.request_id, call.given)
            self._unclear.add(event.request_id)
        elif kind in ENDS:
            self._ended(call, kind, event)

    def _ended(self, call: _Open, kind: str, event: Any) -> None:
        """Take the end of a request, if its start is known."""
        if kind == "NonBlockingCollectiveComplete":
            self._unclear.discard(event.request_id)
        if (start := self._pending.pop(event.request_id, None)) is None:
            return
        own = {"request": start["request"]}
        if kind == "MpiIsendComplete":
            call.ends.append(dict(start))
        elif kind == "MpiIrecv":
            call.ends.append(self._message(event, sent=False) | own | {"flags": int(Flag.RECEIVE)})
        elif kind == "MpiRequestCancelled":
            call.ends.append(own | {"flags": int(Flag.CANCELLED)})
        else:
            what = self._operation(event)
            start |= what
            call.ends.append(what | own)

    def _operation(self, event: Any) -> Fields:
        root = getattr(event.root, "value", event.root)
        known = self._known.get(id(event.communicator))
        has_root = isinstance(root, int) and known is not None and 0 <= root < self._size(known)
        place = self._place(event, root if has_root else 0)
        sizes = {"bytes": event.size_sent, "received": event.size_received}
        return place | sizes | ({} if has_root else {"peer": NO_PEER})
