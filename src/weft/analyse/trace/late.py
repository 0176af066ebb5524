# SPDX-License-Identifier: BSD-3-Clause
"""Ranks: their time in and outside of MPI, how long they waited, and how long others waited for them."""

from weft.analyse.engine import Expression
from weft.analyse.trace.sums import NS, calls_of
from weft.store.trace.calls import FILES


def late_ranks(events: Expression, ranks: Expression, waited: Expression) -> Expression:
    """Rows of LATE, by rank; ``last`` counts the calls for which others waited for the rank."""
    import ibis

    calls = calls_of(events)
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
    known = rows.mutate(
        **{name: rows[name].fill_null(0.0) for name in ("mpi_s", "file_s", "waited_s", "caused_s", "imbalance_s")},
        last=rows["last"].fill_null(0),
    )  # fmt: skip
    # calls of several threads overlap: no time outside is less than none
    outside = ibis.greatest(known.seconds - known.mpi_s, 0.0)
    return known.mutate(compute_s=outside).order_by("rank")
