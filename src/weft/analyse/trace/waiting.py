# SPDX-License-Identifier: BSD-3-Clause
r"""Waiting against moving: how long a rank stood in a call because another had not come yet, and who that was.

A collective call that needs data of all (MPI_Allreduce, MPI_Alltoall ...) cannot end before its last member has begun:
until then a rank waits, afterwards data moves. MPI_Bcast and MPI_Scatter wait for their root alone, MPI_Reduce and
MPI_Gather only at the root. A receive waits until its message is sent. This is the late-sender and wait-at-N-by-N
analysis of Scalasca (Geimer et al., "The Scalasca performance toolset architecture", 2010), on synchronised clocks.
"""

from weft.analyse.engine import Expression
from weft.analyse.trace.matrix import sends_of
from weft.analyse.trace.sums import without
from weft.store.trace.layout import FINISH, Flag

FROM_ROOT = ("MPI_Bcast", "MPI_Scatter", "MPI_Scatterv")
TO_ROOT = ("MPI_Reduce", "MPI_Gather", "MPI_Gatherv")
TOGETHER = (
    "MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw",
    "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
)  # fmt: skip
LOST = Flag.SUMMARY | Flag.FAILED | Flag.INTER | Flag.CANCELLED
KEY = ["comm", "call", "number"]
OWN = 1
"""Number of MPI_COMM_SELF, in which nobody waits."""


def collectives(events: Expression, communicators: Expression) -> Expression:
    """Each blocking collective call of each rank: ``waiting_ns``, and whom it waited for (``culprit``).

    ``last_ns`` and ``done_ns`` are when the last member came and left. Calls of which a member's record is missing are
    left out.
    """
    import ibis

    calls = without(events.filter(events.call.isin([*FROM_ROOT, *TO_ROOT, *TOGETHER]), events.comm != OWN), LOST)
    calls = calls.mutate(
        number=ibis.row_number().over(ibis.window(group_by=["rank", "comm", "call"], order_by="event"))
    )
    at_root = ibis.ifelse(calls.rank == calls.peer, calls.begin_ns, ibis.null("int64"))
    met = calls.group_by(KEY).agg(
        last_ns=calls.begin_ns.max(), done_ns=calls.end_ns.max(), last=calls.rank.argmax(calls.begin_ns),
        root_ns=at_root.max(), came=calls.count(),  # a rank comes once: the number counts its own calls
    )  # fmt: skip
    whole = met.join(communicators.select("comm", "size"), "comm")
    whole = whole.filter((whole.came == whole["size"]) & (whole["size"] > 1))
    return _with_waiting(calls.join(whole, KEY))


def _with_waiting(rows: Expression) -> Expression:
    import ibis

    is_root = rows.rank == rows.peer
    until = ibis.cases(
        (rows.call.isin(TOGETHER), rows.last_ns),
        (rows.call.isin(FROM_ROOT) & ~is_root, rows.root_ns),
        (rows.call.isin(TO_ROOT) & is_root, rows.last_ns),
        else_=rows.begin_ns,
    )
    culprit = ibis.ifelse(rows.call.isin(FROM_ROOT), rows.peer, rows["last"])
    waiting = ibis.greatest(ibis.least(until, rows.end_ns) - rows.begin_ns, 0)
    return rows.mutate(waiting_ns=waiting, culprit=culprit.cast("int32"))


def receives(events: Expression, ranks: tuple[int, int]) -> Expression:
    """Each receive of a known message: ``waiting_ns`` in its call, and the sender (``culprit``).

    Messages of a pair, communicator and tag are received in the order in which receives were posted (MPI 3.5), so the
    n-th such receive has the n-th such message.

    Parameters
    ----------
    events
        All events.
    ranks
        First and last rank whose receives are asked for: what one rank receives depends on no other's receives.
    """
    import ibis

    own = events.filter(events.rank.between(*ranks))
    came = without(own, LOST)
    completed = came.filter((came.call == FINISH) & ((came.flags & int(Flag.RECEIVE)) != 0) & (came.peer >= 0))
    blocking = came.filter(came.call.isin(["MPI_Recv", "MPI_Mrecv"]) & (came.peer >= 0))
    starts = own.filter((own.request > 0) & (own.call != FINISH) & (own.call != "MPI_Request_free"))
    starts = starts.group_by(["rank", "request"]).agg(posted=starts.event.min())
    started = completed.filter(completed.request > 0).join(starts, ["rank", "request"])
    columns = ["rank", "event", "peer", "comm", "tag", "begin_ns", "end_ns", "site"]
    beside = completed.filter(completed.request == 0)
    posted = ibis.union(
        started.select(*columns, "posted"), blocking.select(*columns, posted=blocking.event),
        beside.select(*columns, posted=beside.event),
    )  # fmt: skip
    numbered = posted.mutate(number=_number(["rank", "peer", "comm", "tag"], "posted"))
    sends = sends_of(events.filter(events.peer.between(*ranks)))
    sends = sends.mutate(number=_number(["rank", "peer", "comm", "tag"], "event"))
    sent = sends.select("comm", "tag", "number", peer=sends.rank, rank=sends.peer, sent_ns=sends.begin_ns)
    both = numbered.join(sent, ["rank", "peer", "comm", "tag", "number"])
    waiting = ibis.greatest(ibis.least(both.sent_ns, both.end_ns) - both.begin_ns, 0)
    return both.mutate(waiting_ns=waiting, culprit=both.peer)


def _number(group: list[str], order: str) -> Expression:
    import ibis

    return ibis.row_number().over(ibis.window(group_by=group, order_by=order))


def per_call(waits: Expression, events: Expression) -> Expression:
    """rank, event, call, waiting_ns, culprit of the calls that received: of several messages the latest counts."""
    latest = waits.group_by(["rank", "begin_ns", "end_ns"]).agg(
        waiting_ns=waits.waiting_ns.max(), culprit=waits.culprit.argmax(waits.waiting_ns)
    )
    calls = events.filter(events.call.startswith("MPI_"), events.call != "MPI_Start")
    found = calls.select("rank", "event", "call", "begin_ns", "end_ns").join(latest, ["rank", "begin_ns", "end_ns"])
    return found.select("rank", "event", "call", "waiting_ns", "culprit", "begin_ns", "end_ns")
