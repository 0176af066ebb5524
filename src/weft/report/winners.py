# SPDX-License-Identifier: BSD-3-Clause
"""The table of winners: the fastest algorithm of a collective by size and process count."""

from collections.abc import Sequence

from weft.analyse.tables.answers import WinnerRow
from weft.format import exact_bytes, measured_factor, measured_seconds
from weft.report.tabular import Table


def winner_table(title: str, found: Sequence[WinnerRow]) -> Table | None:
    """Sizes by process counts: the winner, and its time over the default's; None if nothing was compared."""
    shapes = sorted({(winner["nodes"], winner["ranks"]) for winner in found})
    if not found:
        return None
    columns = ("Message", *(f"N = {nodes}, p = {ranks}" for nodes, ranks in shapes))
    rows = [("bytes", *("winner, x of the default's time",) * len(shapes))]
    known = {(winner["bytes"], winner["nodes"], winner["ranks"]): winner for winner in found}
    for size in sorted({winner["bytes"] for winner in found}):
        rows.append((exact_bytes(size), *(_cell(known.get((size, *shape))) for shape in shapes)))
    return Table(title, columns, tuple(rows))


def _cell(winner: WinnerRow | None) -> str:
    if winner is None:
        return "–"
    if winner["low"] is None or winner["high"] is None:
        return f"{winner['algorithm']} {measured_seconds(winner['median_s'])}"
    low, high = (winner["low"], winner["high"]) if winner["low"] < winner["high"] else (None, None)
    return f"{winner['algorithm']} {measured_factor(winner['ratio'], low, high)}"
