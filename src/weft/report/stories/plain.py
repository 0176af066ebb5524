# SPDX-License-Identifier: BSD-3-Clause
"""The story of a kernel without one of its own: every call with its time, without conclusions."""

from typing import TYPE_CHECKING

from weft.analyse.tables.times import phase_in_words
from weft.report.intervals import interval_heading
from weft.report.numbers import bound_text, time_text
from weft.report.story import Story
from weft.report.tabular import Table, Words
from weft.report.view import RunView

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure


class PlainStory(Story):
    """A table of calls."""

    def tables(self, view: RunView) -> list[Table]:
        """One table: a row for each cell, call and phase."""
        heading, counts = (Words("call"), Words("phase"), "N", "p", "time", "at least"), ("nodes", "ranks")
        rows = [
            (row["call"], phase_in_words(row), *(f"{row[key]:,}" for key in counts), time_text(row), bound_text(row))
            for row in view.rows
        ]
        units = ("", "", "nodes", "processes", interval_heading(view.rows), "bound")
        return [Table(view.titled("Calls"), heading, (units, *rows))]

    def figures(self, view: RunView) -> "list[Figure | Picture]":
        """None: the figures depend on the kernel."""
        return []


STORY = PlainStory
