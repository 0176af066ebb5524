# SPDX-License-Identifier: BSD-3-Clause
"""From a trace to the script of its replay: who sends what to whom, in which order, after how much computation.

A first pass over all ranks collects what a rank's own events do not tell: which messages were both sent and received,
and the counts of vector calls at the ranks that only receive. A second one writes each rank's actions.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weft.errors import DataError
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import PROC_NULL, Flag
from weft.store.trace.script import RankScript, write_script
from weft.store.trace.tables import TRACE_RANKS
from weft.trace.actions import RankWriter
from weft.trace.calls import COLLECTIVES, RECEIVES, SENDS, VECTORS, receives, sends
from weft.trace.events import Event, Group, counts_of, groups_of, ranks_events
from weft.trace.layers import Layers, layers_of

Message = tuple[int, int, int, int]
"""Communicator, sender and receiver (world ranks), tag."""
Call = tuple[int, int]
"""Communicator, and the how manyth collective call on it."""


@dataclass
class Common:
    """What the ranks know of each other.

    Attributes
    ----------
    messages
        How many messages of a kind were both sent and received.
    given
        Bytes that each member gives in a vector call: to each other, or to all (under its own rank).
    """

    messages: dict[Message, int] = field(default_factory=dict[Message, int])
    given: dict[Call, dict[int, Mapping[int, int]]] = field(default_factory=dict[Call, dict[int, Mapping[int, int]]])


@dataclass(frozen=True)
class Made:
    """A script that was written.

    Attributes
    ----------
    ranks
        Of the application.
    left_out
        Number of calls that are not replayed, by name.
    traced_s
        From the first call to the end of the last.
    computed_s
        Mean over the ranks of the time between calls.
    busiest_s
        The most of a rank.
    """

    path: Path
    ranks: int
    left_out: dict[str, int]
    traced_s: float
    computed_s: float
    busiest_s: float


def make_script(folder: TraceFolder, path: Path) -> Made:
    """Write the script of a trace.

    Parameters
    ----------
    folder
        The trace, its tables made.
    path
        The script's file.

    Raises
    ------
    DataError
        The trace is partial or summarised, ranks call MPI from several threads, there are more communicators than a
        script holds, or a file cannot be read or written.
    """
    rows = TRACE_RANKS.read(folder.path)
    groups, counts = groups_of(folder), counts_of(folder)
    missing = [row["missing"] for row in rows if row["missing"]]
    world = max((group.size for group in groups.values() if group.name == "MPI_COMM_WORLD"), default=0)
    if len(rows) < world:
        missing.append(f"{world - len(rows):,} of {world:,} ranks have no file")
    _check_whole(folder, missing, sum(row["summarised"] for row in rows))
    common, used = _common(folder, groups, counts)
    layers = layers_of({comm: groups[comm] for comm in sorted(used)}, len(rows))
    begin = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    end = max((row["end_ns"] for row in rows if row["events"]), default=0)
    parts: dict[int, RankScript] = {}
    left_out: Counter[str] = Counter()
    messages = computed = busiest = 0
    for rank, events in ranks_events(folder):
        writer = _written(rank, events, common, groups, layers, begin)
        parts[rank] = writer.script()
        left_out += writer.left_out
        messages += writer.messages
        computed += writer.computed_ns
        busiest = max(busiest, writer.computed_ns)
    nothing = RankWriter(0, groups, layers, begin).script()
    everybody = [parts.get(row["rank"], nothing) for row in sorted(rows, key=lambda row: row["rank"])]
    mean = computed // max(len(rows), 1)
    write_script(path, everybody, layers.tables, messages=messages, traced_ns=end - begin, computed_ns=mean)
    return Made(path, len(rows), dict(left_out), (end - begin) / 1e9, mean / 1e9, busiest / 1e9)


def _check_whole(folder: TraceFolder, missing: list[str], summarised: int) -> None:
    if missing:
        raise DataError(
            f"{folder.path} is partial ({missing[0]}): in a replay other ranks would wait for what is missing for ever",
            "trace a run that ends with MPI_Finalize on all its ranks: weft trace -o RUN -- mpirun ...",
        )
    if summarised:
        raise DataError(
            f"{folder.path} has {summarised:,} calls only as sums by call site, whose order is not known",
            "trace again with larger files: weft trace --most 8GiB -o RUN -- mpirun ...",
        )


def is_left_out(event: Event) -> bool:
    """Whether an event has no action: it failed, was cancelled, or connects two groups."""
    return bool(event.flags & (Flag.FAILED | Flag.CANCELLED | Flag.INTER | Flag.UNFINISHED))


def _common(
    folder: TraceFolder, groups: Mapping[int, Group], counts: Mapping[tuple[int, int], Mapping[int, int]]
) -> tuple[Common, set[int]]:
    """What all ranks have in common, and the communicators that actions name."""
    sent: Counter[Message] = Counter()
    received: Counter[Message] = Counter()
    found, used = Common(), set[int]()
    for rank, events in ranks_events(folder):
        calls: Counter[int] = Counter()
        if len({event.thread for event in events}) > 1:
            raise DataError(
                f"rank {rank} of {folder.path} calls MPI from several threads, whose order among each other a script "
                "does not hold",
                "trace a run with one thread a rank that calls MPI (MPI_THREAD_FUNNELED)",
            )
        for event in events:
            if is_left_out(event):
                continue
            if event.peer >= 0 and sends(event):
                sent[event.comm, rank, event.peer, event.tag] += 1
                used.add(event.comm)
            elif event.peer >= 0 and receives(event):
                received[event.comm, event.peer, rank, event.tag] += 1
                used.add(event.comm)
            elif event.call in COLLECTIVES:
                call = (event.comm, calls[event.comm])
                calls[event.comm] += 1
                used.add(event.comm)
                if COLLECTIVES[event.call][1] in VECTORS:
                    own = counts.get((rank, event.event))
                    found.given.setdefault(call, {})[rank] = {rank: event.bytes} if own is None else own
    found.messages = {message: min(number, received[message]) for message, number in sent.items()}
    return found, {comm for comm in used if comm in groups}


@dataclass
class Ends:
    """How many messages of a kind this rank may still send and receive, so that each has both its ends."""

    to_send: dict[Message, int]
    to_receive: dict[Message, int]

    def goes(self, event: Event, rank: int) -> bool:
        """Whether a message that this rank sends is received; it is counted then."""
        return not is_left_out(event) and _taken(self.to_send, (event.comm, rank, event.peer, event.tag))

    def comes(self, event: Event, rank: int) -> bool:
        """Whether a message that this rank gets was sent; it is counted then."""
        return not is_left_out(event) and _taken(self.to_receive, (event.comm, event.peer, rank, event.tag))


def _taken(left: dict[Message, int], message: Message) -> bool:
    """Whether one is left, which is taken."""
    if left.get(message, 0) < 1:
        return False
    left[message] -= 1
    return True


def _written(
    rank: int, events: list[Event], common: Common, groups: Mapping[int, Group], layers: Layers, begin_ns: int
) -> RankWriter:
    """All actions of a rank."""
    writer = RankWriter(rank, groups, layers, begin_ns)
    completed = {event.request: event for event in events if event.call == "completion" and event.request}
    ends = Ends(dict(common.messages), dict(common.messages))
    calls: Counter[int] = Counter()
    for place, event in enumerate(events):
        if event.call == "completion":
            writer.wait(event)
            continue
        writer.compute_until(event)
        if event.call in COLLECTIVES and not is_left_out(event):
            call = (event.comm, calls[event.comm])
            calls[event.comm] += 1
            writer.collective(event, common.given.get(call, {}))
        elif event.call in SENDS or event.call in RECEIVES or event.call == "MPI_Start":
            after = events[place + 1] if place + 1 < len(events) else None
            _message(writer, event, after, completed, ends)
        else:
            writer.leave_out(event)
    writer.finish()
    return writer


def _message(writer: RankWriter, event: Event, after: Event | None, completed: Mapping[int, Event], ends: Ends) -> None:
    """The actions of a message: both its ends are in the script, or neither."""
    beside = after if after and after.call == "completion" and not after.request else None  # of MPI_Sendrecv
    if beside and ends.comes(beside, writer.rank):
        writer.post_beside(beside)
    if sends(event):
        if event.peer >= 0 and ends.goes(event, writer.rank):
            writer.send(event)
        elif event.peer != PROC_NULL:
            writer.leave_out(event)
        return
    came = completed.get(event.request) if event.request else event
    if came and ends.comes(came, writer.rank):
        writer.receive(event, came)
    elif came is None or came.peer != PROC_NULL:
        writer.leave_out(event)
