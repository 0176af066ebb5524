# SPDX-License-Identifier: BSD-3-Clause
"""An archive of OTF2 into the folder of a trace: regions ``MPI_...`` are calls, what stands inside is what they did."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from weft import __version__
from weft.errors import DataError
from weft.files.atomic import file_errors, make_folder, new_folder
from weft.files.beneath import plain_file
from weft.format import plural
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import FINISH, NO_PEER, NUMBERS, SELF, WORLD, Flag, RankFile, State, calls_of
from weft.trace.export import as_data_errors, otf2

Fields: TypeAlias = dict[str, int]  # fields of a record by name
COUNTED = calls_of("AllToAllV", "AllToAllW") | calls_of("AllToAllV", "AllToAllW", wrapper="Started")
"""Calls with bytes for each member, of which the format keeps the sum."""
ENDS = ("MpiIsendComplete", "MpiIrecv", "MpiRequestCancelled", "NonBlockingCollectiveComplete")
MOST_HELD = 1 << 20  # records held for the end of a non-blocking collective; beyond it, the call stays without sizes
QUIET = (
    "Abort", "Address", "Aint_", "Alloc_mem", "Attr_", "Buffer_", "Cart_coords", "Cart_get", "Cart_rank", "Cart_shift",
    "Cartdim", "Comm_compare", "Comm_get", "Comm_group", "Comm_rank", "Comm_remote", "Comm_set", "Comm_size",
    "Comm_test", "Dims_create", "Errhandler", "Error_", "Finalize", "Free_mem", "Get_", "Graph_get", "Graphdims",
    "Group_", "Info_", "Init", "Is_thread", "Keyval", "Op_", "Pack", "Pcontrol", "Query_thread", "Status_",
    "Test_cancelled", "Topo_test", "Type_", "Unpack", "Wtick", "Wtime",
)  # fmt: skip
"""How the names of calls begin that move nothing, after ``MPI_``."""
MOST_NAMES = 5
REMEDY = "name an archive that otf2-print reads: its traces.otf2, with the folder and the .def beside it"
NS = 1_000_000_000
AT_ONCE = 1000


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
    depth: int = 0  # of calls that a library makes inside


class RankCalls:
    """Turns the events of a rank's threads into its records.
    A non-blocking collective call is described at its end only, so what follows its start is held until then.
    `to_ns`: a time of the archive in ns. `left_out`: regions named ``MPI_...`` that Weft's traces do not have, by
    name; most of them move nothing. `shared_evenly`: calls whose bytes to each member are not known.
    """

    def __init__(
        self, rank: int, records: RankFile, communicators: Mapping[int, Known], to_ns: Callable[[int], int]
    ) -> None:
        self.rank, self._records, self._known, self._to_ns = rank, records, communicators, to_ns
        self._numbered = {each.number: each for each in communicators.values()}
        self._open: dict[int, _Open] = {}
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
        if outer := self._open.get(thread):
            outer.depth += 1
        elif name in NUMBERS:
            self._open[thread] = _Open(name, self._to_ns(event.time))
        elif name.startswith("MPI_"):
            self.left_out[name] += 1

    def _leave(self, thread: int, event: Any) -> None:
        if (call := self._open.get(thread)) is None or call.depth:
            if call:
                call.depth -= 1
            return
        del self._open[thread]
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
        if (known := self._known.get(id(event.communicator))) is None:
            return {"comm": 0, "peer": NO_PEER}
        return {"comm": known.number, "peer": self.rank if known.number == SELF else known.world(peer)}

    def _message(self, event: Any, *, sent: bool) -> Fields:
        place = self._place(event, event.receiver if sent else event.sender)
        return place | {"tag": event.msg_tag, "bytes" if sent else "received": event.msg_length}

    def _new(self, archives: int, fields: Fields) -> Fields:
        self._requests += 1
        self._pending[archives] = fields
        fields["request"] = self._requests
        return fields

    def _inside(self, call: _Open, kind: str, event: Any) -> None:
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
            start |= (what := self._operation(event))
            call.ends.append(what | own)

    def _operation(self, event: Any) -> Fields:
        root = getattr(event.root, "value", event.root)
        known = self._known.get(id(event.communicator))
        has_root = isinstance(root, int) and known is not None and 0 <= root < self._size(known)
        place = self._place(event, root if has_root else 0)
        sizes = {"bytes": event.size_sent, "received": event.size_received}
        return place | sizes | ({} if has_root else {"peer": NO_PEER})


def bring_otf2(path: Path, folder: TraceFolder) -> list[str]:
    """Write an archive's ranks to ``folder.raw``; what could not be brought, in words. DataError for none."""
    package = otf2()
    with as_data_errors(path, "no archive of OTF2 that can be read", REMEDY), ExitStack() as files:
        archive = files.enter_context(package.reader.open(str(plain_file(path)), batch_events=AT_ONCE))
        places, hosts = _places(package, archive, path)
        known = _communicators(package, archive, len(hosts))
        clock = archive.definitions.clock_properties
        offset, resolution = int(clock.global_offset or 0), int(clock.timer_resolution)

        def to_ns(ticks: int) -> int:
            return (ticks - offset) * NS // resolution

        state, calls = int(State.CLOSED | State.SHARED_CLOCK | State.CLOCK_CLOSED), list[RankCalls]()
        for rank, host in enumerate(hosts):
            head = {"state": state, "host": host.encode()[:63], "library": b"from OTF2"}
            file = files.enter_context(RankFile(folder.raw, rank, len(hosts), **head))
            for each in {each.number: each for each in known.values()}.values():
                if each.members and rank in each.members:
                    file.communicator(each.number, each.number, each.members)
            calls.append(RankCalls(rank, file, known, to_ns))
        for location, event in archive.events:
            if place := places.get(id(location)):
                calls[place[0]].add(place[1], event)
        return _told(calls, sum(each.finish() for each in calls))


def _told(calls: list[RankCalls], unended: int) -> list[str]:
    lines: list[str] = []
    if evenly := sum(each.shared_evenly for each in calls):
        lines.append(f"bytes to each member are taken as equal in {evenly:,} all-to-alls: OTF2 has their sums only")
    if unended:
        lines.append(f"{plural(unended, 'call')} never returned: left out")
    total = sum((each.left_out for each in calls), Counter[str]())
    named = Counter({name: number for name, number in total.items() if not name.removeprefix("MPI_").startswith(QUIET)})
    if named:
        some = ", ".join(f"{name} ({number:,})" for name, number in named.most_common(MOST_NAMES))
        lines.append(f"calls that Weft's traces do not have: {some}{' ...' if len(named) > MOST_NAMES else ''}")
    return lines


def _places(package: Any, archive: Any, path: Path) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Rank and thread of each location by its identity, and the host of each rank."""
    mpi, kind = package.Paradigm.MPI, package.GroupType.COMM_LOCATIONS
    found = [each for each in archive.definitions.groups if each.group_type == kind and each.paradigm == mpi]
    if not found or not found[0].members:
        raise DataError(f"{path}: none of its processes calls MPI", "record an application of several ranks")
    first = list(found[0].members)
    places = {id(location): (rank, 0) for rank, location in enumerate(first)}
    of_process = {id(location.group): rank for rank, location in enumerate(first)}
    threads = Counter[int]()
    for location in archive.definitions.locations:
        if (rank := of_process.get(id(location.group))) is not None and id(location) not in places:
            threads[rank] += 1
            places[id(location)] = (rank, threads[rank])
    return places, [str(getattr(each.group.system_tree_parent, "name", "") or "unknown") for each in first]


def _communicators(package: Any, archive: Any, ranks: int) -> dict[int, Known]:
    """The communicators by their definitions' identity: the first of all ranks is the world."""
    kinds, whole = package.GroupType, tuple(range(ranks))
    found: dict[int, Known] = {}
    all_ranks = next(each for each in archive.definitions.groups if each.group_type == kinds.COMM_LOCATIONS)
    rank_of = {id(location): rank for rank, location in enumerate(all_ranks.members)}
    for number, definition in enumerate(archive.definitions.comms, 3):
        if (group := getattr(definition, "group", None)) is None:
            continue  # between two groups
        if group.group_type == kinds.COMM_SELF:
            found[id(definition)] = Known(SELF, None)
            continue
        members = tuple(rank_of[id(member)] for member in group.members)
        if members == whole and all(each.number != WORLD for each in found.values()):
            found[id(definition)] = Known(WORLD, None)
        elif members:
            found[id(definition)] = Known(number, members)
    return found


def import_trace(source: Path, into: Path) -> list[str]:
    """Bring another tool's trace into a new folder; what could not be brought, in words. StudyError, DataError."""
    give = "give an archive's traces.otf2, or its folder"
    if not source.exists():
        raise DataError(f"{source} does not exist", give)
    if not source.is_dir():
        with file_errors(source):
            plain_file(source)
    anchor = source if source.is_file() else next(iter(sorted(source.glob("*.otf2"))), None)
    if anchor is None:
        raise DataError(f"{source} has no archive of OTF2 (*.otf2)", give)
    new_folder(into, "weft trace import SOURCE -o RUN")
    folder = TraceFolder(into)
    try:
        with file_errors(folder.path):
            make_folder(folder.raw)
        folder.describe(imported=str(source), weft=__version__)
        lines = bring_otf2(anchor, folder)
        convert_trace(folder)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return lines
