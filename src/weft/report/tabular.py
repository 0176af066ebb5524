# SPDX-License-Identifier: BSD-3-Clause
"""A table of texts, and its output formats."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.text import csv_field, markdown_cell, markdown_text


@dataclass(frozen=True)
class Table:
    """Rows of texts, with a heading for each column.

    Attributes
    ----------
    words
        Indices of columns with words, aligned left; the others (numbers) are aligned right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset({0})


def markdown(table: Table) -> str:
    """The table in Markdown, under its title."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"

    rule = ["---" if index in table.words else "---:" for index in range(len(table.columns))]
    return "\n".join(
        [f"**{markdown_text(table.title)}**", "", line(table.columns), line(rule), *(line(row) for row in table.rows)]
    )


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV; None is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([csv_field(value) for value in row] for row in rows)
    return out.getvalue()


def longest_word(texts: Sequence[str]) -> int:
    """Characters of the longest part that stands between spaces: a name with underscores is one."""
    return max((len(part) for text in texts for part in text.split()), default=1)


def shared_out(columns: Sequence[Sequence[str]], room: int) -> list[int | None]:
    """Characters for each column, each at least its longest word and all together ``room``; None where that is too few.

    Columns that need least to stand on one line get it first.
    """
    least = [longest_word(texts) for texts in columns]
    wanted = [max(len(line) for text in texts for line in text.split("\n")) for texts in columns]
    left = room - sum(least)
    if left < 0:
        return [None] * len(columns)
    widths: list[int | None] = list(least)
    for index in sorted(range(len(columns)), key=lambda each: wanted[each] - least[each]):
        more = min(wanted[index] - least[index], left)
        widths[index] = least[index] + more
        left -= more
    return widths


def terminal(table: Table, width: int = 120) -> Any:
    """The table for a rich console of so many characters: words wrap between words, numbers only if they must."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(table.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    columns = list(zip(table.columns, *table.rows, strict=True))
    whole = (
        longest_word(texts) if index in table.words else max(len(line) for text in texts for line in text.split("\n"))
        for index, texts in enumerate(columns)
    )
    fits = sum(whole) + 3 * len(columns) <= width
    given: list[int | None] = [None] * len(columns)
    if not fits:  # left to itself, rich makes columns narrower than their least, then cuts off the last ones
        given = shared_out(columns, width - 3 * len(columns))
    for index, (heading, own) in enumerate(zip(table.columns, given, strict=True)):
        justify = "left" if index in table.words else "right"
        # words too long for their column are wrapped, not truncated, and never within a name: users type it
        least, kept = longest_word(columns[index]), fits and index not in table.words
        drawn.add_column(Text(heading), justify=justify, no_wrap=kept, overflow="fold", min_width=least, width=own)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # Text: a "[" of a node set is no markup
    return drawn
