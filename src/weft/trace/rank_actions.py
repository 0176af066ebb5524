# SPDX-License-Identifier: BSD-3-Clause
"""From a trace to the script of its replay: who sends what to whom, in which order, after how much computation.
A first pass over all ranks collects what a rank's own events do not tell: which messages were both sent and received,
and the counts of vector calls at the ranks that only receive. A second one writes each rank's actions.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.store.trace.layout import CALLS, COMPLETE, PROC_NULL
from weft.store.trace.script import ACTION, DIRECT, Act, RankScript, write_script
from weft.trace import actions
from weft.trace.actions import DONE, STEPS, Common, Ints, common_of, starts_to_send, usable, vector_calls
from weft.trace.events import Columns, Event, Group, Layers, counts_of, groups_of, layers_of, ranks_columns


class RankWriter:
    """Makes the actions of a rank.
    `left_out`: number of calls without an action that moved something or held somebody up, by name. `messages`:
    messages to others, and for a collective call one to each other member. `direct`: those of them that calls of
    `DIRECT` send. `computed_ns`: time between calls.
    """

    def __init__(self, rank: int, own: Columns, common: Common, groups: Mapping[int, Group], layers: Layers) -> None:
        self.rank, self.left_out = rank, Counter[str]()
        self.messages = self.direct = self.computed_ns = 0
        self._own, self._common, self._groups, self._layers = own, common, groups, layers
        self._rows, self._requests = actions.Rows(), actions.in_turn(())
        self._counts, self._sent, self._received = list[int](), 0, 0
        self._usable, self._sends = usable(own), starts_to_send(own)
        self._known = np.isin(own["comm"], list(layers.of))

    def script(self, begin_ns: int) -> RankScript:
        """All its actions; what comes before its first call, from ``begin_ns`` on, is computation."""
        call = self._own["call"]
        together = actions.OF_COLLECTIVES[call] & self._usable
        message = ~together & (self._sends | actions.OF_RECEIVES[call] | (call == actions.START))
        left = ~message & (call != COMPLETE) & ~(together & self._known)
        calls = np.flatnonzero(call != COMPLETE)
        ends = np.maximum.accumulate(np.concatenate(([begin_ns], self._own["end_ns"][calls])))[:-1]
        gap = self._own["begin_ns"][calls] - ends
        self.computed_ns = int(gap[gap > 0].sum())
        self._rows.add(calls[gap > 0] * STEPS + actions.COMPUTED, act=Act.COMPUTE, value=gap[gap > 0])
        self._collectives(np.flatnonzero(together))
        left |= self._messages_of(message)
        numbers, each = np.unique(call[left & ~actions.OF_QUIET[call]], return_counts=True)
        self.left_out.update({CALLS[int(number)]: int(many) for number, many in zip(numbers, each, strict=True)})
        slots = self._requests.left
        last = actions.Rows().add(np.arange(len(slots)), act=Act.WAIT, value=np.array(slots, np.int64))
        made = self._rows.in_order(last)
        sends = made["bytes"][np.isin(made["act"], (Act.SEND, Act.ISEND))]
        sent, received = max(self._sent, int(sends.max(initial=0))), max(self._received, self._requests.most_bytes)
        return RankScript(made, np.array(self._counts, np.int64), sent, received, self._requests.most_slots)

    def _messages_of(self, message: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Actions of messages that have both their ends, and waits; tells which events are left out."""
        own, peer = self._own, self._own["peer"]
        goes = np.flatnonzero(message & self._sends & self._usable & (peer >= 0) & self._known)
        goes = goes[self._common.paired(self.rank, own, goes, sends=True)]
        self.messages += len(goes)
        posted, came = self._arrivals(message)
        some = (came >= 0) & self._usable[came] & self._known[came]
        some[some] = self._common.paired(self.rank, own, came[some], sends=False)
        self._act(goes, posted[some], came[some])
        left = message & self._sends & (peer != PROC_NULL)
        left[goes] = False
        lost = ~some & (posted % STEPS == DONE) & ((came < 0) | (peer[came] != PROC_NULL))
        left[posted[lost] // STEPS] = True
        return left

    def _arrivals(self, message: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Where receives are posted, and for each the event at which its message came (-1: never)."""
        call, request = self._own["call"], self._own["request"]
        receives = np.flatnonzero(message & ~self._sends)
        ends = np.flatnonzero((call == COMPLETE) & (request != 0))
        _, last = np.unique(request[ends][::-1], return_index=True)  # of several ends of a request the last one
        ends = ends[::-1][last]
        came = np.full(len(receives), -1)
        if len(ends):
            found = ends[np.minimum(np.searchsorted(request[ends], request[receives]), len(ends) - 1)]
            came = np.where(request[found] == request[receives], found, -1)
        came = np.where(request[receives] == 0, receives, came)
        beside = np.flatnonzero(message[:-1] & (call[1:] == COMPLETE) & (request[1:] == 0))  # of MPI_Sendrecv
        posted = np.concatenate([beside * STEPS + actions.POSTED, receives * STEPS + DONE])
        order = np.argsort(posted, kind="stable")
        return posted[order], np.concatenate([beside + 1, came])[order]

    def _act(self, goes: Ints, posted: Ints, came: Ints) -> None:
        own, request = self._own, self._own["request"]
        waits = np.isin(own["call"], COMPLETE).nonzero()[0]
        blocking = actions.OF_BLOCKING[own["call"][goes]]
        starts, ours = goes[~blocking], request[posted // STEPS]
        beside = posted % STEPS == actions.POSTED
        step = np.where(beside, actions.CAME_BESIDE, np.where(ours == 0, actions.CAME, actions.CAME_LATER))
        ends = np.where(request[waits] == 0, actions.BESIDE, request[waits])
        columns = (  # of starts, of receives, of waits
            (np.full(len(starts), actions.SENT), step, np.full(len(waits), actions.ENDED)),
            (request[starts], np.where(beside, actions.BESIDE, ours), ends),
            (np.zeros(len(starts), np.int64), own["received"][came], np.zeros(len(waits), np.int64)),
        )
        order = np.argsort(np.concatenate([starts * STEPS + DONE, posted, waits * STEPS + DONE]), kind="stable")
        steps = (np.concatenate(column)[order].tolist() for column in columns)
        self._requests = actions.in_turn(zip(*steps, strict=True))
        slots, places = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
        slots[order], places[order] = self._requests.slots, self._requests.places
        slot = np.zeros(len(goes), np.int64)
        slot[~blocking] = slots[: len(starts)]
        self._add(goes, goes * STEPS + DONE, np.where(blocking, Act.SEND, Act.ISEND), "bytes", slot)
        got = slice(len(starts), len(starts) + len(posted))
        act = np.where(step == actions.CAME, Act.RECEIVE, Act.IRECEIVE)
        made = self._add(came, posted, act, "received", slots[got])
        made["offset"] = places[got]
        ended = slots[got.stop :]
        self._rows.add(waits[ended >= 0] * STEPS + DONE, act=Act.WAIT, value=ended[ended >= 0])

    def _add(self, events: Ints, places: Ints, act: Ints, size: str, value: Ints) -> npt.NDArray[Any]:
        own = {name: self._own[name][events] for name in ("comm", "peer", "tag", size)}
        own["peer"] = actions.places_in(self._groups, own["comm"], own["peer"])
        own["comm"] = actions.comms_in(self._layers, own["comm"])
        return self._rows.add(places, act=act, value=value, **own)

    def _collectives(self, together: Ints) -> None:
        own = self._own
        known = together[self._known[together]]
        comm = own["comm"][known]
        distinct, where = np.unique(comm, return_inverse=True)
        size = np.array([self._groups[int(each)].size for each in distinct], np.int64)[where]
        self.messages += int((size - 1).sum())
        act, plain = actions.ACT_OF[own["call"][known]], ~actions.OF_VECTORS[own["call"][known]]
        self.direct += int((size - 1)[np.isin(act, DIRECT)].sum())
        moved = (own[name][known[plain]] for name in ("bytes", "received"))
        gives, gets, sent, received = actions.shares(act[plain], size[plain], *moved)
        self._sent, self._received = (int(each.max(initial=0)) for each in (sent, received))
        root = actions.places_in(self._groups, comm[plain], np.maximum(own["peer"][known[plain]], 0))
        root = np.where(np.isin(act[plain], actions.ROOTED), root, 0)
        made = self._rows.add(known * STEPS + DONE, act=act, comm=actions.comms_in(self._layers, comm), value=-1)
        made["peer"][plain], made["bytes"][plain], made["received"][plain] = root, gives, gets
        rows = dict(zip(known.tolist(), range(len(known)), strict=True)) if not plain.all() else {}
        for event, key in vector_calls(own, together):
            if event in rows:
                row: dict[str, Any] = {name: int(column[event]) for name, column in own.items()}
                row["call"] = CALLS[row["call"]]
                numbers = self._vector(Event(**row), self._groups[key[0]], self._common.given.get(key, {}))
                for name, number in zip(("peer", "bytes", "received", "value"), numbers, strict=True):
                    made[name][rows[event]] = number

    def _vector(self, event: Event, group: Group, given: Mapping[int, Mapping[int, int]]) -> tuple[int, int, int, int]:
        """A call with counts: root, bytes given and got, and where its counts begin; ``given`` is by receiver."""
        act, plain = actions.COLLECTIVES[event.call]
        members = range(group.size) if group.members is None else group.members
        giver = event.peer if plain == "ScatterV" else self.rank
        counts = [given.get(giver, {}).get(member, 0) for member in members]
        into, gives, gets = list[int](), sum(counts), sum(counts)
        if act is Act.ALLTOALLV:
            into = [given.get(member, {}).get(self.rank, 0) for member in members]
            gets = sum(into)
        elif plain == "ScatterV":
            gets = counts[group.place(self.rank)] if self.rank in members else 0
        elif plain != "ReduceScatter":
            counts = [given.get(member, {}).get(member, 0) for member in members]
            gives, gets = event.bytes, sum(counts)
        root = max(group.place(event.peer), 0) if plain == "ScatterV" or act is Act.GATHER else 0
        self._sent, self._received, first = max(self._sent, gives), max(self._received, gets), len(self._counts)
        self._counts += counts + into
        return root, gives, gets, first


@dataclass(frozen=True)
class Made:
    """A written script, and what it leaves out."""

    path: Path
    ranks: int  # of the application
    left_out: dict[str, int]  # number of calls that are not replayed, by name
    traced_s: float  # from the first call to the end of the last
    computed_s: float  # mean over the ranks of the time between calls
    busiest_s: float  # the most of a rank
    alltoalls: int  # actions that are all-to-alls, of all ranks


def make_script(folder: TraceFolder, path: Path) -> Made:
    """Write the script of a trace; DataError if it is partial, summarised, of threads, or too large."""
    rows = TRACE_RANKS.read(folder.path)
    groups, counts = groups_of(folder), counts_of(folder)
    missing = [row["missing"] for row in rows if row["missing"]]
    world = max((group.size for group in groups.values() if group.name == "MPI_COMM_WORLD"), default=0)
    if len(rows) < world:
        missing.append(f"{world - len(rows):,} of {world:,} ranks have no file")
    if missing:
        raise DataError(
            f"{folder.path} is partial ({missing[0]}): in a replay other ranks would wait for what is missing for ever",
            "trace a run that ends with MPI_Finalize on all its ranks: weft trace -o RUN -- mpirun ...",
        )
    if summarised := sum(row["summarised"] for row in rows):
        raise DataError(
            f"{folder.path} has {summarised:,} calls only as sums by call site, whose order is not known",
            "trace again with larger files: weft trace --most 8GiB -o RUN -- mpirun ...",
        )
    common, used = common_of(folder, groups, counts)
    layers = layers_of({comm: groups[comm] for comm in sorted(used)}, len(rows))
    begin = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    traced_ns = max((row["end_ns"] for row in rows if row["events"]), default=0) - begin
    nothing = RankScript(np.zeros(0, ACTION), np.zeros(0, np.int64), 0, 0, 0)
    parts, left_out, totals, computed = dict[int, RankScript](), Counter[str](), Counter(messages=0, direct=0), [0]
    for rank, own in ranks_columns(folder):
        writer = RankWriter(rank, own, common, groups, layers)
        parts[rank] = writer.script(begin)
        left_out += writer.left_out
        totals.update(messages=writer.messages, direct=writer.direct)
        computed.append(writer.computed_ns)
    everybody = [parts.get(row["rank"], nothing) for row in sorted(rows, key=lambda row: row["rank"])]
    mean = sum(computed) // max(len(rows), 1)
    write_script(path, everybody, layers.tables, traced_ns=traced_ns, computed_ns=mean, **totals)
    alltoalls = sum(int(np.isin(part.actions["act"], DIRECT).sum()) for part in everybody)
    return Made(path, len(rows), dict(left_out), traced_ns / 1e9, mean / 1e9, max(computed) / 1e9, alltoalls)
