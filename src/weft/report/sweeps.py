# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over message sizes as the report reads them: each line, its change-overs, the knobs that explain them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from weft.algorithms import DEFAULT
from weft.analyse.changeover import ChangeOver, changes_of
from weft.analyse.changeover_series import SizeSeries, size_series
from weft.analyse.changeover_slower import Slower, slower_than_double
from weft.kernel.sizes import split_op
from weft.knobs import Knobs, NamedKnob, Where, all_values
from weft.plan import Cell
from weft.report.view import Row, RunView

#: Words of a knob that make it an eager limit: where a library stops sending at once.
EAGER_WORDS = ("eager", "rndv_thresh", "p2p_threshold", "cell_size", "cell_fwd")


@dataclass(frozen=True)
class NamedChange:
    """A change-over and what explains it.

    Attributes
    ----------
    knob
        The library's variable that stands at this size; None where none does.
    usual
        What moves such a point usually; told where no knob is named.
    """

    change: ChangeOver
    knob: NamedKnob | None
    usual: str

    @property
    def is_eager_limit(self) -> bool:
        """Whether the knob is an eager limit by its name."""
        names = " ".join(self.knob.names).lower() if self.knob else ""
        return any(word in names for word in EAGER_WORDS)

    def cause(self) -> str:
        """The knob with its present value, or that none is known here."""
        return self.knob.text() if self.knob else "no knob of this library is known at this size"

    def as_json(self) -> Row:
        """Fields of ``change_overs`` in ``weft show --format json``."""
        row = asdict(self.change)
        row["call"] = row.pop("name")
        knob = self.knob
        return row | {
            "knobs": list(knob.names) if knob else [],
            "knob_value": knob.value if knob else None,
            "knob_meaning": knob.what if knob else "",
            "usual_knob": "" if knob else self.usual,
        }


@dataclass(frozen=True)
class Line:
    """One operation of one cell along the sizes.

    Attributes
    ----------
    cell
        Of the plan.
    name
        The operation: ``alltoall``.
    rows
        Rows of the table of calls with a time, warm, ascending in size.
    changes, slower
        Its change-overs, and the sizes that take longer than their double.
    """

    cell: Cell
    name: str
    rows: tuple[Row, ...]
    changes: tuple[NamedChange, ...]
    slower: tuple[Slower, ...]

    @property
    def place(self) -> str:
        """``N = 1, p = 4``, with a star where ranks share cores."""
        return f"N = {self.cell.nodes}, p = {self.cell.ranks}{' *' if self.cell.oversubscribed else ''}"

    @property
    def algorithm(self) -> str:
        """``default``, or the algorithm that the library was told."""
        return str(self.cell.parameters.get("algorithm", DEFAULT))

    @property
    def jumps(self) -> list[NamedChange]:
        """The change-overs at which the time itself steps."""
        return [named for named in self.changes if named.change.kind == "jump"]

    def at(self, size: int) -> Row | None:
        """The row of a size."""
        return next((row for row in self.rows if size_of(row) == size), None)


def size_of(row: Row) -> int:
    """Bytes in the name of a row's call."""
    return split_op(row["call"])[1] or 0


def lines_of(view: RunView) -> list[Line]:
    """Every line of a run that has a time, in the order of its cells."""
    cells = {cell.id: cell for cell in view.plan.measured}
    knobs = launch_knobs(view)
    found = [
        _line(cells[series.cell], series, knobs.get(series.cell, Knobs("", {})))
        for series in size_series(view.rows, view.table("medians"))
        if series.cell in cells
    ]
    order = {name: place for place, name in enumerate(cells)}
    return sorted(found, key=lambda line: order[line.cell.id])


def _line(cell: Cell, series: SizeSeries, knobs: Knobs) -> Line:
    collective = "" if cell.kernel == "bandwidth" else series.name.partition("-")[0]
    where: Where = "node" if cell.nodes == 1 else "both" if collective else "network"
    changes = tuple(
        NamedChange(
            change,
            # a bend is not named: a cache that overflows bends a curve as well, at a size that some knob has by chance
            None if change.kind == "bend" else knobs.near(change.lower, change.upper, where, collective),
            knobs.usual(where, collective),
        )
        for change in changes_of(series)
    )
    return Line(cell, series.name, series.rows, changes, tuple(slower_than_double(series)))


def launch_knobs(view: RunView) -> dict[str, Knobs]:
    """The knobs of each cell: what its launches agree on."""
    launches = {row["launch_id"]: row for row in view.table("launches")}
    of_cell: dict[str, list[Row]] = {}
    for row in view.table("cells"):
        if row["launch_id"] in launches:
            of_cell.setdefault(row["cell"], []).append(launches[row["launch_id"]])
    return {cell: _knobs(rows) for cell, rows in of_cell.items()}


def _knobs(launches: Sequence[Row]) -> Knobs:
    values = all_values([_texts(row, "named_settings") | _texts(row, "settings") for row in launches])
    return Knobs(launches[0]["mpi_library"] or "", values)


def _texts(row: Row, key: str) -> dict[str, str]:
    found: Any = json.loads(row.get(key) or "{}")
    return {name: str(value) for name, value in found.items()}


def all_sizes(lines: Sequence[Line]) -> list[int]:
    """Every size that one of some lines has, ascending."""
    return sorted({size_of(row) for line in lines for row in line.rows})
