# SPDX-License-Identifier: BSD-3-Clause
"""A table of texts, and its output formats."""

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from weft.text import csv_field, markdown_cell, markdown_text

MOST_LINES = 3  # lines of a cell in a terminal's table; where words need more, the table is a list
Row = TypeVar("Row")
Column: TypeAlias = tuple[str, str, Callable[[Row], str]]  # heading, second heading, and the text of a row
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?i?B(?:/s)?|s|ms|us|ns|%|x)(?!\w))")


class Words(str):
    """The heading of a column of words, aligned left."""


class Number(str):
    """The heading of a column of numbers, aligned right, as those are whose heading is a plain text."""


@dataclass(frozen=True)
class Table:
    """Rows of texts, with a heading for each column, which says whether they are words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> frozenset[int]:
        """Indices of columns of `Words`; the first where no heading says what its column holds."""
        if not any(isinstance(heading, (Words, Number)) for heading in self.columns):
            return frozenset({0})
        return frozenset(index for index, heading in enumerate(self.columns) if isinstance(heading, Words))


def make_table(title: str, rows: Iterable[Row], *columns: Column[Row]) -> Table:
    """A row of texts for each row of data, below a row of the second headings if any is not empty; no data, no row."""
    body = tuple(tuple(text(row) for _, _, text in columns) for row in rows)
    units = tuple(unit for _, unit, _ in columns)
    return Table(title, tuple(name for name, _, _ in columns), (units, *body) if body and any(units) else body)


def existing(*tables: Table) -> list[Table]:
    """The tables that have rows."""
    return [table for table in tables if table.rows]


def markdown(table: Table) -> str:
    """The table in Markdown, under its title."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"

    rule = ["---" if index in table.words else "---:" for index in range(len(table.columns))]
    head = [f"**{markdown_text(table.title)}**", "", line(table.columns), line(rule)]
    return "\n".join([*head, *map(line, table.rows)])


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV; None is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([csv_field(value) for value in row] for row in rows)
    return out.getvalue()


def terminal(table: Table, width: int = 120) -> Any:
    """The table for a rich console: words wrap, over `MOST_LINES` at most, numbers do not; a list if it is too wide."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    columns = list(zip(table.columns, *table.rows, strict=True))
    least = [_least(texts, index in table.words) for index, texts in enumerate(columns)]
    room = width - 3 * len(columns)
    widths, whole = [*least], [max(len(line) for text in texts for line in text.split("\n")) for texts in columns]
    lacking = {index: each - least[index] for index, each in enumerate(whole)}
    for index, more in sorted(lacking.items(), key=lambda each: each[1]):  # first those that lack fewest characters
        widths[index] += max(min(more, room - sum(widths)), 0)
    lines = (wrapped(cell, widths[k]).count("\n") for k in table.words for cell in columns[k][1:])
    if sum(least) > room or max(lines, default=0) >= MOST_LINES:
        return listed(table, width)
    looks: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "box": box.SIMPLE_HEAD, "pad_edge": False}
    drawn = RichTable(title=Text(table.title), **looks)
    for index, (heading, own) in enumerate(zip(table.columns, widths, strict=True)):
        number = index not in table.words
        # words too long for their column are wrapped, not truncated, and never within a name: users type it
        looks = {"justify": "right" if number else "left", "no_wrap": number, "overflow": "fold"}
        drawn.add_column(Text(wrapped(heading, own) if number else heading), min_width=least[index], width=own, **looks)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # Text: a "[" of a node set is no markup
    return drawn


def _least(texts: Sequence[str], words: bool) -> int:
    """Characters that a column needs, heading first: its longest word, or whole lines of numbers."""
    lines = [] if words else [line for text in texts[1:] for line in text.split("\n")]
    return max([1, *(len(part) for text in texts for part in text.split()), *map(len, lines)])


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Text over as many lines as it needs, broken between words alone; a number and its unit are one."""
    return "\n".join(
        textwrap.fill(
            _UNIT.sub("\N{NO-BREAK SPACE}", line), width, subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False,
        ).replace("\N{NO-BREAK SPACE}", " ")
        for line in text.split("\n")
    )  # fmt: skip


def listed(table: Table, width: int) -> Any:
    """The rows of a table one below the other, each as its first cell and then its other cells by their headings."""
    from rich.console import Group
    from rich.text import Text

    first, *headings = table.columns
    numbered = any(heading[:1].isdigit() for heading in headings)
    parts: list[Any] = [Text(wrapped(table.title, width), style="bold")]
    of = first.partition("\n")[0]
    for head, *cells in table.rows:
        known = zip(headings, (cell.replace("\n", ", ").replace(", (", " (") for cell in cells), strict=True)
        rest = [f"{list_heading(first, heading)}: {cell}" for heading, cell in known if cell.strip() not in ("", "–")]
        name = head.replace("\n", " ").strip()
        parts.append(Text(wrapped(name if numbered else f"{of}: {name}", width, "  ")))
        if rest:
            parts.append(Text(wrapped("    " + "; ".join(rest), width, "    ")))
    return Group(*parts)


def list_heading(first: str, heading: str) -> str:
    """A heading as it stands in a list: a bare number says what it is a number of, as the first column does."""
    parts = heading.split("\n")
    if heading[:1].isdigit():
        return ", ".join(" ".join(each) for each in zip(first.split("\n"), parts, strict=False))
    return parts[0] + (f" ({' '.join(parts[1:])})" if parts[1:] else "")
