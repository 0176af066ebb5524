# SPDX-License-Identifier: BSD-3-Clause
"""The story of a run, by its kernel: bars, tables, figures, JSON fields. Its claims are in `weft.analyse.claims`."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from weft.report.tabular import Table

if TYPE_CHECKING:
    from weft.report.bars import Bar
    from weft.report.figures.picture import Picture
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
        from weft.report.figures.times import draw_times

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
    module = import_module(own if find_spec(own) else f"{STORIES}.plain")
    story: type[Story] = module.STORY
    return story()
