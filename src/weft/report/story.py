# SPDX-License-Identifier: BSD-3-Clause
"""What a run's report tells, by the kernel it measured: headline, tables, figures, findings. One story a kernel."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from weft.analyse.checks import Finding, common_findings
from weft.tabular import Table

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure
    from weft.report.view import RunView


#: Kernel -> module in weft.report.stories and its class, imported when it is asked for.
STORIES = {
    "bandwidth": ("bandwidth", "BandwidthStory"),
    "collective": ("collective", "CollectiveStory"),
    "exchange": ("exchange", "ExchangeStory"),
    "pairs": ("pairs", "PairsStory"),
}


class Story(Protocol):
    """What is told of one kernel's runs; subclass it and override what the kernel has to say."""

    def headline(self, view: "RunView") -> str:
        """The answer in one or two sentences."""
        ...

    def tables(self, view: "RunView") -> list[Table]:
        """Tables in the order they are read; each table's first row is its second heading."""
        ...

    def figures(self, view: "RunView") -> "list[Figure | Picture]":
        """Figures in the order of the page."""
        ...

    def findings(self, view: "RunView") -> list[Finding]:
        """What a reader must know about the numbers, errors first."""
        return common_findings(view.rows, view.table("cells"), view.floor, view.plan.measure.precision)

    def fields(self, view: "RunView") -> dict[str, Any]:
        """Further fields of ``weft show --format json`` (docs/show-json.md), as plain data."""
        return {}


def story_of(kernel: str) -> Story:
    """The story of a kernel; a plain one (every call with its time) where nobody has written it yet."""
    module, name = STORIES.get(kernel, ("plain", "PlainStory"))
    story: type[Story] = getattr(import_module(f"weft.report.stories.{module}"), name)
    return story()


def common_figures(view: "RunView") -> "list[Figure | Picture]":
    """Figures that stand on the page of every run, whatever its kernel: the load of the links, where it was counted."""
    from weft.report.figures.links import links_figure

    found: list[Figure | Picture | None] = [links_figure(view)]
    return [figure for figure in found if figure is not None]


def common_tables(view: "RunView") -> list[Table]:
    """Tables that stand on the page of every run, whatever its kernel: the most loaded links, where counted."""
    from weft.report.links import load_tables

    return load_tables(view)
