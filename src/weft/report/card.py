# SPDX-License-Identifier: BSD-3-Clause
"""The card of a run on the terminal, its rows those of every medium (`weft.words.card`), and what ``weft why`` adds."""

import json
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow
from weft.errors import DataError
from weft.format import exact_bytes, format_factor, format_seconds, plural
from weft.kernel.sizes import cell_place, line_name, split_op
from weft.report.view import CALLS, RunView, load_view
from weft.text import console, one_line
from weft.words import Row
from weft.words.card import Card, card_rows, say

LABEL, INDENT, WIDTH, SCHEMA = 21, 2, 40, "weft-why/1"
GRADES = {"A": "green", "B": "", "C": "yellow", "D": "bold red"}


def print_card(run: Any, out: Any = None) -> None:
    """Print the card of a run folder (or `RunView`) whose tables exist, as wide as the terminal."""
    print_rows(card_of(run if isinstance(run, RunView) else load_view(run)), out or console(120))


def print_rows(card: Card, out: Any, *below: Any) -> None:
    """Print a card, its answer in the colour of its confidence, and what stands below it, each after an empty line."""
    for place, line in enumerate(card_lines(card, out.width)):
        styled = place == 2 and bool(card.rows)
        out.print(line, style="bold" if place == 0 else f"bold {GRADES[card.grade]}".rstrip() if styled else "")
    for each in below:
        out.print()
        out.print(each)


def card_text(view: RunView) -> str:
    """The card of a run as the terminal prints it, with its colours."""
    out = console(120, stderr=True)
    with out.capture() as captured:
        print_card(view, out)
    return captured.get()


def card_of(view: RunView) -> Card:
    """The card of a run."""
    rows = tuple(with_folder(row, view.path) for row in card_rows(view.claims))
    return Card(view.name, run_facts(view), rows, view.confidence)


def run_facts(view: RunView) -> tuple[str, ...]:
    """MPI library, nodes, ranks, and what kind of network a run is of where that is no real one."""
    shapes = [(cell.nodes, cell.ranks) for cell in view.plan.measured]
    nodes, ranks = (max(each) for each in zip(*shapes, strict=True)) if shapes else (0, 0)
    sizes = (plural(nodes, "node"), plural(ranks, "rank")) if shapes else ()
    return tuple(filter(None, (view.mpi, *sizes, view.label)))


def with_folder(row: Row, path: Path) -> Row:
    """A row whose commands name the folder of a run or trace."""
    return row._replace(value=row.value.replace("{run}", str(path)), next=row.next.replace("{run}", str(path)))


def card_lines(card: Card, width: int) -> list[str]:
    """Title and facts, an empty line, then a row each, wrapped behind its label."""
    facts = " · ".join(card.facts)
    room = width - len(card.title) - len(facts)
    head = [f"{card.title}{' ' * room}{facts}"] if room >= 3 else [card.title, facts]
    return [*map(one_line, head), "", *(line for row in card.rows for line in row_lines(row, width))]


def row_lines(row: Row, width: int) -> list[str]:
    """A row as lines of at most ``width`` characters."""
    behind = " " * (INDENT + LABEL)
    head = f"{' ' * INDENT}{row.label:<{LABEL - 1}} "
    room = max(width - len(behind), 20)

    def wrapped(text: str) -> list[str]:
        return textwrap.wrap(one_line(text), room, break_long_words=False, break_on_hyphens=False)

    lines = [one_line(row.text)]
    if len(lines[0]) > room:
        lines = [line for part in (row.value, row.note) for line in wrapped(part)]
    lines += wrapped(row.next)
    return [f"{head}{lines[0] if lines else ''}".rstrip(), *(f"{behind}{line}" for line in lines[1:])]


def breakdowns(view: RunView) -> list[list[BreakdownRow]]:
    """The steps of each call that has a breakdown, from the floor up; calls of ranks that shared cores come last."""
    found = [list(group) for _, group in groupby(BREAKDOWN.read(view.path), key=lambda row: (row["cell"], row["call"]))]
    return sorted(found, key=lambda rows: view.plan.cell(rows[0]["cell"]).oversubscribed)


def explained(view: RunView) -> list[list[BreakdownRow]]:
    """Those that the run claims, of a run that has some. Raises DataError: nothing was explained."""
    if not (found := breakdowns(view)):
        raise DataError(
            f"{view.path}: no all-to-all of this run has a breakdown",
            "measure a study of the kernel exchange (data = contention) or collective (Alltoall, Alltoallv), on two "
            "ranks or more, without explain = false",
        )
    known = {(each["cell"], each["call"]) for each in view.claims if each["id"].startswith("breakdown.")}
    return [rows for rows in found if (rows[0]["cell"], rows[0]["call"]) in known]


def call_title(view: RunView, cell: str, op: str) -> str:
    """A call of a cell and its blocks: ``MPI_Alltoall, blocks of 64 KiB, N = 1, p = 4``."""
    found = view.plan.cell(cell)
    call, size = split_op(op)
    name = CALLS.get(call, line_name(call, found.parameters))
    place = cell_place(found.nodes, found.ranks, found.oversubscribed)
    return f"{name}, blocks of {exact_bytes(size or found.block_bytes)}, {place}"


def as_text(view: RunView) -> str:
    """The card, then the breakdown of each call as bars, as far as the run may claim it."""
    found, lines = explained(view), card_lines(card_of(view), 120)
    for rows in found:
        name = call_title(view, rows[0]["cell"], rows[0]["call"])
        lines += ["", name, f"  {say_breakdown(view, rows[0])}", *bars(rows)]
    return "\n".join(lines) + "\n"


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
    """The breakdowns as JSON: every step as its row of the table, under its call."""
    tree = [
        {"cell": rows[0]["cell"], "call": rows[0]["call"], "statement": say_breakdown(view, rows[0]), "steps": rows}
        for rows in explained(view)
    ]
    card = [row._asdict() for row in card_of(view).rows]
    head = {"schema": SCHEMA, "run": view.name, "label": view.label, "mpi": view.mpi, "card": card}
    return json.dumps(head | {"breakdowns": tree}, indent=1) + "\n"
