# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run, and their files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure
    from weft.report.view import RunView


def all_figures(view: "RunView") -> list["Figure | Picture"]:
    """Every figure of a run, in the order of the page: the breakdown, its kernel's, then those of any run."""
    from weft.report.common import common_figures
    from weft.report.figures.breakdown import breakdown_figures

    return [*breakdown_figures(view), *view.story.figures(view), *common_figures(view)]
