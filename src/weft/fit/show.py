# SPDX-License-Identifier: BSD-3-Clause
"""Display of the result of a fit."""

from rich.console import Group
from rich.table import Table

from weft.fit.inputs import PARAMETERS
from weft.fit.squares import Fit
from weft.format import format_rate, format_seconds, relative_error


def describe_fit(fit: Fit, fabric: str, *, simulated: bool) -> Group:
    """Parameters, cells with their errors, and the error on cells that the fit did not use."""
    values = Table(title=f"{fabric}: fitted")
    for heading in ("parameter", "key", "value"):
        values.add_column(heading)
    for name, value in fit.parameters.items():
        parameter = PARAMETERS[name]
        values.add_row(name, parameter.key, format_rate(value) if parameter.unit == "B/s" else format_seconds(value))
    cells = Table(title="cells, simulated" if simulated else "cells, by the closed form")
    for heading in ("cell", "measured", "model", "error", ""):
        cells.add_column(heading, justify="left" if heading in ("cell", "") else "right")
    for cell in fit.cells:
        what = "fitted" if cell.fitted else "predicted"
        if cell.name in fit.left_out:
            what += f" (left out: {fit.left_out[cell.name]:+.1%})"
        cells.add_row(
            cell.name,
            format_seconds(cell.measured_s),
            format_seconds(cell.modelled_s),
            relative_error(cell.error),
            what,
        )
    unseen = f"mean error on cells the fit had not seen: {fit.leave_out_error:.1%}"
    sight = f"an error of 1 % in the fitted times moves the parameters by up to {1 / fit.sight:.1f} %"
    return Group(values, cells, unseen, sight)
