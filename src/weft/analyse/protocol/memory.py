# SPDX-License-Identifier: BSD-3-Clause
"""Effects of memory on a series of sizes, distinguished from those of the library.

A library changes its protocol at a size, whatever memory the messages lie in. So where one pair was measured both hot
and cold, a change-over that one of the two series has and the other has not, though it covers the sizes, is the
memory's: a cache that overflows, a prefetcher that starts. No knob of the library is named for it.
"""

from collections.abc import Mapping, Sequence

from weft.analyse.protocol.fit import LEAST
from weft.analyse.protocol.series import SizeSeries
from weft.analyse.tables.answers import ChangeRow
from weft.plan.records import Cell

Cells = Mapping[str, Cell]

#: Change-overs of two series are one where their sizes are no further apart than this: each was refined by itself.
NEAR = 2.0
#: What differs between the hot cell of a pair and its cold one.
OF_MEMORY = frozenset({"cache", "footprint", "bytes"})


def told_apart(changes: Sequence[ChangeRow], series: Sequence[SizeSeries], cells: Cells) -> list[ChangeRow]:
    """The change-overs, those of memory with the kind ``cache`` and without a knob.

    Parameters
    ----------
    changes
        Of all series of a run.
    series
        Those series.
    cells
        The plan's cells by id.
    """
    sizes = {(each.cell, each.name): each.sizes for each in series}
    found: list[ChangeRow] = []
    for change in changes:
        twins = [
            cell
            for cell in _twins(change["cell"], cells)
            if _covers(sizes.get((cell, change["call"]), ()), change["lower"], change["upper"])
        ]
        alone = [cell for cell in twins if not any(_same(change, other) for other in changes if other["cell"] == cell)]
        found.append(_of_memory(change) if alone else change)
    return found


def _twins(name: str, cells: Cells) -> list[str]:
    """Cells that measure the same as one, in another memory."""

    def rest(cell: Cell) -> tuple[object, ...]:
        values = {key: value for key, value in cell.parameters.items() if key not in OF_MEMORY}
        return cell.kernel, cell.nodes, cell.ranks, values

    mine = cells[name]
    cache = mine.parameters.get("cache")
    return [
        other
        for other, cell in cells.items()
        if cache and cell.parameters.get("cache") not in (None, cache) and rest(cell) == rest(mine)
    ]


def _covers(sizes: Sequence[int], lower: int, upper: int) -> bool:
    """Whether a series has enough sizes on both sides of a gap to show what happens there."""
    return sum(size <= lower for size in sizes) >= LEAST and sum(size >= upper for size in sizes) >= LEAST


def _same(change: ChangeRow, other: ChangeRow) -> bool:
    """Whether a change-over of the other series lies where one lies, and goes the same way."""
    if change["call"] != other["call"]:
        return False
    near = other["lower"] <= NEAR * change["upper"] and change["lower"] <= NEAR * other["upper"]
    jumps = change["kind"] == other["kind"] == "jump"
    return near and (not jumps or (change["factor"] > 1) == (other["factor"] > 1))


def _of_memory(change: ChangeRow) -> ChangeRow:
    explained = change.copy()
    explained.update(
        kind="cache", knobs=[], knob_values=[], knob_value=None, knob_meaning="", usual_knob="", eager_limit=False
    )
    return explained
