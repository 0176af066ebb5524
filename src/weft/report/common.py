# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the page that every run has, whatever its kernel."""

from dataclasses import replace
from typing import TYPE_CHECKING

from weft.report.links import load_tables
from weft.report.sensitivity import UNITS, sensitivities, sensitivity_table
from weft.report.tabular import Table
from weft.report.view import RunView

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure


def common_figures(view: RunView) -> "list[Figure | Picture]":
    """Figures of every run, whatever its kernel: the load of the links, if it was counted."""
    from weft.report.figures.links import links_figure

    found: list[Figure | Picture | None] = [links_figure(view)]
    return [figure for figure in found if figure is not None]


def common_tables(view: RunView) -> list[Table]:
    """Tables of every run, whatever its kernel: the most loaded links, and what a simulated verdict hangs on."""
    title = view.titled("What the verdict depends on: each fitted or assumed number over its plausible range")
    hangs = sensitivity_table(sensitivities(view), title)
    return [*load_tables(view), *([replace(hangs, rows=(UNITS, *hangs.rows))] if hangs else [])]
