# SPDX-License-Identifier: BSD-3-Clause
"""A trace's tables, and what it was converted from and to: changed ranks' files are refused, damaged tables remade."""

import os
import shlex
from pathlib import Path
from typing import Any, TypedDict

from weft.errors import DataError, NotThereError
from weft.files.atomic import file_checksum, guard, read_json, write_json
from weft.store.tables import Long, TableOf
from weft.store.trace.reader import read_header, trace_files

STAMP = "converted.json"
"""In ``tables``, written last. For each file its checksum, and what its inode says: unchanged, it is not read again."""
RAW, MADE, OPEN = "raw", "made", "open"
"""Entries of the stamp: ranks' files, files made of them, and names of ranks' files that had no end yet."""


class TraceRankRow(TypedDict):
    """A rank: where it ran, and what its trace lacks (``missing``, in words; empty if nothing). Times in ns;
    ``begin_ns`` and ``end_ns`` are its first and last on rank 0's clock, ``clock_error_ns`` is the residual of the
    clocks, ``cost_ns`` what the tracer costs a call. ``summarised`` calls are counted, but have no event of their own.
    ``cpus`` are those that the rank may run on, of the ``host_cpus``; ``load`` is the host's at MPI_Init. In
    ``looked_ns`` from there on the rank was runnable without a processor for ``lost_ns``, its process had ``own_ns`` of
    processor time, all on these processors ``busy_ns``, and a hypervisor took ``steal_ns`` of the host; null: unknown.
    """

    rank: int
    node: int
    host: str
    library: str
    events: Long
    summarised: Long
    begin_ns: Long
    end_ns: Long
    clock_error_ns: Long
    clock_shared: bool
    cost_ns: float
    closed: bool
    missing: str
    cpus: str
    host_cpus: int
    load: float
    looked_ns: Long | None
    lost_ns: Long | None
    own_ns: Long | None
    busy_ns: Long | None
    steal_ns: Long | None


class CommunicatorRow(TypedDict):
    """A communicator: ``comm`` is its number in all tables, ``parent`` that of its origin (-1: unknown)."""

    comm: int
    name: str
    size: int
    parent: int
    inter: bool


class MemberRow(TypedDict):
    """A member of a communicator, by its rank in it; those of the world are left out."""

    comm: int
    member: int
    rank: int


class SiteRow(TypedDict):
    """A call site: the function and its place in the program."""

    site: int
    text: str


TRACE_RANKS = TableOf("trace_ranks", TraceRankRow)
COMMUNICATORS = TableOf("trace_communicators", CommunicatorRow)
MEMBER_TABLE = TableOf("trace_members", MemberRow)
SITES = TableOf("trace_sites", SiteRow)
TABLES = (TRACE_RANKS, COMMUNICATORS, MEMBER_TABLE, SITES)
SCHEMA = "weft-trace/1"


class TraceFolder:
    """One traced run of an application, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.meta = self.path / "weft.json"
        self.raw = self.path / "raw"
        self.events = self.path / "events"
        self.counts = self.path / "counts"
        self.tables = self.path / "tables"

    @classmethod
    def open(cls, path: Path) -> "TraceFolder":
        """Open the folder of a trace, or of ranks' files alone (WEFT_TRACE); NotThereError, DataError."""
        folder = cls(path)
        if next(folder.raw.glob("rank-*.trace"), None) is None and not os.path.lexists(folder.meta):
            what = "does not exist" if not folder.path.exists() else "is not a trace: it has neither weft.json nor raw/"
            raise NotThereError(f"{folder.path} {what}", "weft trace -o RUN -- mpirun -n 4 ./application makes one")
        guard(folder.path)
        if not folder.meta.is_file():
            return folder
        schema = folder.metadata().get("schema")
        if schema != SCHEMA:
            problem = f"{folder.path} is not a trace: its weft.json says {schema!r}, a trace's {SCHEMA!r}"
            raise NotThereError(problem, f"for a run of a study: weft show {folder.path}")
        return folder

    def metadata(self) -> dict[str, Any]:
        """Entries of ``weft.json``; none where there is no such file. DataError if it is torn."""
        return read_json(self.meta) if self.meta.is_file() else {}

    def describe(self, **entries: Any) -> None:
        """Write ``weft.json`` with these entries added. DataError if the disk is full."""
        write_json(self.meta, {"schema": SCHEMA, **self.metadata(), **entries})


def stamp_of_raw(folder: TraceFolder) -> dict[str, Any]:
    """The part of a stamp on ranks' files; taken before they are read, as one may be written meanwhile."""
    paths = trace_files(folder.raw)
    return {
        OPEN: [path.name for path in paths if not read_header(path).is_closed],
        RAW: {path.name: _mark(path) for path in paths},
    }


def write_stamp(folder: TraceFolder, of_raw: dict[str, Any]) -> None:
    """Write the stamp of a trace whose files are all made; DataError if the disk is full."""
    tables = [table.path(folder.path) for table in TABLES]
    made = sorted([*folder.events.glob("*.parquet"), *folder.counts.glob("*.parquet"), *tables])
    marks = {str(path.relative_to(folder.path)): _mark(path) for path in made}
    write_json(folder.tables / STAMP, {**of_raw, MADE: marks})


def is_converted(folder: TraceFolder) -> bool:
    """Whether tables are of the ranks' files as they are; DataError for a damaged file, or one changed since."""
    if not all(table.is_current(folder.path) for table in TABLES):
        return False
    raw = trace_files(folder.raw)
    try:
        noted = read_json(folder.tables / STAMP)
        known, made, unfinished = noted[RAW], noted[MADE], noted[OPEN]
        changed = [path for path in raw if not _is_same(path, known.get(path.name))]
        damaged = [name for name, mark in made.items() if not _is_same(folder.path / name, mark)]
        closed = [path for path in changed if path.name in known and path.name not in unfinished]
    except (DataError, LookupError, TypeError, AttributeError):
        return not raw  # an earlier Weft has converted it, and wrote none
    if closed:
        made_of = shlex.join(map(str, (folder.events, folder.counts, folder.tables)))
        what = f"{closed[0]} was changed since the trace was converted: its checksum is of other content"
        raise DataError(what, f"bring the original back; or, if this file is right: rm -r {made_of}")
    if damaged and not raw:
        raise DataError(
            f"{folder.path / damaged[0]} is damaged, and {folder.raw} has no rank's file to make it of again",
            "bring the original back, or take the trace again: weft trace -o RUN -- mpirun -n 4 ./application",
        )
    return not changed and not damaged


def _mark(path: Path) -> list[Any]:
    """A file's checksum, and what no write to it leaves as it was: a trace of gigabytes takes seconds to read."""
    return [file_checksum(path), *_inode(path)]


def _inode(path: Path) -> list[int]:
    status = path.stat(follow_symlinks=False)
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _is_same(path: Path, mark: Any) -> bool:
    try:
        return mark is not None and (_inode(path) == mark[1:] or file_checksum(path) == mark[0])
    except OSError:
        return False
