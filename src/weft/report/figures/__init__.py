# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run, and their files."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure
    from weft.report.view import RunView


def all_figures(view: "RunView") -> list["Figure | Picture"]:
    """Every figure of a run, in the order of the page: why it takes its time, its kernel's, then those of any run.

    What they show of a doubtful run is a supposition, as in its headline.
    """
    from weft.report.common import common_figures
    from weft.report.figures.breakdown import breakdown_figures
    from weft.report.headline import if_it_holds

    found = [*breakdown_figures(view), *view.story.figures(view), *common_figures(view)]
    return [replace(each, reading=if_it_holds(each.reading, view.quality)) if each.claims else each for each in found]
