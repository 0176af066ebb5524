# SPDX-License-Identifier: BSD-3-Clause
"""Exact quantiles over all samples of pairs, as `weft show --exact` prints them."""

from collections.abc import Sequence

from weft.analyse.tables.pairs import ExactRow
from weft.format import format_bytes, measured_seconds
from weft.report.tabular import Table, Words, markdown
from weft.report.view import RunView

TIMES = ("min_s", "mean_s", "median_s", "p99_s", "max_s")


def exact_text(view: RunView, rows: Sequence[ExactRow]) -> str:
    """The table of `exact_table` in Markdown."""
    return "\n" + markdown(exact_table(view, rows)) + "\n"


def exact_table(view: RunView, rows: Sequence[ExactRow]) -> Table:
    """Times by hops, from `weft.analyse.pairs.exact.exact_rows`."""
    body = [
        (
            f"{format_bytes(row['bytes'])}, {row['mode']}",
            row["class"],
            f"{row['samples']:,}",
            *(
                measured_seconds(each)
                for each in (row["min_s"], row["mean_s"], row["median_s"], row["p99_s"], row["max_s"])
            ),
        )
        for row in rows
    ]
    heading = (Words("Message, pairs"), Words("hops"), "samples", "min", "mean", "median", "p99", "max")
    return Table(view.titled("Half a round trip over all samples, exact"), heading, tuple(body))
