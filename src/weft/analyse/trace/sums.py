# SPDX-License-Identifier: BSD-3-Clause
"""Sums over the calls of a trace by call, size, communicator and pair, and its waiting: for whom ranks stood in calls.

All-to-alls, scatters and neighbourhood calls are taken as one message to each member, which is how much must move;
other collective calls are not in the matrix: which pairs their data takes depends on the library's algorithm.

A collective call that needs data of all cannot end before its last member has begun: until then a rank waits,
afterwards data moves. MPI_Bcast and MPI_Scatter wait for their root alone, MPI_Reduce and MPI_Gather only at the
root; in MPI_Alltoallv and neighbourhood calls a rank waits for those who have bytes for it, a receive until its
message is sent: the late-sender and wait-at-N-by-N analysis of Scalasca (Geimer et al., "The Scalasca performance
toolset architecture", 2010), on synchronised clocks. Part of it is imbalance: the late rank computed longer than the
waiting one since both last met (``own_ns``); the rest it lost inside of MPI calls.
"""

from statistics import median

import ibis

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import NodePairRow
from weft.store.tables import grouped
from weft.store.trace import layout

NS = 1e-9
EQUAL_BLOCKS = layout.calls_of("AllToAll") | layout.calls_of("AllToAll", wrapper="Started")
NEIGHBOURS = ("NeighborEqual", "NeighborAllGatherV", "NeighborAllToAllV", "NeighborAllToAllW")
BY_COUNTS = {
    kind: layout.calls_of(*families) | layout.calls_of(*families, wrapper="Started")
    for kind, families in (
        ("all-to-all", ("AllToAllV", "AllToAllW")), ("neighbourhood", NEIGHBOURS), ("scatterv", ("ScatterV",)),
    )
}  # fmt: skip
"""Calls with bytes for each member, by their kind in the matrix."""
LEAST_BYTES = 1 << 14  # of a message: what is smaller tells of latency, not of the rate of a link
FEWEST_MESSAGES, FEWEST_PAIRS = 8, 3
SLOW = 2.0  # from this multiple of the others' median time for a byte on, a pair of nodes is slow
LOST = layout.Flag.SUMMARY | layout.Flag.FAILED | layout.Flag.INTER | layout.Flag.CANCELLED
KEY = ["comm", "call", "number"]
OWN = 1  # number of MPI_COMM_SELF, in which nobody waits


def timed_calls(events: Expression) -> Expression:
    """Events without completions, which take no time of their own."""
    return events.filter(events.call != layout.FINISH)


def by_call(events: Expression, waited: Expression, rank_seconds: float) -> Expression:
    """Rows of CALL_TIMES, the longest first."""
    calls = timed_calls(events)
    sums = calls.group_by("call").agg(
        calls=calls.calls.sum(), seconds=calls.seconds_ns.sum() * NS, bytes=calls.bytes.sum().cast("int64"),
        received=calls.received.sum().cast("int64"), longest_s=(calls.end_ns - calls.begin_ns).max() * NS,
    )  # fmt: skip
    lost = waited.group_by(waiting_call=waited.call).agg(
        waiting_s=waited.waiting_ns.sum() * NS, known_s=(waited.end_ns - waited.begin_ns).sum() * NS
    )
    joined = sums.left_join(lost, sums.call == lost.waiting_call).drop("waiting_call")
    share, known = joined.seconds / max(rank_seconds, NS), joined.known_s.fill_null(0.0)
    return joined.mutate(share=share, known_s=known).order_by([joined.seconds.desc(), "call"])


def by_size(events: Expression) -> Expression:
    """Rows of CALL_SIZES; calls without bytes are left out. A summary counts with its mean size."""
    calls = timed_calls(events)
    mean = ibis.greatest(calls.bytes, calls.received).cast("float64") / ibis.greatest(calls.calls, 1)
    calls = calls.mutate(mean=ibis.ifelse(calls.bytes > 0, calls.bytes / ibis.greatest(calls.calls, 1), mean))
    calls = calls.filter(calls["mean"] > 0)
    classed = calls.mutate(size=(ibis.literal(2.0) ** ibis.greatest(calls["mean"].log2().ceil(), 0)).cast("int64"))
    sums = classed.group_by(["call", "size"]).agg(
        calls=classed.calls.sum(), seconds=classed.seconds_ns.sum() * NS,
        bytes=ibis.greatest(classed.bytes.sum(), classed.received.sum()).cast("int64"),
    )  # fmt: skip
    return sums.order_by(["call", "size"])


def by_communicator(events: Expression, communicators: Expression) -> Expression:
    """Rows of COMM_TIMES, the longest first."""
    calls = timed_calls(events)
    within = ibis.ifelse(calls.call.isin(sorted(layout.ALL_TO_ALLS)), calls.seconds_ns, 0)
    sums = calls.group_by("comm").agg(
        calls=calls.calls.sum(), seconds=calls.seconds_ns.sum() * NS, all_to_all_s=within.sum() * NS,
        bytes=calls.bytes.sum().cast("int64"),
    )  # fmt: skip
    named = sums.join(communicators.select("comm", "name", "size"), "comm")
    return named.order_by([named.seconds.desc(), "comm"])


def without(events: Expression, flags: layout.Flag) -> Expression:
    """Events that have none of these flags."""
    return events.filter((events.flags & int(flags)) == 0)


def sends_of(events: Expression) -> Expression:
    """Every point-to-point message as its sender gave it; those to MPI_PROC_NULL are none."""
    sends = events.filter(events.call.isin(sorted(layout.SENDS | {"MPI_Start"})), events.peer >= 0)
    return without(sends, layout.Flag.RECEIVE | layout.Flag.INTER | layout.Flag.FAILED)


def matrix(events: Expression, counts: Expression, members: Expression) -> Expression:
    """Rows of MATRIX, by rank and peer; ``counts``: bytes to each member of the calls that have counts."""
    sends = sends_of(events)
    direct = _row(sends, "point-to-point", sends.calls, sends.bytes)
    # what is put, and what is fetched from the other
    calls = without(events.filter(events.call.isin(sorted(layout.ONE_SIDED)), events.peer >= 0), layout.Flag.FAILED)
    put, got = calls.filter((calls.bytes > 0) | (calls.received == 0)), calls.filter(calls.received > 0)
    back = got.mutate(rank=got.peer, peer=got.rank)
    aside = [_row(put, "one-sided", put.calls, put.bytes), _row(back, "one-sided", back.calls, back.received)]
    calls = without(events.filter(events.call.isin(sorted(EQUAL_BLOCKS))), layout.Flag.INTER | layout.Flag.FAILED)
    equal = calls.group_by(["rank", "comm"]).agg(calls=calls.calls.sum(), total=calls.bytes.sum())
    each = equal.join(members.select("comm", "size", peer=members.rank), "comm")
    each = each.filter(each["size"] > 1)
    blocks = [_row(each, "all-to-all", each.calls, each.total // each["size"])]
    for kind, names in BY_COUNTS.items():
        calls = without(events.filter(events.call.isin(sorted(names))), layout.Flag.INTER | layout.Flag.FAILED)
        sent = counts.semi_join(calls.select("rank", "event"), ["rank", "event"])
        blocks.append(_row(sent, kind, ibis.literal(1), sent.bytes))
    found = ibis.union(direct, *aside, *blocks)
    sums = {name: found[name].sum().cast("int64") for name in ("messages", "bytes")}
    return found.group_by(["rank", "peer", "kind"]).agg(**sums).order_by(["rank", "peer", "kind"])


def _row(table: Expression, kind: str, messages: Expression, sent: Expression) -> Expression:
    return table.select(
        rank=table.rank.cast("int32"), peer=table.peer.cast("int32"), kind=ibis.literal(kind),
        messages=messages.cast("int64"), bytes=sent.cast("int64"),
    )  # fmt: skip


def node_pairs(seen: Expression, ranks: Expression) -> list[NodePairRow]:
    """Rows of NODE_PAIRS, the slowest first. `seen`: rank, peer, bytes and ns of messages whose whole way was seen."""
    places = ranks.select("rank", "node")
    both = seen.filter(seen.bytes >= LEAST_BYTES).join(places, "rank")
    both = both.join(places.select(peer=places.rank, other=places.node), "peer")
    both = both.filter(both.node != both.other)
    sized = both.select(
        "bytes", "ns", low=ibis.least(both.node, both.other), high=ibis.greatest(both.node, both.other),
        size=both.bytes.cast("float64").log2().floor().cast("int64"), each=both.ns / both.bytes,
    )  # fmt: skip
    sums = sized.group_by(["low", "high", "size"]).agg(
        messages=sized.count(), total=sized.bytes.sum().cast("int64"), ns=sized.ns.sum().cast("int64"),
        each=sized.each.median(),
    )  # fmt: skip
    return _judged(sums.to_pyarrow().to_pylist())


def _judged(classes: list[dict[str, float]]) -> list[NodePairRow]:
    by_size = grouped([each for each in classes if each["messages"] >= FEWEST_MESSAGES], lambda each: each["size"])
    rows: list[NodePairRow] = []
    for (low, high), own in grouped(classes, lambda each: (each["low"], each["high"])).items():
        fair = [one for one in own if one["messages"] >= FEWEST_MESSAGES and len(by_size[one["size"]]) >= FEWEST_PAIRS]
        most = max(fair, key=lambda one: one["total"], default=None)
        ratio = most["each"] / median(one["each"] for one in by_size[most["size"]]) if most else None
        rows.append(NodePairRow(
            node=int(low), other=int(high), messages=int(sum(one["messages"] for one in own)),
            bytes=int(sum(one["total"] for one in own)), seconds=sum(one["ns"] for one in own) * NS,
            ratio=ratio, slow=ratio is not None and ratio >= SLOW,
        ))  # fmt: skip
    return sorted(rows, key=lambda row: (-(row["ratio"] or 0), row["node"], row["other"]))


def collectives(events: Expression, communicators: Expression, counts: Expression) -> Expression:
    """Blocking collective calls of each rank: ``waiting_ns``, ``awaited``, last came and left; none with gaps."""
    known = events.call.isin(sorted(layout.FROM_ROOT | layout.TO_ROOT | layout.TOGETHER | layout.SPARSE))
    calls = without(events.filter(known, events.comm != OWN), LOST)
    calls = calls.mutate(number=_number(["rank", "comm", "call"], "event"))
    calls = calls.mutate(since_ns=_since(calls, ["rank", "comm"], "event"))
    at_root = ibis.ifelse(calls.rank == calls.peer, calls.begin_ns, ibis.null("int64"))
    met = calls.group_by(KEY).agg(
        last_ns=calls.begin_ns.max(), done_ns=calls.end_ns.max(), last=calls.rank.argmax(calls.begin_ns),
        root_ns=at_root.max(), came=calls.count(),  # a rank comes once: the number counts its own calls
    )  # fmt: skip
    whole = met.join(communicators.select("comm", "size"), "comm")
    whole = whole.filter((whole.came == whole["size"]) & (whole["size"] > 1))
    given = counts.join(calls.select("rank", "event", "begin_ns", *KEY), ["rank", "event"])
    given = given.filter(given.rank != given.peer, given.bytes > 0)
    last = {"given_ns": given.begin_ns.max(), "giver": given.rank.argmax(given.begin_ns)}
    givers = given.group_by([*KEY, "peer"]).agg(**last)
    rows = calls.join(whole, KEY).left_join(givers.rename(rank="peer"), [*KEY, "rank"], rname="{name}_given")
    waiting = _with_waiting(rows)
    others = calls.select(*KEY, awaited=calls.rank, other_ns=calls.since_ns)
    beside = waiting.left_join(others, [*KEY, "awaited"], rname="{name}_other")
    return beside.mutate(own_ns=_own(beside.waiting_ns, beside.other_ns, beside.since_ns))


def _own(waiting_ns: Expression, other_ns: Expression, since_ns: Expression) -> Expression:
    """How much of a waiting time the other computed longer than the one that waited."""
    return ibis.greatest(ibis.least(waiting_ns, (other_ns - since_ns).fill_null(0)), 0)


def _with_waiting(rows: Expression) -> Expression:
    is_root = rows.rank == rows.peer
    until = ibis.cases(
        (rows.call.isin(sorted(layout.TOGETHER)), rows.last_ns),
        (rows.call.isin(sorted(layout.SPARSE)), rows.given_ns.fill_null(rows.begin_ns)),
        (rows.call.isin(sorted(layout.FROM_ROOT)) & ~is_root, rows.root_ns),
        (rows.call.isin(sorted(layout.TO_ROOT)) & is_root, rows.last_ns),
        else_=rows.begin_ns,
    )
    awaited = ibis.cases(
        (rows.call.isin(sorted(layout.FROM_ROOT)), rows.peer),
        (rows.call.isin(sorted(layout.SPARSE)), rows.giver.fill_null(rows.rank)),
        else_=rows["last"],
    )
    waiting = ibis.greatest(ibis.least(until, rows.end_ns) - rows.begin_ns, 0)
    return rows.mutate(waiting_ns=waiting, awaited=awaited.cast("int32"))


def receives(events: Expression, ranks: tuple[int, int]) -> Expression:
    """Each receive of a known message: ``waiting_ns`` in its call, and the sender (``awaited``). The n-th posted of a
    pair, communicator and tag has the n-th such message (MPI 3.5).
    """
    own = events.filter(events.rank.between(*ranks))
    came = without(own, LOST)
    completed = came.filter(
        (came.call == layout.FINISH) & ((came.flags & int(layout.Flag.RECEIVE)) != 0) & (came.peer >= 0)
    )
    blocking = came.filter(came.call.isin(sorted(layout.BLOCKING_RECEIVES)) & (came.peer >= 0))
    starts = own.filter((own.request > 0) & (own.call != layout.FINISH) & (own.call != "MPI_Request_free"))
    starts = starts.group_by(["rank", "request"]).agg(posted=starts.event.min())
    started = completed.filter(completed.request > 0).join(starts, ["rank", "request"])
    columns = ["rank", "event", "peer", "comm", "tag", "begin_ns", "end_ns", "computed_ns", "posted"]
    others = (blocking, completed.filter(completed.request == 0))
    parts = (started, *(part.mutate(posted=part.event) for part in others))
    posted = ibis.union(*(part.select(*columns) for part in parts))
    ends = ["rank", "peer", "comm", "tag"]
    numbered = posted.mutate(number=_number(ends, "posted"), since_ns=_since(posted, ends, "posted"))
    sends = sends_of(events.filter(events.peer.between(*ranks)))
    sends = sends.mutate(number=_number(ends, "event"), other_ns=_since(sends, ends, "event"))
    there = {"peer": sends.rank, "rank": sends.peer, "sent_ns": sends.begin_ns}
    sent = sends.select("comm", "tag", "number", "bytes", "other_ns", **there)
    both = numbered.join(sent, [*ends, "number"])
    waiting = ibis.greatest(ibis.least(both.sent_ns, both.end_ns) - both.begin_ns, 0)
    timed = both.mutate(waiting_ns=waiting, awaited=both.peer)
    return timed.mutate(own_ns=_own(timed.waiting_ns, timed.other_ns, timed.since_ns))


def _since(rows: Expression, group: list[str], order: str) -> Expression:
    """What a rank computed since the last message between the same two, ns."""
    return rows.computed_ns - rows.computed_ns.lag(default=0).over(ibis.window(group_by=group, order_by=order))


def _number(group: list[str], order: str) -> Expression:
    return ibis.row_number().over(ibis.window(group_by=group, order_by=order))


def per_call(waits: Expression, events: Expression) -> Expression:
    """rank, event, call, waiting_ns, own_ns, awaited of the calls that received: of several messages the latest."""
    latest = waits.group_by(["rank", "begin_ns", "end_ns"]).agg(
        waiting_ns=waits.waiting_ns.max(), awaited=waits.awaited.argmax(waits.waiting_ns),
        own_ns=waits.own_ns.argmax(waits.waiting_ns),
    )  # fmt: skip
    calls = events.filter(events.call.startswith("MPI_"), events.call != "MPI_Start")
    found = calls.select("rank", "event", "call", "begin_ns", "end_ns").join(latest, ["rank", "begin_ns", "end_ns"])
    return found.select("rank", "event", "call", "waiting_ns", "own_ns", "awaited", "begin_ns", "end_ns")


def transfers(waits: Expression) -> Expression:
    """rank, peer, bytes, ns of messages whose whole way was seen: the receiver was waiting when they were sent."""
    # of a call that received several, nobody knows which of them ended it
    in_call = waits.mutate(came=waits.count().over(ibis.window(group_by=["rank", "begin_ns", "end_ns"])))
    seen = in_call.filter(in_call.came == 1, in_call.sent_ns >= in_call.begin_ns, in_call.end_ns > in_call.sent_ns)
    return seen.select("rank", "peer", "bytes", ns=seen.end_ns - seen.sent_ns)


def late_ranks(events: Expression, ranks: Expression, waited: Expression) -> Expression:
    """Rows of LATE, by rank; ``last`` counts the calls for which others waited for the rank."""
    calls = timed_calls(events)
    of_files = ibis.ifelse(calls.call.isin(sorted(layout.FILES)), calls.seconds_ns, 0)
    inside = calls.group_by("rank").agg(mpi_s=calls.seconds_ns.sum() * NS, file_s=of_files.sum() * NS)
    own = waited.group_by("rank").agg(waited_s=waited.waiting_ns.sum() * NS)
    for_others = waited.filter((waited.waiting_ns > 0) & (waited.awaited != waited.rank))
    caused = for_others.group_by(rank=for_others.awaited).agg(
        caused_s=for_others.waiting_ns.sum() * NS, imbalance_s=for_others.own_ns.sum() * NS, last=for_others.count()
    )
    rows = ranks.select("rank", "node", seconds=(ranks.end_ns - ranks.begin_ns) * NS, lost_s=ranks.lost_ns * NS)
    for part in (inside, own, caused):
        rows = rows.left_join(part, "rank").drop("rank_right")
    filled = {name: rows[name].fill_null(0.0) for name in ("mpi_s", "file_s", "waited_s", "caused_s", "imbalance_s")}
    known = rows.mutate(**filled, last=rows["last"].fill_null(0))
    # calls of several threads overlap: no time outside is less than none
    return known.mutate(compute_s=ibis.greatest(known.seconds - known.mpi_s, 0.0)).order_by("rank")
