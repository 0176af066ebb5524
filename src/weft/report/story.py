# SPDX-License-Identifier: BSD-3-Clause
"""The story of a run, by its kernel: bars, tables, figures, JSON fields. Its claims are in `weft.analyse.claims`."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from weft.analyse.tables.times import phase_in_words
from weft.report.intervals import bound_text, interval_heading, time_text
from weft.report.tabular import Table, Words

if TYPE_CHECKING:
    from weft.report.bars import Bar
    from weft.report.figures import Picture
    from weft.report.figures.theme import Figure
    from weft.report.view import RunView


STORIES = "weft.report.stories"


class Story(Protocol):
    """The report on runs of one kernel; a kernel's story derives from this and overrides its parts.

    ``streams``: its times are those of messages in a stream, so that size over time is a bandwidth.
    """

    streams = False

    def bars(self, view: "RunView") -> "list[Bar]":
        """Times to draw as bars under the verdict on a terminal."""
        return []

    def bars_of(self, view: "RunView") -> str:
        """What the bars are times of: ``MPI_Alltoall, 10 MiB per rank``."""
        return ""

    def proof(self, view: "RunView", figures: "Sequence[Figure | Picture]") -> "list[Figure | Picture]":
        """The pictures beside the card, which prove its answer: the first of its ``figures``, or else bars."""
        from weft.report.bars import draw_times

        bars = None if figures else draw_times(view)
        return [bars] if bars else list(figures[:1])

    def tables(self, view: "RunView") -> list[Table]:
        """Tables in reading order; each table's first row is its second heading."""
        ...

    def figures(self, view: "RunView") -> "list[Figure | Picture]":
        """Figures in the order of the page."""
        ...

    def fields(self, view: "RunView") -> dict[str, Any]:
        """Further fields of ``weft show --format json`` (docs/dev/show-json.md), as plain data."""
        return {}


def story_of(kernel: str) -> Story:
    """The story of a kernel: ``STORY`` of the module in `weft.report.stories` that has the kernel's name.

    Without such a module it is a plain one (every call with its time).
    """
    own = f"{STORIES}.{kernel}"
    story: type[Story] = import_module(own).STORY if find_spec(own) else PlainStory
    return story()


class PlainStory(Story):
    """A table of calls."""

    def tables(self, view: "RunView") -> list[Table]:
        """One table: a row for each cell, call and phase."""
        heading, counts = (Words("call"), Words("phase"), "N", "p", "time", "at least"), ("nodes", "ranks")
        rows = [
            (row["call"], phase_in_words(row), *(f"{row[key]:,}" for key in counts), time_text(row), bound_text(row))
            for row in view.rows
        ]
        units = ("", "", "nodes", "processes", interval_heading(view.rows), "bound")
        return [Table(view.titled("Calls"), heading, (units, *rows))]

    def figures(self, view: "RunView") -> "list[Figure | Picture]":
        """None: the figures depend on the kernel."""
        return []
