# SPDX-License-Identifier: BSD-3-Clause
"""The binary layout of a rank's trace (docs/dev/trace-format.md, ``native/trace/record.hpp``), its calls and writer."""

import enum
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from weft.files.atomic import file_errors, own_file
from weft.files.shipped import shipped

MAGIC = b"WEFTTRC\0"
VERSION = 1
HEADER_BYTES = 512
RECORD_BYTES = 64
RANK_FILES = "rank-*.trace"
HEADER = np.dtype(
    [
        ("magic", "S8"), ("version", "<u4"), ("header_bytes", "<u4"), ("record_bytes", "<u4"), ("state", "<u4"),
        ("rank", "<i4"), ("ranks", "<i4"), ("node", "<i4"), ("local_rank", "<i4"),
        ("opened_ns", "<i8"), ("closed_ns", "<i8"), ("line_local_ns", "<i8"), ("line_ns", "<i8"), ("line_drift", "<f8"),
        ("residual_ns", "<i8"), ("uncertainty_ns", "<i8"), ("events", "<u8"), ("records", "<u8"), ("most_bytes", "<i8"),
        ("cost_ns", "<f8"), ("pid", "<i8"), ("unused", "V8"), ("host", "S64"), ("library", "S128"),
        ("looked_ns", "<i8"), ("lost_ns", "<i8"), ("own_ns", "<i8"), ("busy_ns", "<i8"), ("steal_ns", "<i8"),
        ("load", "<f8"), ("host_cpus", "<i4"), ("crc", "<u4"), ("cpus", "S120"),
    ]
)  # fmt: skip
CRC_AT: int = 388  # offset of the checksum in the head
RECORD = np.dtype(
    [
        ("call", "<u2"), ("flags", "<u2"), ("site", "<u4"), ("comm", "<u4"), ("peer", "<i4"),
        ("begin_ns", "<i8"), ("end_ns", "<i8"), ("bytes", "<i8"), ("received", "<i8"), ("request", "<u8"),
        ("tag", "<i4"), ("thread", "<u4"),
    ]
)  # fmt: skip
PAYLOAD = 16  # offset of the part of a record whose meaning depends on its call
NO_PEER = -1  # there is none, or it was not known yet (ANY_SOURCE)
PROC_NULL = -3
COMPLETE, COUNTS, MEMBERS, SITE, COMMUNICATOR, TARGETS = 1, 2, 3, 4, 5, 6
"""No calls: a request's end, counts of a call, members, a site's text, a communicator, a call's bytes to some ranks."""
BETWEEN_GROUPS, AS_PARENT, WITH_OTHERS = 1, 2, 4
"""Of a communicator: it connects two groups; it has the members of its parent; some are of another program."""
COUNTS_EACH, MEMBERS_EACH, TEXT_EACH, TARGETS_EACH = 6, 12, 48, 4
WORLD, SELF = 1, 2  # numbers of MPI_COMM_WORLD and MPI_COMM_SELF in every rank's records
FINISH = "completion"  # name of a request's completion among the calls


class State(enum.IntFlag):
    """Bits of the header's ``state``."""

    CLOSED = 1  # MPI_Finalize was reached
    LIMITED = 2  # the file is as large as allowed: what followed is summarised
    STOPPED = 4  # no room on the disk: what followed is missing
    SHARED_CLOCK = 8  # all ranks read one clock
    CLOCK_CLOSED = 16  # the clocks were also measured at the end, so drift is known
    SUMMED = 32  # the head has a checksum of the whole file


class Flag(enum.IntFlag):
    """Bits of a record's ``flags``."""

    SUMMARY = 1  # stands for several calls: `request` counts them, tag and thread are their total time
    ANY_SOURCE = 2
    ANY_TAG = 4
    PERSISTENT = 8
    UNFINISHED = 16  # tests or probes without success, `request` of them in a row
    RECEIVE = 32  # of MPI_Start and completions: it is a receive
    INTER = 64  # on an intercommunicator: peer and sizes are those of the other group
    CANCELLED = 128
    FAILED = 256  # the call returned an error
    IN_PLACE = 512


class Call(NamedTuple):
    """A call that is recorded: its number, its family in the tracer, and ``Started`` or ``Made`` if that is wrapped."""

    number: int
    family: str
    wrapper: str


_LINE = re.compile(r"^WEFT_(?:CALL|PARTITIONED)\((\d+), (\w+), .*?(?:(Started|Made)<)?(\w+)>?\)$", re.MULTILINE)
_TEXT = (shipped("native") / "trace" / "calls.inc").read_text("utf-8")
VOCABULARY: dict[str, Call] = {
    f"MPI_{name}": Call(int(number), family, wrapper) for number, name, wrapper, family in _LINE.findall(_TEXT)
}
CALLS: dict[int, str] = {call.number: name for name, call in VOCABULARY.items()}  # name of every call by its number
NUMBERS: dict[str, int] = {name: number for number, name in CALLS.items()}


def _section(first: int, last: int) -> frozenset[str]:
    return frozenset(name for name, call in VOCABULARY.items() if first <= call.number <= last)


def calls_of(*families: str, wrapper: str = "") -> frozenset[str]:
    """Names of the calls of some families, with a wrapper (``Started``, ``Made``) or none."""
    return frozenset(name for name, call in VOCABULARY.items() if call.family in families and call.wrapper == wrapper)


BLOCKING_SENDS = calls_of("Send", "SendReceive", "SendReceiveReplace")
SENDS = BLOCKING_SENDS | calls_of("Send", wrapper="Started")
BLOCKING_RECEIVES = calls_of("Receive", "ReceiveMatched")
RECEIVES = BLOCKING_RECEIVES | calls_of("Post", wrapper="Started") | calls_of("StartedMatched")
WAITS = _section(112, 127) - calls_of("FreeRequest", "Cancel", "AskRequest")
COLLECTIVES = _section(128, 159)
STARTED_COLLECTIVES = _section(160, 191)
NEIGHBOURHOOD = _section(192, 207)
ONE_SIDED = _section(256, 287)
FILES = _section(320, 383)
PREPARING = _section(80, 127) | {"MPI_Startall"}  # move nothing: make, probe, ask for or end requests
ALL_TO_ALLS = calls_of("AllToAll", "AllToAllV", "AllToAllW")
FROM_ROOT = calls_of("Broadcast", "Scatter", "ScatterV")
TO_ROOT = calls_of("Reduce", "Gather", "GatherV")
SPARSE = calls_of("AllToAllV", "AllToAllW") | NEIGHBOURHOOD
"""Calls with bytes for each of some ranks: nobody waits for those who have none for it."""
TOGETHER = COLLECTIVES - FROM_ROOT - TO_ROOT - SPARSE - {"MPI_Scan", "MPI_Exscan"}
"""Calls that need data of all, and end for nobody before the last has come."""
_CALL = struct.Struct("<HHIIiqqqqQiI")
_FIELDS = (RECORD.names or ())[1:]
_DEFINED = struct.Struct("<HHIIi")
_COMMUNICATOR = struct.Struct("<HHIIiQqqqQiI")
AT_ONCE = 1 << 14  # records held before they are written: 1 MiB


class RankFile:
    """A rank's head and records on their way to its file; a context, at whose end it is whole. DataError."""

    def __init__(self, folder: Path, rank: int, ranks: int, **header: Any) -> None:
        self.path = folder / f"rank-{rank:07d}.trace"
        self.head: Any = np.zeros((), HEADER)
        sizes = {"header_bytes": HEADER_BYTES, "record_bytes": RECORD_BYTES}
        given = {"magic": MAGIC, "version": VERSION, **sizes, "rank": rank, "ranks": ranks, **header}
        for name, value in given.items():
            self.head[name] = value
        self.records: list[bytes] = []

    def __enter__(self) -> "RankFile":
        with file_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = own_file(self.path)
            self._file.write(self.head.tobytes())
        self.head["state"] = int(self.head["state"]) | State.SUMMED
        self._crc = zlib.crc32(self.head.tobytes())
        return self

    def __exit__(self, *_: object) -> None:
        with file_errors(self.path), self._file:
            self.flush()
            self.head["crc"] = self._crc
            self._file.seek(0)
            self._file.write(self.head.tobytes())

    def call(self, name: str, begin_ns: int, end_ns: int, **rest: int) -> None:
        """Add a call, or the completion of a request; ``rest`` are fields of `RECORD`."""
        given = {"comm": WORLD, "peer": NO_PEER, "begin_ns": begin_ns, "end_ns": end_ns} | rest
        number = COMPLETE if name == FINISH else NUMBERS[name]
        self.records.append(_CALL.pack(number, *(given.get(field, 0) for field in _FIELDS)))
        if len(self.records) >= AT_ONCE:
            self.flush()

    def counts(self, sent: Sequence[int], comm: int = WORLD) -> None:
        """Add the bytes to each member of the call before."""
        self._pieces(COUNTS, np.array(sent, "<i8"), COUNTS_EACH, comm)

    def targets(self, sent: Mapping[int, int], comm: int = WORLD) -> None:
        """Add the bytes to some ranks of the call before, by their rank in the world."""
        ranks = list(sent)
        for first in range(0, len(ranks), TARGETS_EACH):
            some = ranks[first : first + TARGETS_EACH]
            given = np.zeros(TARGETS_EACH, "<i8")
            given[: len(some)] = [sent[rank] for rank in some]
            self._record(TARGETS, 0, comm, given.tobytes() + np.array(some, "<i4").tobytes(), len(some))

    def communicator(self, number: int, uid: int, members: Sequence[int], parent: int = WORLD) -> None:
        """Define a communicator of these world ranks; ``uid`` is the same on all its ranks, and no other's."""
        mine = list(members).index(int(self.head["rank"]))
        fields = (COMMUNICATOR, 0, 0, number, mine, uid, len(members), parent, 0, 0, 0, 0)
        self.records.append(_COMMUNICATOR.pack(*fields))
        self._pieces(MEMBERS, np.array(members, "<i4"), MEMBERS_EACH, number)

    def site(self, number: int, text: str) -> None:
        """Define a call site."""
        raw = text.encode()
        for start in range(0, len(raw), TEXT_EACH):
            part = raw[start : start + TEXT_EACH]
            self._record(SITE, number, 0, part, len(part))

    def _pieces(self, call: int, values: Any, each: int, comm: int) -> None:
        for first in range(0, len(values), each):
            some = values[first : first + each]
            self._record(call, first, comm, some.tobytes(), len(some))

    def _record(self, call: int, site: int, comm: int, payload: bytes, valid: int) -> None:
        self.records.append(_DEFINED.pack(call, 0, site, comm, valid) + payload.ljust(RECORD_BYTES - PAYLOAD, b"\0"))

    def flush(self) -> None:
        """Write what is held."""
        with file_errors(self.path):
            written = b"".join(self.records)
            self._crc = zlib.crc32(written, self._crc)
            self._file.write(written)
            self.records.clear()
