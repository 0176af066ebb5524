# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over message sizes for the report: each line with its change-overs, and their knobs in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.analyse.tables.answers import CHANGES, SLOWER, ChangeRow, SlowerRow, cause_text
from weft.analyse.tables.times import RARE, CallRow, TimedRow, timed
from weft.analyse.tables.trials import TRIALS, TrialRow
from weft.kernel.line_name import cell_place, line_name
from weft.kernel.sizes import split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Cell, Plan

OF_MEMORY = "the memory, no protocol"


@dataclass(frozen=True)
class Line:
    """One operation of one cell, by size.

    Attributes
    ----------
    cell
        Its cell in the plan.
    call
        The operation: ``alltoall``.
    rows
        Rows of the table of calls with a time, warm, ascending in size.
    changes, slower, trials
        Its change-overs, the sizes that take longer than their double, and the knobs that were moved.
    """

    cell: Cell
    call: str
    rows: tuple[TimedRow, ...]
    changes: tuple[ChangeRow, ...]
    slower: tuple[SlowerRow, ...]
    trials: tuple[TrialRow, ...] = ()

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
    groups: dict[tuple[str, str], list[TimedRow]] = {}
    for row in timed(calls, phase="warm"):
        call, size = split_op(row["call"])
        if size is not None:
            groups.setdefault((row["cell"], call), []).append(row)
    changes, slower, trials = CHANGES.read(path), SLOWER.read(path), TRIALS.read(path)
    return [
        Line(
            cell,
            call,
            tuple(sorted(rows, key=size_of)),
            tuple(row for row in changes if (row["cell"], row["call"]) == (cell.id, call)),
            tuple(row for row in slower if (row["cell"], row["call"]) == (cell.id, call)),
            tuple(row for row in trials if (row["cell"], row["call"]) == (cell.id, call)),
        )
        for cell in plan.measured
        for (name, call), rows in groups.items()
        if name == cell.id
    ]


def cause(change: ChangeRow) -> str:
    """What made a change-over: a recorded switch of the algorithm, a knob, perhaps or confirmed; or none is known."""
    if change["kind"] == "cache":
        return OF_MEMORY
    return cause_text(change)


def all_sizes(lines: Sequence[Line]) -> list[int]:
    """All sizes of some lines, ascending."""
    return sorted({size_of(row) for line in lines for row in line.rows})
