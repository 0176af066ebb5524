# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of modelled times: what the model of a fabric leaves out, as intervals of rows and as findings."""

from collections.abc import Mapping, Sequence

from weft.analyse.checks import finding
from weft.analyse.interval import MODELLED, RANGE_OF_MODEL
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.times import CallRow
from weft.bound.effects import CAUSES
from weft.bound.effects import left_out as effects_left_out
from weft.fabric.model import Fabric
from weft.format import measured_seconds
from weft.kernel.line_name import cell_place
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell


def ranged(row: CallRow, cell: Cell, fabric: Fabric) -> CallRow:
    """A modelled row with the range of what its model leaves out, if it does (:mod:`weft.bound.effects`)."""
    bound, seconds = cell.bounds.get(row["call"]), row["median_s"]
    if seconds is None or row["interval"] != MODELLED:
        return row
    found = effects_left_out(cell, row["call"], fabric, seconds)
    if not found:
        return row
    least_s = min(bound.seconds if bound else 0.0, seconds)
    row["low_s"] = max(least_s, seconds - sum(effect.less_s for effect in found))
    row["high_s"] = seconds + sum(effect.more_s for effect in found)
    row["interval"] = RANGE_OF_MODEL
    return row


def range_findings(rows: Sequence[CallRow], cells: Mapping[str, Cell], fabric: Fabric) -> list[FindingRow]:
    """A note for each effect that the model of the run's fabric leaves out, with the row that it widens most.

    Times of pairs stand in a table of their own, without ranges: the note says so.

    Parameters
    ----------
    rows
        The table of calls.
    cells
        The plan's cells by id.
    fabric
        The fabric as planned.
    """
    told = [*_of_pairs(rows, cells, fabric)]
    own = [(row, _causes(row, cells, fabric)) for row in rows if row["interval"] == RANGE_OF_MODEL]
    for cause in sorted({cause for _, causes in own for cause in causes}):
        widened = [row for row, causes in own if cause in causes]
        worst = max(widened, key=_width)
        where = f"{worst['call']}, {cell_place(worst['nodes'], worst['ranks'], worst['oversubscribed'])}"
        span = f"{measured_seconds(worst['low_s'])} and {measured_seconds(worst['high_s'])}"
        text = f"{cause} is not modelled: {CAUSES[cause].what}; this time lies between {span}"
        more = f" (and {len(widened) - 1} more)" if len(widened) > 1 else ""
        told.append(finding("note", "range", where + more, text, CAUSES[cause].remedy))
    return told


def _causes(row: CallRow, cells: Mapping[str, Cell], fabric: Fabric) -> set[str]:
    found = effects_left_out(cells[row["cell"]], row["call"], fabric, row["median_s"] or 1.0)
    return {effect.cause for effect in found}


def _of_pairs(rows: Sequence[CallRow], cells: Mapping[str, Cell], fabric: Fabric) -> list[FindingRow]:
    """A note for each effect that reaches pairs which run side by side."""
    own = [row for row in rows if row["status"] == "ok" and kernel_named(row["kernel"]).has_pair_samples]
    causes = {cause for row in own for cause in _causes(row, cells, fabric)}
    text = "{} is not modelled: {}; times of pairs that run side by side are told without its range"
    return [
        finding("note", "range", own[0]["call"], text.format(cause, CAUSES[cause].what), CAUSES[cause].remedy)
        for cause in sorted(causes)
    ]


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
