# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft why`` prints: a sentence for each all-to-all, and its breakdown as bars from the floor up."""

import json
from collections.abc import Sequence
from itertools import groupby

from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow
from weft.errors import DataError
from weft.format import exact_bytes, format_factor, format_seconds
from weft.kernel.line_name import cell_place, line_name
from weft.kernel.sizes import split_op
from weft.report.card import card_lines, card_of
from weft.report.view import CALLS, RunView
from weft.words.say import say

WIDTH = 40
SCHEMA = "weft-why/1"


def breakdowns(view: RunView) -> list[list[BreakdownRow]]:
    """The steps of each call that has a breakdown, from the floor up; calls of ranks that shared cores come last."""
    found = [list(group) for _, group in groupby(BREAKDOWN.read(view.path), key=lambda row: (row["cell"], row["call"]))]
    return sorted(found, key=lambda rows: view.plan.cell(rows[0]["cell"]).oversubscribed)


def explained(view: RunView) -> list[list[BreakdownRow]]:
    """The same, of a run that has some.

    Raises DataError: Nothing was explained.
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
    """The card, then the breakdown of each call as bars, as far as the run may claim it.

    Raises DataError: nothing was explained.
    """
    found = _claimed(view, explained(view))
    lines = card_lines(card_of(view), 120)
    for rows in found:
        lines += ["", title(view, rows[0]), f"  {say_breakdown(view, rows[0])}", *bars(rows)]
    return "\n".join(lines) + "\n"


def _claimed(view: RunView, found: list[list[BreakdownRow]]) -> list[list[BreakdownRow]]:
    """The breakdowns that the run claims."""
    known = {(each["cell"], each["call"]) for each in view.claims if each["id"].startswith("breakdown.")}
    return [rows for rows in found if (rows[0]["cell"], rows[0]["call"]) in known]


def say_breakdown(view: RunView, row: BreakdownRow) -> str:
    """The breakdown of a call on one line: ``hardware 343 ms · messages +12 % · contention none detected``."""
    own = [each for each in view.claims if (each["cell"], each["call"]) == (row["cell"], row["call"])]
    rows = [say(each) for each in own if each["id"].startswith("breakdown.")]
    return " · ".join(f"{each.label} {each.value}" for each in rows)


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

    Raises DataError: nothing was explained.
    """
    tree = [
        {"cell": rows[0]["cell"], "call": rows[0]["call"], "statement": say_breakdown(view, rows[0]), "steps": rows}
        for rows in _claimed(view, explained(view))
    ]
    card = [row._asdict() for row in card_of(view).rows]
    head = {"schema": SCHEMA, "run": view.name, "label": view.label, "mpi": view.mpi, "card": card}
    return json.dumps(head | {"breakdowns": tree}, indent=1) + "\n"
