# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft why`` prints: a sentence for each all-to-all, and its breakdown as bars from the floor up."""

import json
from collections.abc import Sequence
from itertools import groupby

from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow
from weft.errors import DataError
from weft.fabric.kinds import KINDS
from weft.format import exact_bytes, format_factor, format_seconds, plural
from weft.kernel.line_name import cell_place, line_name
from weft.kernel.sizes import split_op
from weft.report.headline import doubted
from weft.report.view import CALLS, RunView

WIDTH = 40
SCHEMA = "weft-why/1"

NO_STEP = "At this quality no step is named as a cause: stop what disturbs the run, and measure again."


def breakdowns(view: RunView) -> list[list[BreakdownRow]]:
    """The steps of each call that has a breakdown, from the floor up; calls of ranks that shared cores come last."""
    found = [list(group) for _, group in groupby(BREAKDOWN.read(view.path), key=lambda row: (row["cell"], row["call"]))]
    return sorted(found, key=lambda rows: view.plan.cell(rows[0]["cell"]).oversubscribed)


def explained(view: RunView) -> list[list[BreakdownRow]]:
    """The same, of a run that has some.

    Raises
    ------
    DataError
        Nothing was explained.
    """
    found = breakdowns(view)
    if not found:
        raise DataError(
            f"{view.path}: no all-to-all of this run has a breakdown",
            "measure a study of the kernel exchange (data = contention) or collective (Alltoall, Alltoallv), on two "
            "ranks or more, without explain = false",
        )
    return found


def title(view: RunView, row: BreakdownRow) -> str:
    """Which call a step is of (`call_title`)."""
    return call_title(view, row["cell"], row["call"])


def call_title(view: RunView, cell: str, op: str) -> str:
    """A call of a cell and its blocks: ``MPI_Alltoall, blocks of 64 KiB, N = 1, p = 4``."""
    found = view.plan.cell(cell)
    call, size = split_op(op)
    name = CALLS.get(call, line_name(call, found.parameters))
    place = cell_place(found.nodes, found.ranks, found.oversubscribed)
    return f"{name}, blocks of {exact_bytes(size or found.block_bytes)}, {place}"


def as_text(view: RunView) -> str:
    """What the run's own warnings doubt, sentences, bars, and what would move each step.

    Raises
    ------
    DataError
        Nothing was explained.
    """
    label = f" ({view.label})" if view.label else ""
    found = explained(view)
    lines = [f"{view.name}{label}, {view.mpi}", *_doubts(view, found)]
    for rows in _named(view, found):
        lines += ["", rows[0]["statement"], f"  {title(view, rows[0])}", *bars(rows)]
    return "\n".join(lines) + "\n"


def _named(view: RunView, found: list[list[BreakdownRow]]) -> list[list[BreakdownRow]]:
    """The breakdowns whose steps may be named: each is a cause, of which a run of quality D says none."""
    return [] if view.grade == "D" else found


def _doubts(view: RunView, found: Sequence[Sequence[BreakdownRow]]) -> list[str]:
    """What a reader has to know before the sentences: quality, what the model leaves out, steps without an interval."""
    doubt = doubted(view.quality)
    follows = NO_STEP if view.grade == "D" else "What follows is true only if the numbers hold."
    lines = [f"{doubt} {follows}"] if doubt else []
    lines += [f"{row['where']}: {row['what']}." for row in view.findings if row["rule"] == "range"]
    fewest = min(rows[0]["launches"] for rows in found)
    if fewest < FEWEST_LAUNCHES and not KINDS[view.plan.fabric_kind].is_model:
        lines.append(
            f"Of {plural(fewest, 'launch')}, where {FEWEST_LAUNCHES} are needed to tell a step from chance: "
            f"add launches with --launches {FEWEST_LAUNCHES}."
        )
    return lines


def bars(rows: Sequence[BreakdownRow]) -> list[str]:
    """A bar a step: what it adds stands where the step below ends; what it takes away is drawn hollow."""
    most = max(row["seconds"] for row in rows)
    before, lines = 0.0, list[str]()
    for row in rows:
        first, last = sorted((before, row["seconds"]))
        start, end = round(WIDTH * first / most), round(WIDTH * last / most)
        mark = "█" if row["seconds"] >= before else "░"
        drawn = (" " * start + mark * max(end - start, 0 if last == first else 1)).ljust(WIDTH)
        name = row["step"] + (f", {row['name']}" if row["name"] else "")
        lines.append(f"  {name:<28} {drawn} {format_seconds(row['seconds']):>9}{factor_text(row)}  [{row['mover']}]")
        before = row["seconds"]
    return lines


def factor_text(row: BreakdownRow) -> str:
    """``x 1.09 (1.05 to 1.14)``: over the step below, with its range over the launches."""
    if row["factor"] is None:
        return ""
    text = f"  x {format_factor(row['factor'])}"
    if row["factor_low"] is None or row["factor_high"] is None:
        return text
    return f"{text} ({format_factor(row['factor_low'])} to {format_factor(row['factor_high'])})"


def as_json(view: RunView) -> str:
    """The breakdowns as JSON: every step as its row of the table, under its call.

    Raises
    ------
    DataError
        Nothing was explained.
    """
    found = explained(view)
    told = [
        {"cell": rows[0]["cell"], "call": rows[0]["call"], "statement": rows[0]["statement"], "steps": rows}
        for rows in _named(view, found)
    ]
    head = {"schema": SCHEMA, "run": view.name, "label": view.label, "mpi": view.mpi, "doubts": _doubts(view, found)}
    return json.dumps(head | {"breakdowns": told}, indent=1) + "\n"
