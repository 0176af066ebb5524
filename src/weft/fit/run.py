# SPDX-License-Identifier: BSD-3-Clause
"""A fit from its inputs: a fabric, measured cells, and the choice of the model."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.fit.inputs import MeasuredCell, Parameter, parameters_named, read_cells, with_values
from weft.fit.models import bound_time, simulated_times
from weft.fit.squares import Fit, Floats, Model, fit


def fit_fabric(
    fabric: Fabric,
    table: Path,
    names: list[str],
    chosen: list[str],
    *,
    simulate: bool,
    say: Callable[[str], None] = lambda _: None,
    calls: str = "C",
) -> Fit:
    """Fit parameters of a fabric to measured cells.

    Parameters
    ----------
    chosen
        Names of the cells to fit to; if empty, the fit chooses.

    Raises
    ------
    StudyError, DataError
        See :func:`weft.fit.squares.fit` and :func:`weft.fit.inputs.read_cells`.
    LaunchError
        SimGrid is missing, or a simulation failed.
    """
    return fit_cells(fabric, read_cells(table, calls), names, chosen, simulate=simulate, say=say)


def fit_cells(
    fabric: Fabric,
    cells: list[MeasuredCell],
    names: list[str],
    chosen: list[str],
    *,
    simulate: bool,
    say: Callable[[str], None] = lambda _: None,
) -> Fit:
    """As :func:`fit_fabric`, for cells that are already read."""
    parameters = parameters_named(names)
    labels = [cell.label for cell in cells]
    start = [parameter.of(fabric) for parameter in parameters.values()]
    closed = bound_model(fabric, parameters, cells)
    with tempfile.TemporaryDirectory(prefix="weft-fit-") as scratch:
        model = simulation_model(fabric, parameters, cells, Path(scratch), say) if simulate else closed
        picked = [index_of(name, labels) for name in chosen] or None
        return fit(names, start, labels, [cell.seconds for cell in cells], model, picked, closed if simulate else None)


def index_of(name: str, labels: Sequence[str]) -> int:
    """Index of a cell by its name; StudyError if there is none."""
    if name not in labels:
        raise StudyError(f'no cell "{name}"', f"the cells are: {', '.join(labels)}")
    return labels.index(name)


def bound_model(fabric: Fabric, parameters: dict[str, Parameter], cells: list[MeasuredCell]) -> Model:
    """The model that evaluates the closed form."""

    def times(theta: Floats, indices: Sequence[int]) -> Floats:
        there = with_values(fabric, parameters, theta.tolist())
        return np.array([bound_time(there, cells[index]) for index in indices])

    return times


def simulation_model(
    fabric: Fabric,
    parameters: dict[str, Parameter],
    cells: list[MeasuredCell],
    scratch: Path,
    say: Callable[[str], None],
) -> Model:
    """The model that runs the simulator; results are cached by parameters."""
    from weft.launch.simulated.launcher import SimulatedLauncher
    from weft.launch.simulated.programs import build_programs
    from weft.launch.simulated.simgrid import find_simgrid

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
