# SPDX-License-Identifier: BSD-3-Clause
"""Waiting against moving: how long a rank stood in a call because another had not come yet, and who that was.

A collective call that needs data of all (MPI_Allreduce, MPI_Alltoall ...) cannot end before its last member has begun:
until then a rank waits, afterwards data moves. MPI_Bcast and MPI_Scatter wait for their root alone, MPI_Reduce and
MPI_Gather only at the root. In MPI_Alltoallv and neighbourhood calls a rank waits for those alone who have bytes for
it. A receive waits until its message is sent. This is the late-sender and wait-at-N-by-N analysis of Scalasca (Geimer
et al., "The Scalasca performance toolset architecture", 2010), on synchronised clocks.

Part of the waiting is imbalance: the late rank computed longer than the waiting one since both last met (``own_ns``).
The rest it lost inside of MPI calls, in which it waited for others or for the network itself.
"""

import ibis

from weft.analyse.engine import Expression
from weft.analyse.trace.sums import NS, sends_of, timed_calls, without
from weft.store.trace.layout import BLOCKING_RECEIVES, FILES, FINISH, FROM_ROOT, SPARSE, TO_ROOT, TOGETHER, Flag

LOST = Flag.SUMMARY | Flag.FAILED | Flag.INTER | Flag.CANCELLED
KEY = ["comm", "call", "number"]
OWN = 1
"""Number of MPI_COMM_SELF, in which nobody waits."""


def collectives(events: Expression, communicators: Expression, counts: Expression) -> Expression:
    """Each blocking collective call of each rank: ``waiting_ns``, and whom it waited for (``awaited``).

    ``last_ns`` and ``done_ns`` are when the last member came and left. Calls of which a member's record is missing are
    left out.
    """
    known = events.call.isin(sorted(FROM_ROOT | TO_ROOT | TOGETHER | SPARSE))
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
        (rows.call.isin(sorted(TOGETHER)), rows.last_ns),
        (rows.call.isin(sorted(SPARSE)), rows.given_ns.fill_null(rows.begin_ns)),
        (rows.call.isin(sorted(FROM_ROOT)) & ~is_root, rows.root_ns),
        (rows.call.isin(sorted(TO_ROOT)) & is_root, rows.last_ns),
        else_=rows.begin_ns,
    )
    awaited = ibis.cases(
        (rows.call.isin(sorted(FROM_ROOT)), rows.peer),
        (rows.call.isin(sorted(SPARSE)), rows.giver.fill_null(rows.rank)),
        else_=rows["last"],
    )
    waiting = ibis.greatest(ibis.least(until, rows.end_ns) - rows.begin_ns, 0)
    return rows.mutate(waiting_ns=waiting, awaited=awaited.cast("int32"))


def receives(events: Expression, ranks: tuple[int, int]) -> Expression:
    """Each receive of a known message: ``waiting_ns`` in its call, and the sender (``awaited``).

    Messages of a pair, communicator and tag are received in the order in which receives were posted (MPI 3.5), so the
    n-th such receive has the n-th such message.
    """
    own = events.filter(events.rank.between(*ranks))
    came = without(own, LOST)
    completed = came.filter((came.call == FINISH) & ((came.flags & int(Flag.RECEIVE)) != 0) & (came.peer >= 0))
    blocking = came.filter(came.call.isin(sorted(BLOCKING_RECEIVES)) & (came.peer >= 0))
    starts = own.filter((own.request > 0) & (own.call != FINISH) & (own.call != "MPI_Request_free"))
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
    of_files = ibis.ifelse(calls.call.isin(sorted(FILES)), calls.seconds_ns, 0)
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
    outside = ibis.greatest(known.seconds - known.mpi_s, 0.0)
    return known.mutate(compute_s=outside).order_by("rank")
