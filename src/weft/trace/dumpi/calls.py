# SPDX-License-Identifier: BSD-3-Clause
"""DUMPI's calls of a rank as its records: bytes from counts and datatypes, ends of requests from the waits."""

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.store.trace.layout import COLLECTIVES, FINISH, NO_PEER, NUMBERS, PROC_NULL, SELF, WAITS, Flag
from weft.store.trace.writer import RankRecords
from weft.trace.dumpi.communicators import MAKING, NAMED
from weft.trace.dumpi.datatypes import Datatypes
from weft.trace.dumpi.text import Call, Status

STARTS = frozenset(f"MPI_{name}" for name in ("Isend", "Issend", "Ibsend", "Irsend", "Irecv"))
MADE = frozenset(f"MPI_{name}" for name in ("Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Recv_init"))
ROOTED = frozenset(f"MPI_{name}" for name in ("Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"))
Fields = dict[str, int]


class RankCalls:
    """Turns a rank's calls into its records.

    Parameters
    ----------
    rank
        Of the world.
    records
        Where they go.
    members
        World ranks of each communicator by number.
    made
        The communicators that this rank's making calls made, in order.

    Attributes
    ----------
    left_out
        Calls that Weft's traces do not have, by name; most of them move nothing.
    unknown
        Messages whose sender, or communicators whose members, the text does not tell.
    """

    def __init__(
        self, rank: int, records: RankRecords, members: Mapping[int, Sequence[int]], made: Sequence[int | None]
    ) -> None:
        self._rank, self._records, self._members = rank, records, members
        self._made = iter(made)
        self.types = Datatypes()
        self._comms: dict[int, int] = {}
        self._requests: dict[int, Fields] = {}
        self._lasting: dict[int, Fields] = {}
        self._number = 0
        self.left_out: Counter[str] = Counter()
        self.unknown = 0

    def add(self, call: Call) -> None:
        """Write a call's records."""
        if self.types.made(call):
            return
        if call.name not in NUMBERS:
            self.left_out[call.name] += 1
            return
        fields, ends = self._fields(call), self._ends(call)
        for start in self._restarted(call, "requests") if call.name == "MPI_Startall" else ():
            self._records.call("MPI_Start", call.begin_ns, call.begin_ns, thread=call.thread, **start)
        self._records.call(call.name, call.begin_ns, call.end_ns, thread=call.thread, **fields)
        if counts := self._counts(call):
            self._records.counts(counts, fields["comm"])
        for end in ends:
            self._records.call(FINISH, call.begin_ns, call.end_ns, thread=call.thread, **end)
        if call.name in MAKING:
            self._comms[call.number("newcomm")] = next(self._made, None) or 0

    def _comm(self, call: Call, argument: str = "comm") -> int:
        named = NAMED.get(call.word(argument))
        if named is not None:
            return named
        found = self._comms.get(call.number(argument), 0)
        self.unknown += not found
        return found

    def _peer(self, call: Call, argument: str, comm: int) -> int:
        return NO_PEER if call.word(argument) == "MPI_ANY_SOURCE" else self._world(call.number(argument, -1), comm)

    def _world(self, place: int, comm: int) -> int:
        if place < 0:
            return PROC_NULL
        if comm == SELF:
            return self._rank
        members = self._members.get(comm, ())
        return members[place] if place < len(members) else NO_PEER

    def _tag(self, call: Call, argument: str = "tag") -> int:
        return -1 if call.word(argument) == "MPI_ANY_TAG" else call.number(argument)

    def _fields(self, call: Call) -> Fields:
        """Fields of the call's own record."""
        if call.name in MAKING:
            return {"comm": self._comm(call, MAKING[call.name])}
        if call.name == "MPI_Start":
            return next(iter(self._restarted(call, "request")), {"comm": 0})
        if "comm" not in call.arguments:
            return {"comm": 0, "request": self._polled(call), "flags": self._unfinished(call)}
        comm = self._comm(call)
        if call.name in COLLECTIVES:
            return {"comm": comm, **self._together(call, comm)}
        fields: Fields = {"comm": comm, "tag": self._tag(call, "sendtag" if "sendtag" in call.arguments else "tag")}
        if "dest" in call.arguments:
            count, kind = ("sendcount", "sendtype") if "sendcount" in call.arguments else ("count", "datatype")
            fields |= {"peer": self._peer(call, "dest", comm), "bytes": self._bytes(call, count, kind)}
        elif "source" in call.arguments:
            fields |= self._receive(call, comm)
        if call.name in STARTS or call.name in MADE:
            self._begun(call, fields)
        return fields | ({"flags": self._unfinished(call)} if "flag" in call.arguments else {})

    def _bytes(self, call: Call, count: str, kind: str) -> int:
        return call.number(count) * self.types.size(call, kind)

    def _receive(self, call: Call, comm: int) -> Fields:
        wild = Flag(0)
        if call.word("source") == "MPI_ANY_SOURCE":
            wild |= Flag.ANY_SOURCE
        if call.word("tag") == "MPI_ANY_TAG":
            wild |= Flag.ANY_TAG
        room = self._bytes(call, "count", "datatype") if "count" in call.arguments else 0
        posted = {"peer": self._peer(call, "source", comm), "received": room, "flags": int(wild)}
        if call.name == "MPI_Recv":
            came = self._came({**posted, "comm": comm, "tag": self._tag(call)}, call.statuses("status")[:1])
            return {**came, "flags": int(wild)}
        return posted

    def _came(self, posted: Fields, status: Sequence[Status]) -> Fields:
        """What came for a receive: its status, or what was asked for where that is ignored."""
        if not status:
            self.unknown += posted["peer"] == NO_PEER
            return posted
        found = status[0]
        peer = posted["peer"] if posted["peer"] != NO_PEER else self._world(found.source, posted["comm"])
        tag = found.tag if posted["tag"] < 0 else posted["tag"]
        return {**posted, "peer": peer, "tag": tag, "received": max(found.bytes, 0)}

    def _begun(self, call: Call, fields: Fields) -> None:
        """A request that this call makes."""
        receive = "source" in call.arguments
        fields["flags"] = fields.get("flags", 0) | (int(Flag.RECEIVE) if receive else 0)
        handle = next(iter(call.numbers("request")), -1)
        if call.name in MADE:
            fields["flags"] |= int(Flag.PERSISTENT)
            self._lasting[handle] = dict(fields)
            return
        self._number += 1
        fields["request"] = self._number
        self._requests[handle] = dict(fields)

    def _restarted(self, call: Call, argument: str) -> list[Fields]:
        """Persistent requests that start again."""
        found: list[Fields] = []
        for handle in call.numbers(argument):
            if lasting := self._lasting.get(handle):
                self._number += 1
                self._requests[handle] = {**lasting, "request": self._number}
                found.append(dict(self._requests[handle]))
        return found

    def _unfinished(self, call: Call) -> int:
        tested = call.name in WAITS or call.name in ("MPI_Iprobe", "MPI_Improbe")
        return int(Flag.UNFINISHED) if tested and "flag" in call.arguments and not call.number("flag") else 0

    def _polled(self, call: Call) -> int:
        return 1 if self._unfinished(call) else 0

    def _ends(self, call: Call) -> list[Fields]:
        """The requests that a call completed, and the receive of MPI_Sendrecv."""
        if call.name in ("MPI_Sendrecv", "MPI_Sendrecv_replace"):
            return [self._beside(call)]
        if call.name not in WAITS or self._unfinished(call):
            return []
        handles = call.numbers("requests") if "requests" in call.arguments else call.numbers("request")
        statuses = call.statuses("statuses") or call.statuses("status")
        if "index" in call.arguments:
            handles = handles[call.number("index") :][:1] if call.number("index", -1) >= 0 else []
        elif "indices" in call.arguments:
            handles = [handles[place] for place in call.numbers("indices")[: call.number("outcount")]
                       if 0 <= place < len(handles)]  # fmt: skip
        return [
            end for place, handle in enumerate(handles) if (end := self._ended(handle, statuses[place : place + 1]))
        ]

    def _ended(self, handle: int, status: Sequence[Status]) -> Fields | None:
        given = self._requests.pop(handle, None)
        if given is None:
            return None
        if status and status[0].cancelled:
            return {**given, "flags": given["flags"] | int(Flag.CANCELLED), "bytes": 0, "received": 0}
        return self._came(given, status) if given["flags"] & Flag.RECEIVE else {**given, "received": 0}

    def _beside(self, call: Call) -> Fields:
        comm = self._comm(call)
        replaced = "recvcount" not in call.arguments
        count, kind = ("count", "datatype") if replaced else ("recvcount", "recvtype")
        posted = {
            "comm": comm, "peer": self._peer(call, "source", comm), "tag": self._tag(call, "recvtag"),
            "received": self._bytes(call, count, kind), "flags": int(Flag.RECEIVE),
        }  # fmt: skip
        return self._came(posted, call.statuses("status")[:1])

    def _size(self, comm: int) -> int:
        return 1 if comm == SELF else max(len(self._members.get(comm, ())), 1)

    def _together(self, call: Call, comm: int) -> Fields:
        """Root and bytes of a collective call, as the tracer has them (docs/trace-format.md)."""
        size, name = self._size(comm), call.name.removeprefix("MPI_")
        root = self._world(call.number("root", -1), comm) if call.name in ROOTED else NO_PEER
        own = {"peer": root}
        if name == "Barrier":
            return own
        if name in ("Bcast", "Reduce", "Allreduce", "Scan", "Exscan"):
            given = self._bytes(call, "count", "datatype")
            if name == "Bcast":
                return own | ({"bytes": given} if root == self._rank else {"received": given})
            return own | {"bytes": given, "received": given if name != "Reduce" or root == self._rank else 0}
        if name == "Reduce_scatter":
            each, counts = self.types.size(call, "datatype"), call.numbers("recvcounts")
            place = list(self._members.get(comm, ())).index(self._rank) if comm != SELF and size > 1 else 0
            mine = counts[place] if place < len(counts) else 0
            return own | {"bytes": each * sum(counts), "received": each * mine}
        return own | self._blocks(call, name, size, root)

    def _blocks(self, call: Call, name: str, size: int, root: int) -> Fields:
        """Bytes of calls that give a block to each or get one of each; only the root's side of some is used."""
        sent = self.types.size(call, "sendtype") if "sendtype" in call.arguments else 0
        got = self.types.size(call, "recvtype") if "recvtype" in call.arguments else 0
        gives = sent * (sum(call.numbers("sendcounts")) if "sendcounts" in call.arguments else call.number("sendcount"))
        gets = got * (sum(call.numbers("recvcounts")) if "recvcounts" in call.arguments else call.number("recvcount"))
        if name in ("Scatter", "Alltoall"):
            gives *= size
        if name in ("Gather", "Allgather", "Alltoall"):
            gets *= size
        at_root = root == self._rank
        if name in ("Scatter", "Scatterv") and not at_root:
            gives = 0
        if name in ("Gather", "Gatherv") and not at_root:
            gets = 0
        return {"bytes": gives, "received": gets}

    def _counts(self, call: Call) -> list[int]:
        """Bytes to each member, of calls that have them."""
        if call.name == "MPI_Alltoallv" or (call.name == "MPI_Scatterv" and call.numbers("sendcounts")):
            argument, kind = "sendcounts", "sendtype"
        elif call.name == "MPI_Reduce_scatter":
            argument, kind = "recvcounts", "datatype"
        else:
            return []
        each = self.types.size(call, kind)
        return [each * count for count in call.numbers(argument)]
