# SPDX-License-Identifier: BSD-3-Clause
"""The contention factor of each hop class with its interval, the launch being the unit (METHOD 9, 17)."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from weft.analyse.engine import Expression
from weft.analyse.interval import NO_INTERVAL, Interval, over_launches
from weft.analyse.pairs.hop_tables import CLASS, contention_table


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
        found = NO_INTERVAL if modelled else over_launches(own, within)
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
