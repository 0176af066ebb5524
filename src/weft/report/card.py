# SPDX-License-Identifier: BSD-3-Clause
"""The card of a run on the terminal: its title, then the rows that every medium has (`weft.words.card`)."""

import textwrap
from typing import Any

from weft.analyse.tables.quality import Grade
from weft.format import plural
from weft.report.view import RunView, load_view
from weft.text import console, one_line
from weft.words.card import Card, card_rows
from weft.words.row import Row

LABEL, INDENT = 21, 2
GRADES = {"A": "green", "B": "", "C": "yellow", "D": "bold red"}


def print_card(run: Any, out: Any = None) -> None:
    """Print the card of a run folder (or `RunView`) whose tables exist, as wide as the terminal."""
    view = run if isinstance(run, RunView) else load_view(run)
    print_rows(card_of(view), view.confidence, out or console(120))


def print_rows(card: Card, grade: Grade, out: Any) -> None:
    """Print a card, its answer in the colour of its confidence."""
    for place, line in enumerate(card_lines(card, out.width)):
        styled = place == 2 and bool(card.rows)
        out.print(line, style="bold" if place == 0 else f"bold {GRADES[grade]}".rstrip() if styled else "")


def card_text(view: RunView) -> str:
    """The card of a run as the terminal prints it, with its colours."""
    out = console(120, stderr=True)
    with out.capture() as captured:
        print_card(view, out)
    return captured.get()


def card_of(view: RunView) -> Card:
    """The card of a run."""
    return Card(view.name, run_facts(view), tuple(with_folder(row, view) for row in card_rows(view.claims)))


def run_facts(view: RunView) -> tuple[str, ...]:
    """MPI library, nodes, ranks, and what kind of network a run is of where that is no real one."""
    shapes = [(cell.nodes, cell.ranks) for cell in view.plan.measured]
    nodes, ranks = (max(each) for each in zip(*shapes, strict=True)) if shapes else (0, 0)
    sizes = (plural(nodes, "node"), plural(ranks, "rank")) if shapes else ()
    return tuple(filter(None, (view.mpi, *sizes, view.label)))


def with_folder(row: Row, view: RunView) -> Row:
    """A row whose commands name the run's folder."""
    folder = str(view.path)
    return row._replace(value=row.value.replace("{run}", folder), next=row.next.replace("{run}", folder))


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
    whole = one_line(row.text)
    if len(whole) <= room:
        lines = [whole]
    else:
        parts = [one_line(part) for part in (row.value, row.note) if part]
        lines = [
            line for part in parts for line in textwrap.wrap(part, room, break_long_words=False, break_on_hyphens=False)
        ]
    lines += textwrap.wrap(one_line(row.next), room, break_long_words=False, break_on_hyphens=False)
    return [f"{head}{lines[0] if lines else ''}".rstrip(), *(f"{behind}{line}" for line in lines[1:])]
