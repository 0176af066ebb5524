# SPDX-License-Identifier: BSD-3-Clause
"""Who wins where: the algorithms of a collective against each other and against the library's own choice."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.algorithms import DEFAULT
from weft.analyse.scaling import reach, times
from weft.report.numbers import seconds_text, size_text
from weft.report.sweeps import Line, all_sizes
from weft.report.view import Row
from weft.tabular import Table

#: A win by less is no reason to set a knob, and of nine algorithms one is so much faster by chance.
LEAST_WIN = 0.95


@dataclass(frozen=True)
class Winner:
    """The fastest algorithm of a call at one size and process count.

    Attributes
    ----------
    algorithm
        Its name; ``default`` where the library's own choice is not surely slower than any other.
    seconds, default_seconds
        Its time, and that of the library's own choice.
    low, high
        Interval of the ratio of the two, from the worst ends of both; None where the default won.
    """

    name: str
    nodes: int
    ranks: int
    bytes: int
    algorithm: str
    seconds: float
    default_seconds: float
    low: float | None
    high: float | None

    @property
    def ratio(self) -> float:
        """Time of the winner over that of the library's own choice."""
        return self.seconds / self.default_seconds


def winners(lines: Sequence[Line]) -> list[Winner]:
    """The winner of each call, shape and size for which the default and another algorithm were measured.

    An algorithm wins over the library's own choice only where their intervals, widened to the medians of the launches,
    do not meet, and it takes `LEAST_WIN` of the time at most.
    """
    groups: dict[tuple[str, int, int], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.name, line.cell.nodes, line.cell.ranks), []).append(line)
    found: list[Winner] = []
    for (name, nodes, ranks), group in groups.items():
        # sizes that refinement added to one algorithm would be won without the others
        shared = set.intersection(*(set(all_sizes([line])) for line in group))
        for size in sorted(shared):
            rows = {line.algorithm: row for line in group if (row := line.at(size))}
            if DEFAULT in rows and len(rows) > 1:
                found.append(_winner(name, nodes, ranks, size, rows))
    return found


def _winner(name: str, nodes: int, ranks: int, size: int, rows: dict[str, Row]) -> Winner:
    own = rows[DEFAULT]
    best = min(rows, key=lambda algorithm: rows[algorithm]["median_s"])
    (low, high), (own_low, own_high) = reach(rows[best]), reach(own)
    if best == DEFAULT or high >= own_low or rows[best]["median_s"] > LEAST_WIN * own["median_s"]:
        return Winner(name, nodes, ranks, size, DEFAULT, own["median_s"], own["median_s"], None, None)
    seconds = rows[best]["median_s"]
    return Winner(name, nodes, ranks, size, best, seconds, own["median_s"], low / own_high, high / own_low)


def winner_table(title: str, found: Sequence[Winner]) -> Table | None:
    """Sizes by process counts: the winner, and its time over the default's; None where nothing was compared."""
    shapes = sorted({(winner.nodes, winner.ranks) for winner in found})
    if not found:
        return None
    columns = ("Message", *(f"N = {nodes}, p = {ranks}" for nodes, ranks in shapes))
    rows = [("bytes", *("winner, x of the default's time",) * len(shapes))]
    known = {(winner.bytes, winner.nodes, winner.ranks): winner for winner in found}
    for size in sorted({winner.bytes for winner in found}):
        rows.append((size_text(size), *(_cell(known.get((size, *shape))) for shape in shapes)))
    return Table(title, columns, tuple(rows))


def _cell(winner: Winner | None) -> str:
    if winner is None:
        return "–"
    if winner.low is None or winner.high is None:
        return f"{winner.algorithm} {seconds_text(winner.seconds)}"
    return f"{winner.algorithm} {times(winner.ratio)} ({times(winner.low)}–{times(winner.high)})"
