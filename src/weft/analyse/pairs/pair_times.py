# SPDX-License-Identifier: BSD-3-Clause
"""The final time of each pair, which the rest of the analysis uses, and the place of its two ranks."""

from weft.analyse.engine import Expression
from weft.analyse.pairs.places import Places

PAIR = ("source", "target", "bytes", "mode")


def verdicts(pairs: Expression, launches: int = 1) -> Expression:
    """One time for each pair, size and mode.

    A pair that was measured again has the median of its three medians (METHOD 19); with several launches the result is
    the median over launches.

    Returns
    -------
    Expression
        source, target, bytes, mode, time_s (half a round trip), forward_s (one way; null if unknown), cold_s,
        median_s (of the first measurement), checked (whether it was measured again), samples, min_s, max_s, low_s,
        high_s.
    """
    import ibis

    again = pairs.again_1_s.notnull() & pairs.again_2_s.notnull()
    three = (pairs.median_s, pairs.again_1_s, pairs.again_2_s)
    # the median of three by clamping: the sum minus largest and smallest would lose digits
    middle = ibis.greatest(ibis.least(three[0], three[1]), ibis.least(ibis.greatest(three[0], three[1]), three[2]))
    kept = ("forward_s", "cold_s", "samples", "min_s", "max_s", "low_s", "high_s")
    judged = pairs.select(
        *PAIR, *kept, time_s=ibis.ifelse(again, middle, pairs.median_s), median_s=pairs.median_s, checked=again
    )
    if launches <= 1:
        return judged
    medians = {name: judged[name].median() for name in ("time_s", "forward_s", "cold_s", "median_s", "low_s", "high_s")}
    return judged.group_by(PAIR).agg(
        **medians,
        checked=judged.checked.any(),
        samples=judged.samples.sum(),
        min_s=judged.min_s.min(),
        max_s=judged.max_s.max(),
    )


def placed(judged: Expression, places: Places) -> Expression:
    """The final times with source_node, target_node, source_place, target_place, row, column and class_.

    ``row`` and ``column`` are the places of source and target in `Places.order`, ``class_`` is an index into `labels`.
    """
    import ibis

    ranks, classes = ibis.memtable(places.rank_table()), ibis.memtable(places.class_table())
    source = ranks.select(source=ranks["rank"], source_node=ranks.node, source_place=ranks.place, row=ranks.position)
    target = ranks.select(target=ranks["rank"], target_node=ranks.node, target_place=ranks.place, column=ranks.position)
    both = judged.inner_join(source, "source").inner_join(target, "target")
    return both.inner_join(classes, ["source_node", "target_node"])
