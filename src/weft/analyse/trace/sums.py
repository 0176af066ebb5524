# SPDX-License-Identifier: BSD-3-Clause
"""Sums over the calls of a trace: by call, size, communicator and pair of ranks or nodes.

All-to-alls, scatters and neighbourhood calls are taken as one message to each member, which is how much must move;
other collective calls are not in the matrix: which pairs their data takes depends on the library's algorithm.
"""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

import ibis

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import NodePairRow
from weft.store.trace.layout import ALL_TO_ALLS, FINISH, ONE_SIDED, SENDS, Flag, calls_of

NS = 1e-9


def timed_calls(events: Expression) -> Expression:
    """Events without completions, which take no time of their own."""
    return events.filter(events.call != FINISH)


def by_call(events: Expression, waited: Expression, rank_seconds: float) -> Expression:
    """Rows of CALL_TIMES, the longest first."""
    calls = timed_calls(events)
    sums = calls.group_by("call").agg(
        calls=calls.calls.sum(),
        seconds=calls.seconds_ns.sum() * NS,
        bytes=calls.bytes.sum().cast("int64"),
        received=calls.received.sum().cast("int64"),
        longest_s=(calls.end_ns - calls.begin_ns).max() * NS,
    )
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
    exponent = calls["mean"].log2().ceil()
    classed = calls.mutate(size=(ibis.literal(2.0) ** ibis.greatest(exponent, 0)).cast("int64"))
    return (
        classed.group_by(["call", "size"])
        .agg(
            calls=classed.calls.sum(), seconds=classed.seconds_ns.sum() * NS,
            bytes=ibis.greatest(classed.bytes.sum(), classed.received.sum()).cast("int64"),
        )
        .order_by(["call", "size"])
    )  # fmt: skip


def by_communicator(events: Expression, communicators: Expression) -> Expression:
    """Rows of COMM_TIMES, the longest first."""
    calls = timed_calls(events)
    within = ibis.ifelse(calls.call.isin(sorted(ALL_TO_ALLS)), calls.seconds_ns, 0)
    sums = calls.group_by("comm").agg(
        calls=calls.calls.sum(), seconds=calls.seconds_ns.sum() * NS, all_to_all_s=within.sum() * NS,
        bytes=calls.bytes.sum().cast("int64"),
    )  # fmt: skip
    named = sums.join(communicators.select("comm", "name", "size"), "comm")
    return named.order_by([named.seconds.desc(), "comm"])


def without(events: Expression, flags: Flag) -> Expression:
    """Events that have none of these flags."""
    return events.filter((events.flags & int(flags)) == 0)


EQUAL_BLOCKS = calls_of("AllToAll") | calls_of("AllToAll", wrapper="Started")
NEIGHBOURS = ("NeighborEqual", "NeighborAllGatherV", "NeighborAllToAllV", "NeighborAllToAllW")
BY_COUNTS = {
    kind: calls_of(*families) | calls_of(*families, wrapper="Started")
    for kind, families in (
        ("all-to-all", ("AllToAllV", "AllToAllW")), ("neighbourhood", NEIGHBOURS), ("scatterv", ("ScatterV",)),
    )
}  # fmt: skip
"""Calls with bytes for each member, by their kind in the matrix."""


def sends_of(events: Expression) -> Expression:
    """Every point-to-point message as its sender gave it; those to MPI_PROC_NULL are none."""
    sends = events.filter(events.call.isin(sorted(SENDS | {"MPI_Start"})), events.peer >= 0)
    return without(sends, Flag.RECEIVE | Flag.INTER | Flag.FAILED)


def matrix(events: Expression, counts: Expression, members: Expression) -> Expression:
    """Rows of MATRIX, by rank and peer; ``counts``: bytes to each member of the calls that have counts."""
    sends = sends_of(events)
    direct = _row(sends, "point-to-point", sends.calls, sends.bytes)
    found = ibis.union(direct, _one_sided(events), _equal_blocks(events, members), *_counted(events, counts))
    sums = {name: found[name].sum().cast("int64") for name in ("messages", "bytes")}
    return found.group_by(["rank", "peer", "kind"]).agg(**sums).order_by(["rank", "peer", "kind"])


def _row(table: Expression, kind: str, messages: Expression, sent: Expression) -> Expression:
    return table.select(
        rank=table.rank.cast("int32"), peer=table.peer.cast("int32"), kind=ibis.literal(kind),
        messages=messages.cast("int64"), bytes=sent.cast("int64"),
    )  # fmt: skip


def _one_sided(events: Expression) -> Expression:
    """What is put, and what is fetched from the other."""
    calls = without(events.filter(events.call.isin(sorted(ONE_SIDED)), events.peer >= 0), Flag.FAILED)
    put, got = calls.filter((calls.bytes > 0) | (calls.received == 0)), calls.filter(calls.received > 0)
    back = got.mutate(rank=got.peer, peer=got.rank)
    puts = _row(put, "one-sided", put.calls, put.bytes)
    return ibis.union(puts, _row(back, "one-sided", back.calls, back.received))


def _equal_blocks(events: Expression, members: Expression) -> Expression:
    calls = without(events.filter(events.call.isin(sorted(EQUAL_BLOCKS))), Flag.INTER | Flag.FAILED)
    sums = calls.group_by(["rank", "comm"]).agg(calls=calls.calls.sum(), total=calls.bytes.sum())
    each = sums.join(members.select("comm", "size", peer=members.rank), "comm")
    each = each.filter(each["size"] > 1)
    return _row(each, "all-to-all", each.calls, each.total // each["size"])


def _counted(events: Expression, counts: Expression) -> Iterator[Expression]:
    for kind, names in BY_COUNTS.items():
        calls = without(events.filter(events.call.isin(sorted(names))), Flag.INTER | Flag.FAILED)
        sent = counts.semi_join(calls.select("rank", "event"), ["rank", "event"])
        yield _row(sent, kind, ibis.literal(1), sent.bytes)


LEAST_BYTES = 1 << 14  # of a message: what is smaller tells of latency, not of the rate of a link
FEWEST_MESSAGES, FEWEST_PAIRS = 8, 3
SLOW = 2.0  # from this multiple of the others' median time for a byte on, a pair of nodes is slow


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
    by_size: dict[float, list[float]] = defaultdict(list)
    by_pair: dict[tuple[float, float], list[dict[str, float]]] = defaultdict(list)
    for each in classes:
        by_pair[each["low"], each["high"]].append(each)
        if each["messages"] >= FEWEST_MESSAGES:
            by_size[each["size"]].append(each["each"])
    rows: list[NodePairRow] = []
    for (low, high), own in by_pair.items():
        fair = [one for one in own if one["messages"] >= FEWEST_MESSAGES and len(by_size[one["size"]]) >= FEWEST_PAIRS]
        most = max(fair, key=lambda one: one["total"], default=None)
        ratio = most["each"] / median(by_size[most["size"]]) if most else None
        rows.append(
            NodePairRow(
                node=int(low), other=int(high), messages=int(sum(one["messages"] for one in own)),
                bytes=int(sum(one["total"] for one in own)), seconds=sum(one["ns"] for one in own) * NS,
                ratio=ratio, slow=ratio is not None and ratio >= SLOW,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (-(row["ratio"] or 0), row["node"], row["other"]))
