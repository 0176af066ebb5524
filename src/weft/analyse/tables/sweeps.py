# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over message sizes for the report: each line with its change-overs, and their knobs in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeVar

from weft.analyse.tables.answers import CHANGES, SLOWER, ChangeRow, SlowerRow, WinnerRow
from weft.analyse.tables.claims import OfCall
from weft.analyse.tables.times import RARE, CallRow, TimedRow, timed
from weft.kernel.sizes import cell_place, in_all, line_name, split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Cell, Plan
from weft.store.tables import Long, TableOf, grouped

Judgement = Literal["confirmed", "not confirmed", "not measured"]
Of = TypeVar("Of", bound=OfCall)


class TrialRow(OfCall):
    """A knob that was moved because of one change-over (``cell``, ``call``, ``lower``, ``upper`` in bytes). ``value``
    and ``moved`` are bytes, ``setting`` the environment variable that moves it, ``rounds`` the number of launches of
    each kind. ``old`` is the factor by which moving it changed the step at ``value``, ``new`` that at ``moved``,
    ``ratio`` the time of sizes from ``first`` to ``last`` (bytes) between the two values with the knob moved over that
    without; each with its interval over launches, null where too little was measured. ``why`` gives the judgement in
    words. ``far`` is a value farther away, at which the gain of the most likely knob was measured, with its own
    ``far_setting``, sizes and ratio of times; null and empty where it was not.
    """

    lower: Long
    upper: Long
    knob: str
    value: Long
    moved: Long
    setting: str
    outcome: Judgement
    rounds: int
    old: float | None
    old_low: float | None
    old_high: float | None
    new: float | None
    new_low: float | None
    new_high: float | None
    first: Long
    last: Long
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    why: str
    far: Long | None
    far_setting: str
    far_first: Long | None
    far_last: Long | None
    far_ratio: float | None
    far_ratio_low: float | None
    far_ratio_high: float | None


TRIALS = TableOf("knob_trials", TrialRow)


@dataclass(frozen=True)
class Line:
    """One operation of one cell, by size."""

    cell: Cell  # its cell in the plan
    call: str  # the operation: ``alltoall``
    rows: tuple[TimedRow, ...]  # rows of the table of calls with a time, warm, ascending in size
    changes: tuple[ChangeRow, ...]
    slower: tuple[SlowerRow, ...]  # sizes that take longer than their double
    trials: tuple[TrialRow, ...] = ()  # knobs that were moved

    @property
    def name(self) -> str:
        """The name of the MPI call, or the pattern of a bandwidth."""
        return line_name(self.call, self.cell.parameters)

    @property
    def place(self) -> str:
        """``N = 1, p = 4``, with a star if ranks share cores."""
        return cell_place(self.cell.nodes, self.cell.ranks, self.cell.oversubscribed)

    @property
    def algorithm(self) -> str:
        """``default``, or the algorithm that the library was set to."""
        return str(self.cell.parameters.get("algorithm", DEFAULT))

    @property
    def jumps(self) -> list[ChangeRow]:
        """The change-overs at which the time itself steps."""
        return [change for change in self.changes if change["kind"] == "jump"]

    @property
    def launches(self) -> int:
        """In how many launches most of its sizes were measured."""
        return max(row["launches"] for row in self.rows)

    def is_rare(self, row: TimedRow) -> bool:
        """Whether a size was measured in so few launches that it decides nothing."""
        return RARE * row["launches"] < self.launches

    def at(self, size: int) -> TimedRow | None:
        """The row of a size."""
        return next((row for row in self.rows if size_of(row) == size), None)


def size_of(row: Mapping[str, Any]) -> int:
    """Bytes in the name of a row's call."""
    return split_op(row["call"])[1] or 0


def lines_of(path: Path, plan: Plan, calls: Iterable[CallRow]) -> list[Line]:
    """Every line of a run with a time, in the order of its cells."""
    groups, changes, slower, trials = sized(calls), CHANGES.read(path), SLOWER.read(path), TRIALS.read(path)
    return [
        Line(cell, at[1], tuple(rows), _of(at, changes), _of(at, slower), _of(at, trials))
        for cell in plan.measured
        for at, rows in groups.items()
        if at[0] == cell.id
    ]


def sized(calls: Iterable[CallRow]) -> dict[tuple[str, str], list[TimedRow]]:
    """Warm rows of sizes, by cell and operation, ascending."""
    rows = sorted((row for row in timed(calls, phase="warm") if split_op(row["call"])[1] is not None), key=size_of)
    return grouped(rows, lambda row: (row["cell"], split_op(row["call"])[0]))


def _of(at: tuple[str, str], rows: Iterable[Of]) -> tuple[Of, ...]:
    return tuple(row for row in rows if (row["cell"], row["call"]) == at)


def all_sizes(lines: Sequence[Line]) -> list[int]:
    """All sizes of some lines, ascending."""
    return sorted({size_of(row) for line in lines for row in line.rows})


def own_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines under the library's own choice of algorithms; without any, all of them."""
    return [line for line in lines if line.algorithm == DEFAULT] or list(lines)


def largest_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines of the largest process count."""
    most = max(((line.cell.ranks, line.cell.nodes) for line in lines), default=None)
    return [line for line in lines if (line.cell.ranks, line.cell.nodes) == most]


def common_rows(lines: Sequence[Line]) -> list[tuple[Line, TimedRow]]:
    """The rows of some lines at the largest size that all of them have."""
    size = max(in_all(all_sizes([line]) for line in lines), default=None) if lines else None
    return [(line, row) for line in lines if size is not None and (row := line.at(size))]


def most_saved(rows: Iterable[WinnerRow]) -> WinnerRow:
    """The row at which an algorithm saves most."""
    return min(rows, key=lambda row: row["ratio"])


def beats(row: WinnerRow) -> bool:
    """Whether another algorithm is shown to be faster, its interval included."""
    return row["algorithm"] != DEFAULT and row["high"] is not None and row["high"] < 1


def find_stretches(found: Iterable[WinnerRow]) -> list[list[WinnerRow]]:
    """Neighbouring sizes of one call and shape at which one algorithm beats the library's own, the best first."""
    own: list[list[WinnerRow]] = []
    ordered = sorted(found, key=lambda row: (row["call"], row["nodes"], row["ranks"], row["bytes"]))
    for _, shape in groupby(ordered, key=lambda row: (row["call"], row["nodes"], row["ranks"])):
        for name, rows in groupby(shape, key=lambda row: row["algorithm"] if beats(row) else DEFAULT):
            own += [list(rows)] if name != DEFAULT else []
    return sorted(own, key=lambda rows: most_saved(rows)["ratio"])
