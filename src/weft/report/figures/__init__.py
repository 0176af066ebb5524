# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run, and their files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.report.figures.theme import Figure
    from weft.report.view import RunView


def all_figures(view: "RunView") -> list["Figure"]:
    """Every figure of a run, in the order of the page."""
    from weft.report.figures.calls import calls_figure
    from weft.report.figures.scaling import scaling_figure
    from weft.report.figures.schematic import schematic_figure
    from weft.report.figures.spread import spread_figure

    verdicts = {verdict.series: verdict for verdict in view.verdicts}
    medians = view.table("medians")
    found = [scaling_figure(view, series, verdicts.get(series.name), medians) for series in view.plan.series]
    first = next(iter(view.plan.series), None)
    found.append(calls_figure(view, first) if first else None)
    found += [schematic_figure(view), spread_figure(view, view.table("iterations"))]
    return [figure for figure in found if figure is not None]
