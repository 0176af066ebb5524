# SPDX-License-Identifier: BSD-3-Clause
"""Reading a rank's trace, also one that was torn: what is whole is read, and what is missing or wrong is reported."""

import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import open_plain
from weft.format import plural
from weft.store.trace.layout import (
    CALLS,
    COMMUNICATOR,
    COMPLETE,
    COUNTS,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MEMBERS,
    NO_PEER,
    PROC_NULL,
    RANK_FILES,
    RECORD,
    RECORD_BYTES,
    SITE,
    TARGETS,
    VERSION,
    Flag,
    State,
)

Records: TypeAlias = NDArray[np.void]  # records of `layout.RECORD`, a structured array of shape (n,)
AT_ONCE = 1 << 18  # records read at a time: 16 MiB
MOST_RANKS = 1 << 24
REMEDY = "name a folder that the tracer wrote (WEFT_TRACE), or run: weft trace -o RUN -- mpirun ..."


CHANGED = "bring the original back, or take the trace again: weft trace -o RUN -- mpirun -n 4 ./application"


@dataclass(frozen=True)
class Header:
    """The head of a rank's trace."""

    rank: int
    ranks: int
    node: int
    local_rank: int
    state: State
    # opened_ns, closed_ns: on this rank's clock, integer ns; closed_ns is 0 in a trace without an end
    opened_ns: int
    closed_ns: int
    # line_local_ns, line_ns, line_drift: rank 0's clock is ``t + line_ns + line_drift (t - line_local_ns)`` at this
    # rank's time t in ns
    line_local_ns: int
    line_ns: int
    line_drift: float
    # residual_ns, uncertainty_ns: error of that line: found by check rounds, and half of the shortest round trips
    residual_ns: int
    uncertainty_ns: int
    # events, records: calls seen and records written, counted at the end; 0 in a trace without an end
    events: int
    records: int
    most_bytes: int
    cost_ns: float  # measured cost of the tracer for a call, ns; 0 if not measured
    pid: int
    host: str
    library: str
    # when the processors were looked at last, on this rank's clock; 0: never, and all that follows is unknown
    looked_ns: int
    # for how long the thread that called MPI_Init was runnable without a processor; -1 where the kernel is silent
    lost_ns: int
    # own_ns, busy_ns, steal_ns: processor time of this process, and of all on ``cpus``; what a hypervisor took of the
    # whole host
    own_ns: int
    busy_ns: int
    steal_ns: int
    # load, host_cpus, cpus: load average at MPI_Init; processors of the host, and those that this rank may run on:
    # ``0-3,8``
    load: float
    host_cpus: int
    cpus: str
    crc: int  # CRC-32 of the whole file with a zero in its place; 0 without State.SUMMED

    @property
    def is_closed(self) -> bool:
        """Whether the rank came to MPI_Finalize: nothing is written to its trace any more."""
        return State.CLOSED in self.state

    def on_rank_0s_clock(self, local_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of this rank's clock as those of rank 0's, shape (n,) as given, integer ns."""
        drifted = np.rint(self.line_drift * (local_ns - self.line_local_ns).astype(np.float64)).astype(np.int64)
        return local_ns + self.line_ns + drifted


@dataclass
class Damage:
    """What a trace lacks, filled in while it is read."""

    unclosed: bool = False
    cut_bytes: int = 0
    cut_records: int = 0
    wrong_records: int = 0
    with_others: bool = False

    def sentence(self, header: Header) -> str:
        """What is missing of the rank's trace, in words; empty if nothing is."""
        parts: list[str] = []
        if self.unclosed:
            parts.append("it ended without MPI_Finalize (killed, aborted, or still running)")
        if State.STOPPED in header.state:
            parts.append("the disk was full: what followed is missing")
        if self.cut_bytes:
            parts.append(f"the last {self.cut_bytes} bytes are no whole record")
        if self.cut_records:
            parts.append(f"its last {plural(self.cut_records, 'record')} are missing")
        if self.wrong_records:
            parts.append(f"{plural(self.wrong_records, 'damaged record')} left out")
        if self.with_others:
            parts.append("it talked to processes that are not in this trace (MPI_Comm_spawn, MPI_Comm_connect)")
        return f"rank {header.rank}: {'; '.join(parts)}" if parts else ""


def trace_files(folder: Path) -> list[Path]:
    """The ranks' files of a folder, by rank."""
    return sorted(folder.glob(RANK_FILES))


def read_header(path: Path) -> Header:
    """Read the head of a rank's trace; DataError if it cannot be read, is none, or of another version."""
    with file_errors(path), open_plain(path) as file:
        raw = file.read(HEADER_BYTES)
    if len(raw) < HEADER_BYTES or not raw.startswith(MAGIC):
        raise DataError(f"{path}: not a trace: its head of {HEADER_BYTES} bytes is missing or another's", REMEDY)
    head: Any = np.frombuffer(raw, HEADER)[0]
    sizes = (int(head["version"]), int(head["header_bytes"]), int(head["record_bytes"]))
    if sizes != (VERSION, HEADER_BYTES, RECORD_BYTES):
        raise DataError(
            f"{path}: version {sizes[0]} with heads of {sizes[1]} and records of {sizes[2]} bytes; this Weft reads "
            f"version {VERSION} ({HEADER_BYTES} and {RECORD_BYTES})",
            "read it with the Weft that wrote it",
        )
    rank, ranks = int(head["rank"]), int(head["ranks"])
    if not 0 <= rank < ranks <= MOST_RANKS or not np.isfinite(head["line_drift"]) or abs(head["line_drift"]) > 1:
        raise DataError(f"{path}: rank {rank} of {ranks} with a drift of {head['line_drift']}: damaged", REMEDY)
    numbers = {name: int(head[name]) for name in _INTEGERS}
    texts = {name: bytes(head[name]).decode("utf-8", "replace") for name in ("host", "library", "cpus")}
    cost, load = float(head["cost_ns"]), float(head["load"])
    rest: dict[str, Any] = {**numbers, **texts}
    return Header(
        state=State(int(head["state"]) & 63), line_drift=float(head["line_drift"]),
        cost_ns=cost if np.isfinite(cost) else 0.0, load=load if np.isfinite(load) else 0.0, **rest,
    )  # fmt: skip


_INTEGERS = (
    "rank", "ranks", "node", "local_rank", "opened_ns", "closed_ns", "line_local_ns", "line_ns", "residual_ns",
    "uncertainty_ns", "events", "records", "most_bytes", "pid", "looked_ns", "lost_ns", "own_ns", "busy_ns", "steal_ns",
    "host_cpus", "crc",
)  # fmt: skip


@dataclass
class RankTrace:
    """One rank's trace, read piece by piece."""

    path: Path
    header: Header
    damage: Damage = field(default_factory=Damage)  # what is missing, complete once `records` was read to its end

    @classmethod
    def open(cls, path: Path) -> "RankTrace":
        """Read the head of a file; DataError if it is no trace."""
        header = read_header(path)
        return cls(path, header, Damage(unclosed=not header.is_closed))

    def records(self, at_once: int = AT_ONCE) -> Iterator[Records]:
        """Yield plausible records as written, shape (n,), times in ns of this rank's clock.

        Raises DataError: the file cannot be read; or, at its end, the checksum that the tracer wrote is of other
        content.
        """
        self.damage.wrong_records = 0  # they are read more than once
        with file_errors(self.path), open_plain(self.path) as file:
            body_bytes = os.fstat(file.fileno()).st_size - HEADER_BYTES
            self.damage.cut_bytes = body_bytes % RECORD_BYTES
            self.damage.cut_records = max(0, self.header.records - body_bytes // RECORD_BYTES)
            crc = zlib.crc32(without_crc(file.read(HEADER_BYTES)))
            while raw := file.read(at_once * RECORD_BYTES):
                found = np.frombuffer(raw, RECORD, len(raw) // RECORD_BYTES)
                crc = zlib.crc32(raw, crc)
                used = found["call"] != 0  # reserved room that was never written
                good = used & plausible(found, self.header.ranks)
                self.damage.wrong_records += int(used.sum() - good.sum())
                yield found[good]
        summed = State.SUMMED in self.header.state or self.header.crc != 0
        if self.header.is_closed and summed and not self.damage.cut_records and crc != self.header.crc:
            raise DataError(f"{self.path}: damaged: its checksum is of other content", CHANGED)


def without_crc(head: bytes) -> bytes:
    """The bytes of a head with a zero in the place of the checksum."""
    return head[:CRC_AT] + bytes(4) + head[CRC_AT + 4 :]


def plausible(records: Records, ranks: int) -> NDArray[np.bool_]:
    """Whether each record, shape (n,), is of a known kind, with numbers that can be: true or false, shape (n,)."""
    call, peer = records["call"], records["peer"]
    inter = (records["flags"] & Flag.INTER) != 0
    right = (
        (records["end_ns"] >= records["begin_ns"]) & (records["bytes"] >= 0) & (records["received"] >= 0)
        & (peer >= PROC_NULL) & ((peer < ranks) | inter)
    )  # fmt: skip
    return np.where(_IS_EVENT[call], right, _IS_DEFINITION[call] & (peer >= NO_PEER))


def _marked(numbers: Iterable[int]) -> NDArray[np.bool_]:
    """True at these of the 65,536 numbers that a record's call may be."""
    marks = np.zeros(1 << 16, np.bool_)
    marks[list(numbers)] = True
    return marks


_IS_EVENT = _marked((COMPLETE, *CALLS))
_IS_DEFINITION = _marked((COUNTS, MEMBERS, SITE, COMMUNICATOR, TARGETS))


def is_event(call: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Whether each number, shape (n,), is that of an MPI call or a completion: true or false, shape (n,)."""
    return _IS_EVENT[call]
