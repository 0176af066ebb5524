# SPDX-License-Identifier: BSD-3-Clause
"""Events of a trace rank by rank, its communicators, and what it sent to whom."""

import shlex
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from weft.analyse.tables.traces import MATRIX
from weft.analyse.trace import ensure_trace_tables
from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import plain_file
from weft.run.refresh import describe_problem, unfit
from weft.store.tables import read_parquet
from weft.store.trace.convert import rank_files
from weft.store.trace.folder import COMMUNICATORS, MEMBER_TABLE, TRACE_RANKS, TraceFolder
from weft.store.trace.layout import COMPLETE, NUMBERS
from weft.store.trace.script import LAYER, SELF, WORLD
from weft.trace.take import bring_in

AT_ONCE = 1 << 14
ALONE = 1  # number of MPI_COMM_SELF, behind that of the world: their members are in no table
Columns = dict[str, npt.NDArray[Any]]
MOST_LAYERS = 1_000
NAMED = {"MPI_COMM_WORLD": WORLD, "MPI_COMM_SELF": SELF}
MOST_RANKS = 8192
ALL_TO_ALLS = ("MPI_Alltoall", "MPI_Ialltoall")


class Event(NamedTuple):
    """One call of a rank, or the completion of a request; fields as in ``events/*.parquet``."""

    event: int
    call: str
    begin_ns: int
    end_ns: int
    peer: int
    tag: int
    bytes: int
    received: int
    comm: int
    request: int
    flags: int
    thread: int


@dataclass(frozen=True)
class Group:
    """A communicator: its world ranks by rank in it; of the world, and of a rank alone, None."""

    name: str
    size: int
    members: tuple[int, ...] | None
    inter: bool

    def place(self, world_rank: int) -> int:
        """Rank in it of a world rank; -1 if it is no member, or not known to be one."""
        if self.members is None:
            return world_rank if self.size > 1 else 0
        return self.members.index(world_rank) if world_rank in self.members else -1


def groups_of(folder: TraceFolder) -> dict[int, Group]:
    """The communicators of a trace by number. Raises DataError: A table is missing or torn."""
    member = {(row["comm"], row["member"]): row["rank"] for row in MEMBER_TABLE.read(folder.path)}
    found: dict[int, Group] = {}
    for row in COMMUNICATORS.read(folder.path):
        comm, size = row["comm"], row["size"]
        listed = tuple(member.get((comm, place), -1) for place in range(size)) if comm > ALONE else None
        found[comm] = Group(row["name"], size, listed, row["inter"])
    return found


def ranks_columns(folder: TraceFolder) -> Iterator[tuple[int, Columns]]:
    """Each rank with its events as columns of :class:`Event`, shape (events,); one file is in memory at a time."""
    for path in rank_files(folder.events):
        with file_errors(path):
            table = read_parquet(path, ["rank", *Event._fields]).unify_dictionaries()
        if not len(table):
            continue
        columns = {name: table[name].to_numpy() for name in ("rank", *Event._fields) if name != "call"}
        call: Any = table["call"].combine_chunks()  # pyarrow's stubs do not know its dictionary
        known = np.array([NUMBERS.get(name, COMPLETE) for name in call.dictionary.to_pylist()], np.int64)
        columns["call"] = known[call.indices.to_numpy()]
        ranks = columns.pop("rank")
        for begin, end in pairwise([0, *(np.flatnonzero(np.diff(ranks)) + 1), len(ranks)]):
            yield int(ranks[begin]), {name: column[begin:end] for name, column in columns.items()}


def each_event(folder: TraceFolder) -> Iterator[tuple[int, Event]]:
    """Each event with its rank, rank by rank in order; some thousands are in memory at a time."""
    for path in rank_files(folder.events):
        with file_errors(path):
            for batch in pq.ParquetFile(plain_file(path)).iter_batches(AT_ONCE, columns=["rank", *Event._fields]):
                columns = [batch.column(name).to_pylist() for name in Event._fields]
                yield from zip(batch.column("rank").to_pylist(), map(Event, *columns), strict=True)


def counts_of(folder: TraceFolder) -> dict[tuple[int, int], dict[int, int]]:
    """Bytes that a call gives to each world rank, by (rank, number of the event); zeros are left out."""
    found: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for path in rank_files(folder.counts):
        with file_errors(path):
            for row in read_parquet(path).to_pylist():
                found[row["rank"], row["event"]][row["peer"]] = row["bytes"]
    return found


@contextmanager
def reading_trace(run: Path) -> Generator[None, None, None]:
    """Turn what comes of edited or missing files of a trace into one message: DataError."""
    try:
        yield
    except unfit() as problem:
        if isinstance(problem, OSError) and isinstance(problem.filename, str):
            raise  # of a file that is written
        folder = TraceFolder(run)
        made = shlex.join(str(place) for place in (folder.events, folder.counts, folder.tables) if place.exists())
        anew = f"rm -r {made}, then the same command makes them anew from {folder.raw}"
        none = "take the trace again: weft trace -o RUN -- mpirun -n 4 ./application"
        raise DataError(
            f"{run}: the files of the trace do not fit together: {describe_problem(problem)}",
            (anew if folder.raw.is_dir() and made else none)
            + "; if this error comes again, it is a mistake in Weft: report it with these lines",
        ) from problem


@dataclass(frozen=True)
class Layers:
    """Splits of all ranks, each of disjoint communicators."""

    tables: list[npt.NDArray[Any]]  # for each layer an array of LAYER with an entry for each rank
    of: dict[int, int]  # ``comm`` of an action on a communicator: 0 for the world, -1 for a rank alone, k for layer k


def layers_of(groups: Mapping[int, Group], ranks: int) -> Layers:
    """The layers of communicators. Raises DataError: There are more layers than a script holds."""
    tables: list[npt.NDArray[Any]] = []
    of = {comm: NAMED[group.name] for comm, group in groups.items() if group.name in NAMED}
    for comm, group in groups.items():
        if group.name in NAMED or group.inter or min(group.members or (), default=-1) < 0:
            continue
        own = np.array(group.members)
        free = next((place for place, table in enumerate(tables) if (table["color"][own] < 0).all()), len(tables))
        if free == MOST_LAYERS:
            raise DataError(
                f"the trace has more than {MOST_LAYERS:,} communicators that share ranks",
                "trace a shorter run, or one that frees and makes fewer communicators",
            )
        if free == len(tables):
            tables.append(np.full(ranks, np.array((-1, 0), LAYER)))
        tables[free]["color"][own] = comm
        tables[free]["key"][own] = np.arange(len(own))
        of[comm] = free + 1
    return Layers(tables, of)


def traffic_of_trace(run: Path) -> npt.NDArray[np.float64]:
    """Bytes from each rank (rows) to each other, without collectives whose pairs the library chooses; DataError."""
    with reading_trace(run):
        folder = TraceFolder.open(run)
        bring_in(folder)
        ensure_trace_tables(folder)
        ranks = 1 + max((row["rank"] for row in TRACE_RANKS.read(folder.path)), default=-1)
        if ranks > MOST_RANKS:
            most = f"a traffic matrix has {MOST_RANKS:,} at most"
            raise DataError(f"{folder.path} has {ranks:,} ranks; {most}", "trace fewer ranks")
        sent = np.zeros((ranks, ranks))
        for row in MATRIX.read(folder.path):
            if 0 <= row["rank"] < ranks and 0 <= row["peer"] < ranks:
                sent[row["rank"], row["peer"]] += row["bytes"]
    np.fill_diagonal(sent, 0)
    if not sent.any():
        raise DataError(
            f"{run} has no messages from one rank to another",
            "trace an application that sends some; collective calls other than all-to-alls are not in the matrix",
        )
    return sent


def block_sizes_of_trace(run: Path) -> list[int]:
    """Bytes of a block in a trace's all-to-alls, ascending, each once; DataError without one."""
    with reading_trace(run):
        folder = TraceFolder.open(run)
        bring_in(folder)
        sizes = {number: group.size for number, group in groups_of(folder).items()}
        found = {
            event.bytes // sizes[event.comm]
            for _, event in each_event(folder)
            if event.call in ALL_TO_ALLS and event.bytes > 0 and sizes.get(event.comm, 0) > 1
        }
    if not found:
        raise DataError(
            f"{run} has no MPI_Alltoall with data", "give the sizes of blocks: weft tune --sizes 1KiB 64KiB"
        )
    return sorted(found)
