# SPDX-License-Identifier: BSD-3-Clause
"""Fastest algorithms: those of a collective against each other and against the library's own choice."""

from collections.abc import Iterable, Mapping, Sequence

from weft.analyse.tables.answers import WinnerRow
from weft.analyse.tables.times import CallRow, TimedRow, reach, timed
from weft.kernel.sizes import in_all, split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Cell

#: A smaller gain is no reason to set a knob, and among nine algorithms one is this much faster by chance.
LEAST_WIN = 0.95
#: Algorithm -> size in bytes -> its row.
Group = dict[str, dict[int, TimedRow]]


def winners(rows: Iterable[CallRow], cells: Sequence[Cell]) -> list[WinnerRow]:
    """The winner of each call, shape and size for which the default and another algorithm were measured.

    An algorithm beats the library's own choice only if their intervals, widened to the medians of the launches, do not
    overlap, and it takes at most `LEAST_WIN` of the time.

    Parameters
    ----------
    rows
        The table of calls.
    cells
        The plan's cells.
    """
    algorithms = {cell.id: str(cell.parameters.get("algorithm", DEFAULT)) for cell in cells}
    order = {name: place for place, name in enumerate(algorithms)}
    groups: dict[tuple[str, int, int], Group] = {}
    for row in sorted(timed(rows, phase="warm"), key=lambda row: order[row["cell"]]):
        name, size = split_op(row["call"])
        if size is not None:
            own = groups.setdefault((name, row["nodes"], row["ranks"]), {})
            own.setdefault(algorithms[row["cell"]], {})[size] = row
    found: list[WinnerRow] = []
    for (name, _, _), group in groups.items():
        # sizes that refinement added for one algorithm only would be won without competition
        shared = in_all(group.values())
        if DEFAULT in group and len(group) > 1:
            found += [_winner(name, size, {each: own[size] for each, own in group.items()}) for size in sorted(shared)]
    return found


def _winner(name: str, size: int, rows: Mapping[str, TimedRow]) -> WinnerRow:
    own = rows[DEFAULT]
    best = min(rows, key=lambda algorithm: rows[algorithm]["median_s"])
    (low, high), (own_low, own_high) = reach(rows[best]), reach(own)
    won = best != DEFAULT and high < own_low and rows[best]["median_s"] <= LEAST_WIN * own["median_s"]
    fastest = rows[best] if won else own
    return WinnerRow(
        call=name, nodes=own["nodes"], ranks=own["ranks"], bytes=size, algorithm=best if won else DEFAULT,
        median_s=fastest["median_s"], default_s=own["median_s"], ratio=fastest["median_s"] / own["median_s"],
        low=low / own_high if won else None, high=high / own_low if won else None,
    )  # fmt: skip
