# SPDX-License-Identifier: BSD-3-Clause
"""Time by call, by size and by communicator."""

from weft.analyse.engine import Expression
from weft.store.trace.calls import ALL_TO_ALLS, FINISH
from weft.store.trace.layout import Flag

NS = 1e-9


def calls_of(events: Expression) -> Expression:
    """Events without completions, which take no time of their own."""
    return events.filter(events.call != FINISH)


def by_call(events: Expression, waited: Expression, rank_seconds: float) -> Expression:
    """Rows of CALL_TIMES, the longest first."""
    calls = calls_of(events)
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
    known = joined.known_s.fill_null(0.0)
    return joined.mutate(share=joined.seconds / max(rank_seconds, NS), known_s=known).order_by(
        [joined.seconds.desc(), "call"]
    )


def by_size(events: Expression) -> Expression:
    """Rows of CALL_SIZES; calls without bytes are left out. A summary counts with its mean size."""
    import ibis

    calls = calls_of(events)
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
    import ibis

    calls = calls_of(events)
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
