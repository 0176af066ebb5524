# SPDX-License-Identifier: BSD-3-Clause
"""The story of a run, by its kernel: headline, tables, figures, JSON fields. One story per kernel."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from weft.report.tabular import Table

if TYPE_CHECKING:
    from weft.report.bars import Bar
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure
    from weft.report.headline import Number
    from weft.report.view import RunView


STORIES = "weft.report.stories"


class Story(Protocol):
    """The report on runs of one kernel; a kernel's story derives from this and overrides its parts.

    ``streams``: its times are those of messages in a stream, so that size over time is a bandwidth.
    """

    streams = False

    def finding(self, view: "RunView") -> str:
        """What was found, in one or two sentences, without a cause."""
        ...

    def answers(self, view: "RunView") -> bool:
        """Whether the finding rests on times; False where it says that there is no answer, or why none is claimed."""
        return any(row["samples"] for row in view.rows)

    def cause(self, view: "RunView") -> str:
        """What causes it, in one or two sentences; empty where nothing says so."""
        return ""

    def advice(self, view: "RunView") -> str:
        """What to try, in a sentence; empty where nothing is known to help."""
        return ""

    def caution(self, view: "RunView") -> str:
        """What the finding hangs on, where that is a guess; empty where it is none."""
        return ""

    def line(self, view: "RunView") -> str:
        """The answer at a glance: a few words."""
        return self.finding(view).partition(". ")[0].rstrip(".")

    def numbers(self, view: "RunView") -> "list[Number]":
        """Up to two large numbers of the verdict card, the most telling first."""
        return []

    def bars(self, view: "RunView") -> "list[Bar]":
        """Times to draw as bars under the verdict on a terminal."""
        return []

    def tables(self, view: "RunView") -> list[Table]:
        """Tables in reading order; each table's first row is its second heading."""
        ...

    def figures(self, view: "RunView") -> "list[Figure | Picture]":
        """Figures in the order of the page."""
        ...

    def fields(self, view: "RunView") -> dict[str, Any]:
        """Further fields of ``weft show --format json`` (docs/show-json.md), as plain data."""
        return {}


def story_of(kernel: str) -> Story:
    """The story of a kernel: ``STORY`` of the module in `weft.report.stories` that has the kernel's name.

    Without such a module it is a plain one (every call with its time).
    """
    own = f"{STORIES}.{kernel}"
    module = import_module(own if find_spec(own) else f"{STORIES}.plain")
    story: type[Story] = module.STORY
    return story()
