# SPDX-License-Identifier: BSD-3-Clause
"""A fit from its inputs: a fabric, measured cells, and the choice of the model."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Group
from rich.table import Table

from weft.errors import FabricError, StudyError
from weft.fabric.model import Fabric, load_fabric
from weft.files.atomic import write_atomic
from weft.files.section import put
from weft.fit.inputs import PARAMETERS, MeasuredCell, Parameter, parameters_named, with_values
from weft.fit.machine import Filled, bound_time, simulated_times
from weft.fit.squares import Fit, Floats, Model, fit
from weft.format import format_rate, format_seconds, percent, relative_error


def describe_fit(fit: Fit, fabric: str, *, simulated: bool) -> Group:
    """Parameters, cells with their errors, and the error on cells that the fit did not use."""
    values = Table("parameter", "key", "value", title=f"{fabric}: fitted")
    for name, value in fit.parameters.items():
        parameter = PARAMETERS[name]
        values.add_row(name, parameter.key, format_rate(value) if parameter.unit == "B/s" else format_seconds(value))
    cells = Table(title="cells, simulated" if simulated else "cells, by the closed form")
    for heading in ("cell", "measured", "model", "error", ""):
        cells.add_column(heading, justify="left" if heading in ("cell", "") else "right")
    for cell in fit.cells:
        what = "fitted" if cell.fitted else "predicted"
        if cell.name in fit.left_out:
            what += f" (left out: {relative_error(fit.left_out[cell.name])})"
        measured, modelled = (format_seconds(seconds) for seconds in (cell.measured_s, cell.modelled_s))
        cells.add_row(cell.name, measured, modelled, relative_error(cell.error), what)
    unseen = f"mean error on cells the fit had not seen: {percent(fit.leave_out_error)}"
    sight = f"an error of 1 % in the fitted times moves the parameters by up to {1 / fit.sight:.1f} %"
    return Group(values, cells, unseen, sight)


DIGITS = 4


def write_fitted(fabric: Fabric, fit: Fit, path: Path, *, simulated: bool, filled: Sequence[Filled] = ()) -> None:
    """Write the fabric with the fitted values and read it; StudyError for a bad path, FabricError if unreadable."""
    refuse_path(fabric, path)
    write_atomic(path, fitted_text(fabric.text, fit, simulated=simulated, filled=filled).encode())
    again = load_fabric(path)
    for name, value in fit.parameters.items():
        if abs(PARAMETERS[name].of(again) / value - 1) > 10.0 ** (1 - DIGITS):
            raise FabricError(f"{path}: {PARAMETERS[name].key} could not be written", "edit the file by hand")


def refuse_path(fabric: Fabric, path: Path) -> None:
    """StudyError for an output that is no fabric file, or the one that was read."""
    if path.suffix != ".toml":
        raise StudyError(f"{path} is no fabric file", "give -o NEW.toml")
    if path.exists() and path.samefile(fabric.path):
        raise StudyError(f"{path} is the file that was read", "write another one: -o NEW.toml")


def fitted_text(text: str, fit: Fit, *, simulated: bool, filled: Sequence[Filled] = ()) -> str:
    """The file's text with the fitted values and their sources."""
    cells = ", ".join(cell.name for cell in fit.cells if cell.fitted)
    how, error = "simulation" if simulated else "the closed form", percent(fit.leave_out_error)
    source = f"fitted on cells {cells}, by {how} (weft fabric fit); error on unseen cells {error}"
    values = ((PARAMETERS[name], value) for name, value in fit.parameters.items())
    fitted = (Filled(each.key, write_value(value, each.unit), source) for each, value in values)
    return filled_text(text, (*filled, *fitted))


def filled_text(text: str, entries: Sequence[Filled]) -> str:
    """The file's text with some keys set, and their sources."""
    lines = text.splitlines()
    for entry in entries:
        section, _, key = entry.key.rpartition(".")
        put(lines, section, key, f'"{entry.text}"')
        if entry.source:
            put(lines, "sources", f'"{entry.key}"', f'"{entry.source}"')
    return "\n".join(lines) + "\n"


def write_value(value: float, unit: str) -> str:
    """A value as written in a fabric file: ``5.364 GB/s``, ``15.5 MB/s``, ``165.1 us``."""
    return format_rate(value, DIGITS) if unit == "B/s" else format_seconds(value, DIGITS)


Say = Callable[[str], None]
Cells = Sequence[MeasuredCell]


def fit_cells(
    fabric: Fabric, cells: Cells, names: list[str], chosen: list[str], *, simulate: bool, say: Say = lambda _: None
) -> Fit:
    """Fit parameters of a fabric to cells, ``chosen`` or by the fit; StudyError, DataError or LaunchError."""
    parameters = parameters_named(names)
    labels = [cell.label for cell in cells]
    start = [parameter.of(fabric) for parameter in parameters.values()]
    closed = bound_model(fabric, parameters, cells)
    with tempfile.TemporaryDirectory(prefix="weft-fit-") as scratch:
        model = simulation_model(fabric, parameters, cells, Path(scratch), say) if simulate else closed
        for name in chosen:
            if name not in labels:
                raise StudyError(f'no cell "{name}"', f"the cells are: {', '.join(labels)}")
        picked = [labels.index(name) for name in chosen] or None
        return fit(names, start, labels, [cell.seconds for cell in cells], model, picked, closed if simulate else None)


def bound_model(fabric: Fabric, parameters: dict[str, Parameter], cells: Cells) -> Model:
    """The model that evaluates the closed form."""

    def times(theta: Floats, indices: Sequence[int]) -> Floats:
        there = with_values(fabric, parameters, theta.tolist())
        return np.array([bound_time(there, cells[index]) for index in indices])

    return times


def simulation_model(fabric: Fabric, parameters: dict[str, Parameter], cells: Cells, scratch: Path, say: Say) -> Model:
    """The model that runs the simulator; results are cached by parameters."""
    from weft.launch.simulated.launcher import SimulatedLauncher
    from weft.launch.simulated.simgrid import build_programs, find_simgrid

    programs = build_programs(find_simgrid(), say)
    known: dict[tuple[float, ...], dict[int, float]] = {}

    def times(theta: Floats, indices: Sequence[int]) -> Floats:
        seen = known.setdefault(tuple(theta.tolist()), {})
        missing = [index for index in indices if index not in seen]
        if missing:
            there = with_values(fabric, parameters, theta.tolist())
            say(f"simulating {len(missing)} cells")
            folder = Path(tempfile.mkdtemp(dir=scratch))
            found = simulated_times(there, [cells[i] for i in missing], SimulatedLauncher(there, programs), folder)
            seen.update(zip(missing, found, strict=True))
        return np.array([seen[index] for index in indices])

    return times
