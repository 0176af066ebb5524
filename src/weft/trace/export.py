# SPDX-License-Identifier: BSD-3-Clause
"""A trace for other tools: an archive of OTF2 (a location a thread, a region a call), or JSON for Perfetto."""

import io
import json
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.errors import DataError
from weft.extras import pip_install
from weft.files.atomic import file_errors, new_folder, own_file
from weft.files.beneath import plain_file
from weft.store.trace.convert import rank_files
from weft.store.trace.folder import SITES, TRACE_RANKS, TraceFolder, TraceRankRow
from weft.store.trace.layout import COLLECTIVES, FINISH, STARTED_COLLECTIVES, Flag
from weft.trace.actions import sends
from weft.trace.events import Event, Group, each_event, groups_of

NO_ROOT = 0xFFFFFFFF  # the root of an operation without one
AT_ONCE = 1 << 16


def otf2() -> Any:
    """The package. Raises DataError: It is not installed."""
    try:
        return import_module("otf2")
    except (ImportError, OSError) as error:
        raise DataError(
            f"reading and writing OTF2 takes the Python package otf2, and there is none ({error})", pip_install("otf2")
        ) from error


@contextmanager
def as_data_errors(path: Path, doing: str, remedy: str) -> Generator[None, None, None]:
    """Errors of the package, whatever its Python meets in torn or foreign files, as DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        said = str(error).strip().splitlines()
        raise DataError(f"{path}: {doing}: {said[0] if said else type(error).__name__}", remedy) from error


def write_otf2(folder: TraceFolder, path: Path) -> int:
    """Write all calls, threads as locations, to ``path/traces.otf2``; how many. StudyError, DataError."""
    package = otf2()
    new_folder(path, "weft trace export RUN DIR --to otf2")
    try:
        with as_data_errors(path, "the archive cannot be written", "is there room, and may you write there? df -h ."):
            writer = package.writer.open(str(path), archive_name="traces", timer_resolution=1_000_000_000)
            with writer as archive:
                return _Archive(package, archive, TRACE_RANKS.read(folder.path), groups_of(folder)).write(folder)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


class _Archive:
    """The definitions of an archive, and its locations in the making."""

    def __init__(self, package: Any, archive: Any, rows: list[TraceRankRow], groups: Mapping[int, Group]) -> None:
        self.package, self._archive, self.groups = package, archive, groups
        self._made = made = archive.definitions
        machine = made.system_tree_node("machine", class_name="machine")
        nodes: dict[str, Any] = {}
        self._processes: dict[int, Any] = {}
        self._threads: dict[tuple[int, int], _Location] = {}
        self._regions: dict[str, Any] = {}
        for row in sorted(rows, key=lambda row: row["rank"]):
            if row["host"] not in nodes:
                nodes[row["host"]] = made.system_tree_node(row["host"], class_name="node", parent=machine)
            name, node = f"rank {row['rank']}", nodes[row["host"]]
            self._processes[row["rank"]] = made.location_group(name, system_tree_parent=node)
        self._first = {rank: self._location(rank, 0) for rank in self._processes}
        self._comms = self._communicators()

    def _location(self, rank: int, thread: int) -> Any:
        name = f"thread {thread}" if thread else "master thread"
        return self._made.location(f"{name} of rank {rank}", group=self._processes[rank])

    def _communicators(self) -> dict[int, Any]:
        kinds, mpi, made = self.package.GroupType, self.package.Paradigm.MPI, self._made
        whole = tuple(self._first[rank] for rank in sorted(self._first))
        made.group("all ranks", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=whole)
        alone = made.group("MPI_COMM_SELF", group_type=kinds.COMM_SELF, paradigm=mpi, members=())
        found: dict[int, Any] = {}
        for number, group in self.groups.items():
            if group.name == "MPI_COMM_SELF":
                found[number] = made.comm(group.name, group=alone)
            elif not group.inter:
                ranks = sorted(self._first) if group.members is None else group.members
                inside = tuple(self._first[rank] for rank in ranks if rank in self._first)
                its = made.group(group.name, group_type=kinds.COMM_GROUP, paradigm=mpi, members=inside)
                found[number] = made.comm(group.name, group=its)
        return found

    def comm(self, number: int) -> Any:
        return self._comms.get(number) or self._comms[0]  # the world's for one that is not known

    def region(self, name: str) -> Any:
        if name not in self._regions:
            roles, mpi = self.package.RegionRole, self.package.Paradigm.MPI
            together = name in COLLECTIVES or name in STARTED_COLLECTIVES
            role = roles.BARRIER if name == "MPI_Barrier" else roles.COLL_OTHER if together else roles.POINT2POINT
            self._regions[name] = self._made.region(name, region_role=role, paradigm=mpi)
        return self._regions[name]

    def write(self, folder: TraceFolder) -> int:
        for rank, event in each_event(folder):
            if not event.flags & Flag.SUMMARY and rank in self._processes:
                if (key := (rank, event.thread)) not in self._threads:
                    place = self._location(*key) if event.thread else self._first[rank]
                    self._threads[key] = _Location(self, self._archive.event_writer_from_location(place))
                self._threads[key].add(event)
        for thread in self._threads.values():
            thread.leave()
        return sum(thread.calls for thread in self._threads.values())


class _Location:
    """The events of a thread: a call is left when the next one begins, because its completions follow it."""

    def __init__(self, archive: _Archive, writer: Any) -> None:
        self._archive, self._writer = archive, writer
        self._open: Event | None = None
        self._starts, self._sent, self._started = list[Event](), set[int](), dict[int, Event]()
        self._at_ns = self.calls = 0

    def add(self, event: Event) -> None:
        """Write an event; starts of persistent requests wait for the MPI_Startall that made them."""
        if event.call == FINISH:
            self._completed(event)
            return
        self.leave()
        if event.call == "MPI_Start":
            self._starts.append(event)
            return
        together, self._starts = self._starts, []
        inside = event.call == "MPI_Startall" and bool(together) and together[0].begin_ns >= event.begin_ns
        for start in () if inside else together:
            self._enter(start)
            self.leave()
        self._enter(event)
        for start in together if inside else ():
            self._inside(start)
            self.calls += 1

    def leave(self) -> None:
        if (event := self._open) is None:
            return
        at = self._until(event.end_ns)
        if event.call in COLLECTIVES and not event.flags & Flag.INTER:
            self._writer.mpi_collective_end(at, *self._operation(event))
        elif event.call in ("MPI_Recv", "MPI_Mrecv") and event.peer >= 0 and not event.flags & Flag.INTER:
            self._writer.mpi_recv(at, *self._message(event), event.received)
        self._writer.leave(at, self._archive.region(event.call))
        self._open = None

    def _enter(self, event: Event) -> None:
        self.calls += 1
        self._writer.enter(self._until(event.begin_ns), self._archive.region(event.call))
        self._open = event
        self._inside(event)

    def _inside(self, event: Event) -> None:
        at = self._at_ns
        if event.flags & Flag.INTER:
            return  # the format has other definitions for two groups
        if event.call in STARTED_COLLECTIVES:
            if event.request:
                self._started[event.request] = event
                self._writer.non_blocking_collective_request(at, event.request)
        elif event.call in COLLECTIVES:
            self._writer.mpi_collective_begin(at)
        elif sends(event) and event.peer >= 0:
            what = (at, *self._message(event), event.bytes)
            if event.request:
                self._sent.add(event.request)
                self._writer.mpi_isend(*what, event.request)
            else:
                self._writer.mpi_send(*what)
        elif event.request and (event.call in ("MPI_Irecv", "MPI_Imrecv") or event.flags & Flag.RECEIVE):
            self._writer.mpi_irecv_request(at, event.request)

    def _completed(self, event: Event) -> None:
        at = self._until(event.end_ns)
        if event.flags & Flag.INTER:
            return
        if event.flags & Flag.CANCELLED:
            self._writer.mpi_request_cancelled(at, event.request)
        elif event.flags & Flag.RECEIVE:
            if event.peer >= 0 and event.request:
                self._writer.mpi_irecv(at, *self._message(event), event.received, event.request)
            elif event.peer >= 0:
                self._writer.mpi_recv(at, *self._message(event), event.received)
        elif event.request in self._sent:
            self._sent.remove(event.request)
            self._writer.mpi_isend_complete(at, event.request)
        elif start := self._started.pop(event.request, None):
            self._writer.non_blocking_collective_complete(at, *self._operation(start), event.request)

    def _operation(self, event: Event) -> tuple[Any, Any, int, int, int]:
        root, op = NO_ROOT if event.peer < 0 else self._place(event), event.call.removeprefix("MPI_").upper()
        kind = getattr(self._archive.package.CollectiveOp, op[1:] if event.call in STARTED_COLLECTIVES else op)
        return kind, self._archive.comm(event.comm), root, event.bytes, event.received

    def _message(self, event: Event) -> tuple[int, Any, int]:
        return self._place(event), self._archive.comm(event.comm), max(event.tag, 0)

    def _place(self, event: Event) -> int:
        return max(self._archive.groups[event.comm].place(event.peer), 0) if event.comm >= 0 else event.peer

    def _until(self, time_ns: int) -> int:
        """A time that is no earlier than that of the event before, as the format wants it."""
        self._at_ns = max(self._at_ns, time_ns)
        return self._at_ns


def write_perfetto(folder: TraceFolder, path: Path) -> int:
    """Write all calls but summaries as trace events in us since the first; how many. DataError."""
    sites = {row["site"]: row["text"] for row in SITES.read(folder.path)}
    if not (rows := TRACE_RANKS.read(folder.path)):
        raise DataError(f"{folder.path} has no rank", "weft trace -o RUN -- mpirun -n 4 ./application makes a trace")
    first = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    part = path.with_name(path.name + ".part")
    with file_errors(path):
        with own_file(part) as raw:
            out = io.TextIOWrapper(raw, encoding="utf-8")
            out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            named = ((row["rank"], {"name": f"rank {row['rank']} on {row['host']}"}) for row in rows)
            names = ({"ph": "M", "name": "process_name", "pid": rank, "args": name} for rank, name in named)
            out.write(",\n".join(map(json.dumps, names)))
            count = 0
            for event in _events(folder, first, sites):
                out.write(",\n" + json.dumps(event))
                count += 1
            out.write("\n]}\n")
            out.flush()
        part.replace(path)
    return count


def _events(folder: TraceFolder, first_ns: int, sites: dict[int, str]) -> Iterator[dict[str, Any]]:
    for path in rank_files(folder.events):
        for batch in pq.ParquetFile(plain_file(path)).iter_batches(AT_ONCE):
            for row in batch.to_pylist():
                if row["call"] == FINISH or row["flags"] & Flag.SUMMARY:
                    continue
                fields = {key: row[key] for key in ("bytes", "received", "peer", "tag", "comm", "request")}
                yield {
                    "ph": "X", "name": row["call"], "cat": "MPI", "pid": row["rank"], "tid": row["thread"],
                    "ts": (row["begin_ns"] - first_ns) / 1000, "dur": (row["end_ns"] - row["begin_ns"]) / 1000,
                    "args": {**fields, "site": sites.get(row["site"], "")},
                }  # fmt: skip
