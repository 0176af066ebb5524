# SPDX-License-Identifier: BSD-3-Clause
"""Reading a rank's trace, also one that was torn: what is missing or wrong is reported; its communicators and sites."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import open_plain
from weft.format import plural
from weft.store.trace import layout
from weft.store.trace.layout import Flag, State

Records: TypeAlias = NDArray[np.void]  # records of `layout.RECORD`, a structured array of shape (n,)
AT_ONCE = 1 << 18  # records read at a time: 16 MiB
MOST_RANKS = 1 << 24
REMEDY = "name a folder that the tracer wrote (WEFT_TRACE), or run: weft trace -o RUN -- mpirun ..."
CHANGED = "bring the original back, or take the trace again: weft trace -o RUN -- mpirun -n 4 ./application"
_KINDS: dict[Any, Callable[[Any], Any]] = {
    int: int,
    float: lambda number: float(number) if np.isfinite(number) else 0.0,
    str: lambda raw: bytes(raw).decode("utf-8", "replace"),
    State: lambda state: State(int(state) & 63),
}
Ints: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class Header:
    """The head of a rank's trace."""

    rank: int
    ranks: int
    node: int
    local_rank: int
    state: State
    opened_ns: int  # on this rank's clock, integer ns
    closed_ns: int  # 0 in a trace without an end
    line_local_ns: int  # rank 0's clock is ``t + line_ns + line_drift (t - line_local_ns)`` at this rank's time t in ns
    line_ns: int
    line_drift: float
    residual_ns: int  # error of that line, found by check rounds
    uncertainty_ns: int  # half of the shortest round trips
    events: int  # calls seen, counted at the end; 0 in a trace without one
    records: int  # records written; the same
    most_bytes: int
    cost_ns: float  # measured cost of the tracer for a call, ns; 0 if not measured
    pid: int
    host: str
    library: str
    looked_ns: int  # when the processors were looked at last, on this rank's clock; 0: never, and the rest is unknown
    lost_ns: int  # the thread that called MPI_Init was runnable without a processor; -1 where the kernel is silent
    own_ns: int  # processor time of this process
    busy_ns: int  # of all on ``cpus``
    steal_ns: int  # what a hypervisor took of the whole host
    load: float  # load average at MPI_Init
    host_cpus: int  # processors of the host
    cpus: str  # those that this rank may run on: ``0-3,8``
    crc: int  # CRC-32 of the whole file with a zero in its place; 0 without State.SUMMED

    @property
    def is_closed(self) -> bool:
        """Whether the rank came to MPI_Finalize: nothing is written to its trace any more."""
        return State.CLOSED in self.state

    def on_rank_0s_clock(self, local_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of this rank's clock as those of rank 0's, shape (n,) as given, integer ns."""
        drifted = np.rint(self.line_drift * (local_ns - self.line_local_ns).astype(np.float64)).astype(np.int64)
        return local_ns + self.line_ns + drifted


def trace_files(folder: Path) -> list[Path]:
    """The ranks' files of a folder, by rank."""
    return sorted(folder.glob(layout.RANK_FILES))


def read_header(path: Path) -> Header:
    """Read the head of a rank's trace; DataError if it cannot be read, is none, or of another version."""
    with file_errors(path), open_plain(path) as file:
        raw = file.read(layout.HEADER_BYTES)
    if len(raw) < layout.HEADER_BYTES or not raw.startswith(layout.MAGIC):
        raise DataError(f"{path}: not a trace: its head of {layout.HEADER_BYTES} bytes is missing or another's", REMEDY)
    head: Any = np.frombuffer(raw, layout.HEADER)[0]
    sizes = (int(head["version"]), int(head["header_bytes"]), int(head["record_bytes"]))
    if sizes != (layout.VERSION, layout.HEADER_BYTES, layout.RECORD_BYTES):
        raise DataError(
            f"{path}: version {sizes[0]} with heads of {sizes[1]} and records of {sizes[2]} bytes; this Weft reads "
            f"version {layout.VERSION} ({layout.HEADER_BYTES} and {layout.RECORD_BYTES})",
            "read it with the Weft that wrote it",
        )
    rank, ranks = int(head["rank"]), int(head["ranks"])
    if not 0 <= rank < ranks <= MOST_RANKS or not np.isfinite(head["line_drift"]) or abs(head["line_drift"]) > 1:
        raise DataError(f"{path}: rank {rank} of {ranks} with a drift of {head['line_drift']}: damaged", REMEDY)
    return Header(**{each.name: _KINDS[each.type](head[each.name]) for each in fields(Header)})


@dataclass
class RankTrace:
    """One rank's trace, read piece by piece."""

    path: Path
    header: Header
    # what is missing, complete once `records` was read to its end
    cut_bytes: int = 0
    cut_records: int = 0
    wrong_records: int = 0
    with_others: bool = False

    @classmethod
    def open(cls, path: Path) -> "RankTrace":
        """Read the head of a file; DataError if it is no trace."""
        return cls(path, read_header(path))

    def missing(self) -> str:
        """What is missing of the rank's trace, in words; empty if nothing is."""
        known = {
            "it ended without MPI_Finalize (killed, aborted, or still running)": not self.header.is_closed,
            "the disk was full: what followed is missing": State.STOPPED in self.header.state,
            f"the last {self.cut_bytes} bytes are no whole record": self.cut_bytes,
            f"its last {plural(self.cut_records, 'record')} are missing": self.cut_records,
            f"{plural(self.wrong_records, 'damaged record')} left out": self.wrong_records,
            "it talked to processes that are not in this trace (MPI_Comm_spawn, MPI_Comm_connect)": self.with_others,
        }
        parts = [text for text, is_so in known.items() if is_so]
        return f"rank {self.header.rank}: {'; '.join(parts)}" if parts else ""

    def records(self, at_once: int = AT_ONCE) -> Iterator[Records]:
        """Plausible records, shape (n,), in ns of the rank's clock; DataError if unreadable, or by its checksum."""
        self.wrong_records = 0  # they are read more than once
        with file_errors(self.path), open_plain(self.path) as file:
            body_bytes = os.fstat(file.fileno()).st_size - layout.HEADER_BYTES
            self.cut_bytes = body_bytes % layout.RECORD_BYTES
            self.cut_records = max(0, self.header.records - body_bytes // layout.RECORD_BYTES)
            head = file.read(layout.HEADER_BYTES)
            crc = zlib.crc32(head[: layout.CRC_AT] + bytes(4) + head[layout.CRC_AT + 4 :])  # a zero in its own place
            while raw := file.read(at_once * layout.RECORD_BYTES):
                found = np.frombuffer(raw, layout.RECORD, len(raw) // layout.RECORD_BYTES)
                crc = zlib.crc32(raw, crc)
                used = found["call"] != 0  # reserved room that was never written
                good = used & plausible(found, self.header.ranks)
                self.wrong_records += int(used.sum() - good.sum())
                yield found[good]
        summed = State.SUMMED in self.header.state or self.header.crc != 0
        if self.header.is_closed and summed and not self.cut_records and crc != self.header.crc:
            raise DataError(f"{self.path}: damaged: its checksum is of other content", CHANGED)


def plausible(records: Records, ranks: int) -> NDArray[np.bool_]:
    """Whether each record, shape (n,), is of a known kind, with numbers that can be: true or false, shape (n,)."""
    call, peer = records["call"], records["peer"]
    inter = (records["flags"] & Flag.INTER) != 0
    right = (
        (records["end_ns"] >= records["begin_ns"]) & (records["bytes"] >= 0) & (records["received"] >= 0)
        & (peer >= layout.PROC_NULL) & ((peer < ranks) | inter)
    )  # fmt: skip
    return np.where(_IS_EVENT[call], right, _IS_DEFINITION[call] & (peer >= layout.NO_PEER))


def _marked(numbers: Iterable[int]) -> NDArray[np.bool_]:
    """True at these of the 65,536 numbers that a record's call may be."""
    marks = np.zeros(1 << 16, np.bool_)
    marks[list(numbers)] = True
    return marks


_IS_EVENT = _marked((layout.COMPLETE, *layout.CALLS))
_IS_DEFINITION = _marked((layout.COUNTS, layout.MEMBERS, layout.SITE, layout.COMMUNICATOR, layout.TARGETS))


def is_event(call: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Whether each number, shape (n,), is that of an MPI call or a completion: true or false, shape (n,)."""
    return _IS_EVENT[call]


@dataclass
class Communicator:
    """A communicator as one rank knows it."""

    uid: int  # the same on all its ranks, and different for each communicator
    size: int
    rank: int  # this rank's in it
    parent: int = 0  # this rank's number of the communicator that it was made from; 0 if unknown
    inter: bool = False
    # world rank of each member that is known, by rank in it (of an intercommunicator in the other group); a range: all
    members: Mapping[int, int] | range = field(default_factory=dict[int, int])

    def known(self) -> tuple[Ints, Ints]:
        """Members that are known: their ranks in it, and in the world; two arrays of shape (members,), ranks."""
        if isinstance(self.members, range):
            return (everybody := np.arange(self.size, dtype=np.int32)), everybody
        places, ranks = np.array([*self.members.items()], np.int32).reshape(-1, 2).T
        return places, ranks

    def world_ranks(self) -> Ints:
        """World rank of each member, by rank in it, shape (size,), ranks; -1 where a torn trace does not say."""
        found = np.full(self.size, layout.NO_PEER, np.int32)
        places, ranks = self.known()
        found[places] = ranks
        return found


@dataclass
class Definitions:
    """What the definitions read so far say, by number."""

    communicators: dict[int, Communicator]
    sites: dict[int, str] = field(default_factory=dict[int, str])
    with_others: bool = False  # some communicator has processes of another program, which are in no file of this trace

    @classmethod
    def of(cls, header: Header) -> "Definitions":
        """The two communicators that every rank has."""
        world = Communicator(layout.WORLD, header.ranks, header.rank, members=range(header.ranks))
        return cls({layout.WORLD: world, layout.SELF: Communicator(layout.SELF, 1, 0, members={0: header.rank})})

    def read(self, records: Records, ranks: int) -> None:
        """Take the definitions among records of shape (n,); sizes beyond the world's count of ranks are ignored."""
        chosen = records[np.isin(records["call"], (layout.COMMUNICATOR, layout.MEMBERS, layout.SITE))]
        for record in chosen:
            raw, place = record.tobytes()[layout.PAYLOAD : layout.RECORD_BYTES], int(record["site"])
            known, valid = self.communicators.get(int(record["comm"])), max(int(record["peer"]), 0)
            if record["call"] == layout.SITE:
                self.sites[place] = self.sites.get(place, "") + raw[:valid].decode("utf-8", "replace")
            elif record["call"] == layout.COMMUNICATOR:
                self._define(record, min(max(int(record["end_ns"]), 0), ranks))
            elif known is not None and isinstance(known.members, dict):
                several = np.frombuffer(raw, "<i4")[: min(valid, layout.MEMBERS_EACH)].tolist()
                found = {at: rank for at, rank in enumerate(several, place) if at < known.size and 0 <= rank < ranks}
                known.members.update(found)

    def _define(self, record: Any, size: int) -> None:
        number, parent, traits = int(record["comm"]), int(record["bytes"]), int(record["received"])
        self.with_others |= bool(traits & layout.WITH_OTHERS)
        uid = int(record["begin_ns"]) & (2**64 - 1)
        made = Communicator(uid, size, int(record["peer"]), parent, bool(traits & layout.BETWEEN_GROUPS))
        if traits & layout.AS_PARENT and parent in self.communicators:
            same = self.communicators[parent].members
            made.members = same if isinstance(same, range) else MappingProxyType(same)
        self.communicators[number] = made
