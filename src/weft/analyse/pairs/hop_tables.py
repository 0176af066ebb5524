# SPDX-License-Identifier: BSD-3-Clause
"""The tables of pairs as Ibis expressions: times by hop class, first contact, contention."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from weft.analyse.engine import Expression
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.times import P99_FROM, order_statistics

CLASS = ["bytes", "mode", "class_"]


def hop_table(placed: Expression) -> Expression:
    """Times of the pairs of each hop class, as in the tables of paper 002: over the final times of its pairs.

    Returns bytes, mode, class_, pairs, samples, min_s, mean_s, median_s, p99_s (null under 100 pairs), max_s: half a
    round trip; least_s and most_s, the shortest and longest single sample of all pairs; broken, how many pairs are
    inconsistent (METHOD 20). p99 is interpolated between two order statistics if 0.99 (pairs - 1) is no integer.
    """
    import ibis

    time = placed.time_s
    found = placed.group_by(CLASS).agg(
        pairs=placed.count(),
        samples=placed.samples.cast("int64").sum(),
        min_s=time.min(),
        mean_s=time.mean(),
        median_s=time.median(),
        p99_s=time.quantile(0.99),
        max_s=time.max(),
        least_s=placed.min_s.min(),
        most_s=placed.max_s.max(),
        broken=(~_consistent(placed)).cast("int64").sum(),
    )
    return found.mutate(p99_s=ibis.ifelse(found.pairs >= P99_FROM, found.p99_s, ibis.null("float64")))


def _consistent(placed: Expression) -> Expression:
    """METHOD 20: there are samples, and every time lies between the shortest and the longest of its pair."""
    within = (placed.min_s > 0) & (placed.min_s <= placed.median_s) & (placed.median_s <= placed.max_s)
    return within.fill_null(False) & (placed.samples > 0) & (placed.max_s < float("inf"))


def cold_table(placed: Expression) -> Expression:
    """First contact of the pairs of each class: bytes, mode, class_, pairs, median_s, max_s, ratio (cold over warm)."""
    known = placed.filter(placed.cold_s.notnull())
    return known.group_by(CLASS).agg(
        pairs=known.count(),
        median_s=known.cold_s.median(),
        max_s=known.cold_s.max(),
        ratio=(known.cold_s / known.time_s).median(),
        total_s=known.cold_s.sum(),
    )


def pair_contention(placed: Expression) -> Expression:
    """Each pair's time with concurrent pairs over its isolated time (METHOD 17).

    Both are medians of the interleaved samples. The final time of a slow pair (METHOD 19) is not used: it includes
    remeasurements at the end of the cell, under other disturbances. Returns source, target, source_node, target_node,
    bytes, mode, class_, factor, and low and high: the factor from the opposite ends of both 95 % intervals, so its
    coverage is at least theirs.
    """
    alone = placed.filter(placed["mode"] == "isolated")
    alone = alone.select(
        "source", "target", "bytes", alone_s=alone.median_s, alone_low_s=alone.low_s, alone_high_s=alone.high_s
    )
    beside = placed.filter(placed["mode"] != "isolated")
    both = beside.inner_join(alone, ["source", "target", "bytes"])
    return both.select(
        "source", "target", "source_node", "target_node", *CLASS,
        factor=both.median_s / both.alone_s, low=both.low_s / both.alone_high_s, high=both.high_s / both.alone_low_s,
    )  # fmt: skip


def contention_table(factors: Expression, counts: Sequence[int]) -> Expression:
    """The contention factor of each class: the median over its pairs with its interval and quantiles.

    Returns bytes, mode, class_, pairs, factor, low, high, coverage (interval of the median over pairs), p5, p95, max.
    """
    import ibis

    times = factors.select(*CLASS, time_s=factors.factor, least_s=factors.factor, disturbed=ibis.literal(False))
    found = order_statistics(times, CLASS, counts, None)
    return found.select(
        *CLASS, pairs=found.samples, factor=found.median_s, low=found.low_s, high=found.high_s,
        coverage=found.coverage, p5=found.p5_s, p95=found.p95_s, max=found.max_s,
    )  # fmt: skip


def node_contention(factors: Expression) -> Expression:
    """The median factor of every two nodes: bytes, mode, source_node, target_node, factor, worst."""
    return factors.group_by(["bytes", "mode", "source_node", "target_node"]).agg(
        factor=factors.factor.median(), worst=factors.factor.max()
    )


def matrix_medians(factors: Expression) -> Expression:
    """The median over all pairs of nodes of their median factor: bytes, mode, factor."""
    nodes = node_contention(factors)
    return nodes.group_by(["bytes", "mode"]).agg(factor=nodes.factor.median())


def worst_pairs(left: Expression, pairs: Expression, most: int) -> Expression:
    """The slowest pairs relative to the time of their class, with the three measurements of each (METHOD 19)."""
    key = ["source", "target", "bytes", "mode"]
    factor = left.time_s / left.base_s
    worst = left.mutate(factor=factor).order_by([factor.desc(), *key]).limit(most)
    measured = pairs.inner_join(worst.select(*key), key)
    again = measured.group_by(key).agg(
        first_s=measured.median_s.median(), again_1_s=measured.again_1_s.median(), again_2_s=measured.again_2_s.median()
    )
    return worst.inner_join(again, key).order_by([worst.factor.desc(), *key])


def class_histogram(histogram: Expression, classes: Expression) -> Expression:
    """The stored histogram of samples, summed by class: bytes, mode, class_, bucket, count."""
    placed = histogram.inner_join(classes, ["source_node", "target_node"])
    return placed.group_by([*CLASS, "bucket"]).agg(count=placed["count"].sum())


PAIR = ("source", "target", "bytes", "mode")


def verdicts(pairs: Expression, launches: int = 1) -> Expression:
    """One time for each pair, size and mode.

    A pair that was measured again has the median of its three medians (METHOD 19); with several launches the result is
    the median over launches. Returns source, target, bytes, mode, time_s (half a round trip), forward_s (one way; null
    if unknown), cold_s, median_s (of the first measurement), checked (whether it was measured again), samples, min_s,
    max_s, low_s, high_s.
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


def contention_rows(
    pairs: Expression, placed: Expression, factors: Expression, counts: Sequence[int], *, modelled: bool
) -> list[dict[str, Any]]:
    """A row for each hop class, size and mode, in this order.

    A thousand pairs of one launch share what that launch met, so the factor is the median over launches of that of
    each; the interval over pairs is given only where there is one launch, and says so.
    """
    by_class: dict[tuple[object, ...], list[float]] = {}
    for each in launch_contention(pairs, placed).to_pyarrow().to_pylist():
        by_class.setdefault(tuple(each[name] for name in CLASS), []).append(each["factor"])
    rows: list[dict[str, Any]] = []
    for row in contention_table(factors, counts).order_by(CLASS).to_pyarrow().to_pylist():
        own = by_class[tuple(row[name] for name in CLASS)]
        within = Interval(row["low"], row["high"], row["coverage"], "within one launch")
        found = NO_INTERVAL if modelled else interval_over_launches(own, within)
        ends = {"low": found.low, "high": found.high, "coverage": found.coverage, "interval": found.kind}
        rows.append(row | {"factor": median(own), "launches": len(own)} | ends)
    return rows


def launch_contention(pairs: Expression, placed: Expression) -> Expression:
    """The contention factor of each class in each launch: the median over its pairs."""
    way = ["launch", "bytes", "source", "target"]
    known = placed.select("source", "target", "class_").distinct()
    alone = pairs.filter(pairs["mode"] == "isolated").select(*way, alone_s="median_s")
    beside = pairs.filter(pairs["mode"] != "isolated").select(*way, "mode", beside_s="median_s")
    both = beside.inner_join(alone, way).inner_join(known, ["source", "target"])
    return both.group_by([*CLASS, "launch"]).agg(factor=(both.beside_s / both.alone_s).median())
