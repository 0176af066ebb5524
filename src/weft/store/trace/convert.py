# SPDX-License-Identifier: BSD-3-Clause
"""From the ranks' records to Parquet: events and counts piece by piece, the small tables at the end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from weft.errors import DataError
from weft.files.atomic import try_remove
from weft.store.tables import Column, Schema, Table, write_parquet
from weft.store.trace import folder as on_disk
from weft.store.trace import layout
from weft.store.trace.folder import CommunicatorRow, TraceFolder, TraceRankRow
from weft.store.trace.layout import Flag, State
from weft.store.trace.reader import Definitions, Header, RankTrace, Records, is_event, trace_files

MOST_LISTED = 1 << 20
RANKS_A_FILE = 64  # ranks whose events stand in one Parquet file
EVENTS = pa.schema(
    [
        ("rank", pa.int32()), ("event", pa.int64()), ("call", pa.dictionary(pa.int32(), pa.string())),
        ("begin_ns", pa.int64()), ("end_ns", pa.int64()), ("peer", pa.int32()), ("tag", pa.int32()),
        ("bytes", pa.int64()), ("received", pa.int64()), ("comm", pa.int32()), ("site", pa.int32()),
        ("request", pa.int64()), ("calls", pa.int64()), ("seconds_ns", pa.int64()), ("flags", pa.int32()),
        ("thread", pa.int32()), ("computed_ns", pa.int64()),
    ]
)  # fmt: skip
COUNT_ROWS = pa.schema([("rank", pa.int32()), ("event", pa.int64()), ("peer", pa.int32()), ("bytes", pa.int64())])
DIFFERENCES = ("event", "begin_ns", "end_ns", "computed_ns")
NAMES = pa.array([layout.FINISH, *layout.CALLS.values()], pa.string())
_PLACE = np.zeros(max(layout.CALLS) + 1, np.int32)
_PLACE[list(layout.CALLS)] = np.arange(1, len(layout.CALLS) + 1)


@dataclass
class Numbers:
    """Communicators and call sites of all ranks, numbered anew: ranks number their own."""

    communicators: list[CommunicatorRow] = field(default_factory=list[CommunicatorRow])
    members: list[Table] = field(default_factory=list[Table])
    sites: dict[str, int] = field(default_factory=lambda: {"": 0})
    _of_uid: dict[int, int] = field(default_factory=dict[int, int])

    def comm(self, own: Definitions, mine: int) -> int:
        """The common number of a rank's communicator, asked for when an event uses it; -1 if never defined."""
        found = own.communicators.get(mine)
        if found is None:
            return -1
        if mine == layout.SELF:  # each rank has its own, and nobody asks which
            found.uid = layout.SELF
        if found.uid in self._of_uid:
            return self._of_uid[found.uid]
        number = self._of_uid[found.uid] = len(self.communicators)
        above = own.communicators.get(found.parent)
        parent = self._of_uid.get(above.uid, -1) if above else -1
        name = {layout.WORLD: "MPI_COMM_WORLD", layout.SELF: "MPI_COMM_SELF"}.get(mine, f"communicator {number}")
        row = CommunicatorRow(comm=number, name=name, size=found.size, parent=parent, inter=found.inter)
        self.communicators.append(row)
        if mine not in (layout.WORLD, layout.SELF):
            places, ranks = found.known()
            self.members.append(
                _table([np.full(len(places), number, np.int32), places, ranks], on_disk.MEMBER_TABLE.schema)
            )
        return number

    def site(self, own: Definitions, mine: int) -> int:
        """The common number of a call site of a rank; 0 for one that it never defined."""
        return self.sites.setdefault(own.sites.get(mine, ""), len(self.sites))


def convert_trace(folder: TraceFolder) -> None:
    """Write a trace's events, counts and tables from its ranks' files, piece by piece; DataError for bad files."""
    traces = [RankTrace.open(path) for path in trace_files(folder.raw)]
    if not traces:
        what = f"{folder.raw} has no trace of any rank"
        raise DataError(what, "did the application call MPI_Init? its MPI must be that of --mpicxx, see weft doctor")
    jobs = {trace.header.ranks for trace in traces}
    twice = len(traces) - len({trace.header.rank for trace in traces})
    if len(jobs) > 1 or twice:
        what = f"{folder.raw} mixes several jobs: of {sorted(jobs)} ranks, {twice} ranks twice"
        raise DataError(what, "give each job a folder of its own")
    try_remove(folder.tables / on_disk.STAMP)
    of_raw = on_disk.stamp_of_raw(folder)
    numbers, rows = Numbers(), list[TraceRankRow]()
    for first in range(0, len(traces), RANKS_A_FILE):
        several = traces[first : first + RANKS_A_FILE]
        name = f"{several[0].header.rank:07d}.parquet"
        ranks = [_Rank(trace, numbers) for trace in several]
        events = (table for rank in ranks for table in rank.events())
        write_parquet(folder.events / name, events, EVENTS, "weft-events/1", differences=DIFFERENCES)
        counts = (table for rank in ranks for table in rank.counts())
        write_parquet(folder.counts / name, counts, COUNT_ROWS, "weft-counts/1", differences=("event",))
        rows += [rank.row() for rank in ranks]
    on_disk.COMMUNICATORS.write(folder.path, numbers.communicators)
    on_disk.MEMBER_TABLE.write_tables(folder.path, numbers.members)
    on_disk.SITES.write(folder.path, [{"site": number, "text": text} for text, number in numbers.sites.items()])
    on_disk.TRACE_RANKS.write(folder.path, rows)
    on_disk.write_stamp(folder, of_raw)


class _Rank:
    def __init__(self, trace: RankTrace, numbers: Numbers) -> None:
        self.trace, self.numbers, self.own = trace, numbers, Definitions.of(trace.header)
        self.written, self.summarised, self.begin_ns, self.end_ns, self.inside_ns = 0, 0, 0, 0, 0
        self.base_ns: int | None = None
        self.has_counts = False
        for mine in (layout.WORLD, layout.SELF):
            numbers.comm(self.own, mine)

    def events(self) -> Iterator[Table]:
        """Rows of EVENTS."""
        for records in self.trace.records():
            self.own.read(records, self.trace.header.ranks)
            event = is_event(records["call"])
            self.has_counts |= bool(np.isin(records["call"][~event], (layout.COUNTS, layout.TARGETS)).any())
            events = records if event.all() else records[event]
            if len(events):
                yield self._table(events)
        self.trace.with_others = self.own.with_others
        for mine in sorted(self.own.communicators):
            self.numbers.comm(self.own, mine)

    def _table(self, events: Records) -> Table:
        header = self.trace.header
        begin, end = (header.on_rank_0s_clock(events[name]) for name in ("begin_ns", "end_ns"))
        summary = (events["flags"] & Flag.SUMMARY) != 0
        polls = (events["flags"] & Flag.UNFINISHED) != 0
        total = (events["thread"].astype(np.int64) << 32) | events["tag"].astype(np.uint32).astype(np.int64)
        calls = np.where(summary | polls, events["request"], 1).astype(np.int64)
        first = self.written
        self.begin_ns = min(int(begin.min()), self.begin_ns) if first else int(begin.min())
        self.end_ns = max(int(end.max()), self.end_ns) if first else int(end.max())
        self.written += len(events)
        self.summarised += int(calls[summary].sum())
        self.base_ns = int(begin[0]) if self.base_ns is None else self.base_ns
        took = np.where(summary, total, end - begin)
        ended = events["call"] == layout.COMPLETE
        took_inside = np.where(ended, 0, took)
        inside = self.inside_ns + np.cumsum(took_inside)
        self.inside_ns = int(inside[-1])
        columns = [
            np.full(len(events), header.rank, np.int32), np.arange(first, self.written),
            pa.DictionaryArray.from_arrays(_PLACE[np.where(ended, 0, events["call"])], NAMES),
            begin, end, events["peer"], np.where(summary, 0, events["tag"]), events["bytes"], events["received"],
            _mapped(events["comm"], lambda mine: self.numbers.comm(self.own, mine)),
            _mapped(events["site"], lambda mine: self.numbers.site(self.own, mine)),
            np.where(summary | polls, 0, events["request"]).astype(np.int64), calls,
            took, events["flags"].astype(np.int32), np.where(summary, 0, events["thread"]).astype(np.int32),
            np.where(ended, end, begin + took_inside) - self.base_ns - inside,
        ]  # fmt: skip
        return _table(columns, EVENTS)

    def counts(self) -> Iterator[Table]:
        """Rows of COUNT_ROWS, with peers as world ranks; counts of zero are left out. Once `events` was read."""
        if not self.has_counts:
            return
        before = 0
        for records in self.trace.records():
            event = before + np.cumsum(is_event(records["call"])) - 1
            before = int(event[-1]) + 1 if len(event) else before
            of_counts, of_targets = (records["call"] == kind for kind in (layout.COUNTS, layout.TARGETS))
            if of_counts.any():
                yield self._count_table(records[of_counts], event[of_counts])
            if of_targets.any():
                yield self._target_table(records[of_targets], event[of_targets])

    def _count_table(self, records: Records, event: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Table:
        sent = _payload(records).view("<i8")
        member = records["site"].astype(np.int64)[:, None] + np.arange(layout.COUNTS_EACH)
        used = (np.arange(layout.COUNTS_EACH) < records["peer"][:, None]) & (sent > 0)
        peer = np.full(member.shape, -1, np.int32)
        for comm in np.unique(records["comm"]):
            if found := self.own.communicators.get(int(comm)):
                world = found.world_ranks()
                inside = (records["comm"] == comm)[:, None] & (member < len(world))
                peer[inside] = world[member[inside]]
        return self._counted(event, used & (peer >= 0), peer, sent)

    def _target_table(self, records: Records, event: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Table:
        raw, whole = _payload(records), layout.TARGETS_EACH * np.dtype(np.int64).itemsize
        sent = np.ascontiguousarray(raw[:, :whole]).view("<i8")
        peer = np.ascontiguousarray(raw[:, whole:]).view("<i4")
        used = (np.arange(layout.TARGETS_EACH) < records["peer"][:, None]) & (sent > 0)
        return self._counted(event, used & (peer >= 0) & (peer < self.trace.header.ranks), peer, sent)

    def _counted(self, event: Any, used: Any, peer: Any, sent: Any) -> Table:
        rank = np.full(int(used.sum()), self.trace.header.rank, np.int32)
        return _table([rank, np.broadcast_to(event[:, None], used.shape)[used], peer[used], sent[used]], COUNT_ROWS)

    def row(self) -> TraceRankRow:
        """The rank's row, once its events are written."""
        header = self.trace.header
        return TraceRankRow(
            rank=header.rank, node=header.node, host=header.host, library=header.library, events=self.written,
            summarised=self.summarised, begin_ns=self.begin_ns, end_ns=self.end_ns, clock_error_ns=header.residual_ns,
            clock_shared=State.SHARED_CLOCK in header.state, cost_ns=header.cost_ns, closed=header.is_closed,
            missing=self.trace.missing(), cpus=header.cpus, host_cpus=header.host_cpus, load=header.load,
            **_looked(header),
        )  # fmt: skip


def _looked(header: Header) -> dict[str, Any]:
    """What the processors did until they were looked at last; null where that is unknown."""
    names = ("looked_ns", "lost_ns", "own_ns", "busy_ns", "steal_ns")
    if header.looked_ns <= header.opened_ns:
        return dict.fromkeys(names)
    own = {name: getattr(header, name) for name in names} | {"looked_ns": header.looked_ns - header.opened_ns}
    return own | ({"lost_ns": None} if header.lost_ns < 0 else {})


def _payload(records: Records) -> Any:
    raw = np.frombuffer(records.tobytes(), np.uint8).reshape(-1, layout.RECORD_BYTES)
    return np.ascontiguousarray(raw[:, layout.PAYLOAD :])


def _table(columns: list[Any], schema: Schema) -> Table:
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=schema)


def _mapped(numbers: np.ndarray[tuple[int], np.dtype[np.uint32]], common: Callable[[int], int]) -> Column:
    most = int(numbers.max(initial=0))
    if most < MOST_LISTED:  # by a list of all: sorting them takes a fifth of the whole conversion
        listed = np.zeros(most + 1, np.int32)
        for each in np.flatnonzero(np.bincount(numbers)).tolist():
            listed[each] = common(each)
        return pa.array(listed[numbers])
    distinct, where = np.unique(numbers, return_inverse=True)
    return pa.array(np.array([common(int(each)) for each in distinct], np.int32)[where])


def rank_files(place: Path) -> list[Path]:
    """The Parquet files of a trace's ``events`` or ``counts``, by their first rank; LookupError if one is missing.
    Others beside those that the ranks' table stands for are nobody's, and stay unread.
    """
    ranks = sorted(row["rank"] for row in on_disk.TRACE_RANKS.read(place.parent))
    found = [place / f"{first:07d}.parquet" for first in ranks[::RANKS_A_FILE]]
    if missing := [path for path in found if not path.is_file()]:
        raise LookupError(f"{missing[0]} is missing")
    return found
