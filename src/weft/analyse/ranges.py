# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of modelled times: what the model of a fabric leaves out, as intervals of rows and as findings."""

from collections.abc import Mapping, Sequence

from weft.analyse.checks import finding
from weft.analyse.interval import MODELLED, RANGE_OF_MODEL
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.times import CallRow
from weft.bound.effects import CAUSES
from weft.format import measured_seconds
from weft.kernel.line_name import cell_place
from weft.plan.records import Cell


def ranged(row: CallRow, cell: Cell) -> CallRow:
    """A modelled row with the range of what its model leaves out, if it does (:mod:`weft.bound.effects`)."""
    bound, seconds = cell.bounds.get(row["call"]), row["median_s"]
    if bound is None or not bound.effects or seconds is None or row["interval"] != MODELLED:
        return row
    less_s = sum(effect.less_s for effect in bound.effects)
    row["low_s"] = max(min(bound.seconds, seconds), seconds - less_s)
    row["high_s"] = seconds + sum(effect.more_s for effect in bound.effects)
    row["interval"] = RANGE_OF_MODEL
    return row


def range_findings(rows: Sequence[CallRow], cells: Mapping[str, Cell]) -> list[FindingRow]:
    """A note for each effect that the model of the run's fabric leaves out, with the row that it widens most.

    Parameters
    ----------
    rows
        The table of calls.
    cells
        The plan's cells by id.
    """
    told: list[FindingRow] = []
    own = [row for row in rows if row["interval"] == RANGE_OF_MODEL]
    causes = {effect.cause for row in own for effect in cells[row["cell"]].bounds[row["call"]].effects}
    for cause in sorted(causes):
        widened = [row for row in own if cause in cells[row["cell"]].bounds[row["call"]].causes]
        worst = max(widened, key=_width)
        where = f"{worst['call']}, {cell_place(worst['nodes'], worst['ranks'], worst['oversubscribed'])}"
        span = f"{measured_seconds(worst['low_s'])} and {measured_seconds(worst['high_s'])}"
        text = f"{cause} is not modelled: {CAUSES[cause].what}; this time lies between {span}"
        more = f" (and {len(widened) - 1} more)" if len(widened) > 1 else ""
        told.append(finding("note", "range", where + more, text, CAUSES[cause].remedy))
    return told


def left_out(cells: Mapping[str, Cell], call: str) -> dict[str, str]:
    """Names of the effects that the model of a run's fabric leaves out of a call, by cell that has some."""
    bounds = {name: cell.bounds.get(call) for name, cell in cells.items()}
    return {
        name: ", ".join(each.cause for each in bound.effects)
        for name, bound in bounds.items()
        if bound and bound.effects
    }


def _width(row: CallRow) -> float:
    return (row["high_s"] or 0.0) / (row["low_s"] or 1.0)
