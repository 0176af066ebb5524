# SPDX-License-Identifier: BSD-3-Clause
"""One row of numbers for each call of a cell over all launches, each launch counting alike (METHOD 9)."""

from collections.abc import Iterable, Sequence
from statistics import median

from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.tables.times import MedianRow, MixedRow, SummaryRow

Key = tuple[str, str, str]


def summaries(mixed: Iterable[MixedRow], by_launch: Iterable[MedianRow], *, modelled: bool) -> list[SummaryRow]:
    """Medians over launches with their intervals, beside the quantiles of all samples."""
    launches: dict[Key, list[MedianRow]] = {}
    for row in by_launch:
        launches.setdefault((row["cell"], row["call"], row["phase"]), []).append(row)
    return [_summary(row, launches[row["cell"], row["call"], row["phase"]], modelled) for row in mixed]


def _summary(mixed: MixedRow, rows: Sequence[MedianRow], modelled: bool) -> SummaryRow:
    medians = [row["median_s"] for row in rows]
    first = rows[0]
    within = Interval(first["low_s"], first["high_s"], first["coverage"], "within one launch")
    found = NO_INTERVAL if modelled else interval_over_launches(medians, within)
    return {
        **mixed,
        "launches": len(medians),
        "median_s": median(medians),
        "low_s": found.low,
        "high_s": found.high,
        "coverage": found.coverage,
        "interval": found.kind,
        "launch_low_s": min(medians),
        "launch_high_s": max(medians),
    }
