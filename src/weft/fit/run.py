# SPDX-License-Identifier: BSD-3-Clause
"""A fit from its inputs: a fabric as a machine to simulate, measured cells, and the choice of the model."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Group
from rich.table import Table

from weft.analyse.tables.times import FLOOR, FloorRow
from weft.analyse.thresholds.knob import agreed_settings
from weft.bound.placed import terms_of
from weft.bound.terms import PlacedCell, closed_form
from weft.errors import FabricError, LaunchError, StudyError
from weft.fabric.model import Fabric, load_fabric
from weft.fabric.numbers import with_number
from weft.fabric.simulation import Library, SimulationSection
from weft.files.atomic import write_atomic
from weft.files.section import put
from weft.fit.inputs import PARAMETERS, MeasuredCell, Parameter, parameters_named, with_values
from weft.fit.squares import Fit, Floats, Model, fit
from weft.format import format_bytes, format_rate, format_seconds, percent, relative_error
from weft.kernel.exchange import Exchange
from weft.launch.launcher import Launcher, LaunchRequest
from weft.mpi.knobs import Knobs
from weft.mpi.library import INTEL, MPICH, MVAPICH, OPEN_MPI, parse_library
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, flat_launch
from weft.store.cells import read_cell
from weft.store.folder import RunFolder
from weft.store.rows import LAUNCH_TABLE
from weft.study import Measure

KERNEL = Exchange()  # cells of a fit have n and m, which only this kernel has
UNLIMITED = Measure.model_validate({"budget": "1000 s", "limit": "10000 s"})
SUFFIX = "-simulated"
COLLECTIVES: dict[str, Library] = {OPEN_MPI: "ompi", MPICH: "mpich", MVAPICH: "mvapich2", INTEL: "impi"}
DIGITS = 4
Say = Callable[[str], None]
Cells = Sequence[MeasuredCell]


def placed(fabric: Fabric, cell: MeasuredCell) -> PlacedCell:
    """Place a cell on its hosts; on the first nodes if the cell states no hosts or the fabric does not have them."""
    values = {"n": cell.n, "m": cell.m, "data": "contention", "calls": [cell.call]}
    hosts = cell.hosts if cell.hosts and set(cell.hosts) <= set(fabric.hosts) else fabric.hosts[: cell.nodes]
    return PlacedCell(KERNEL.name, cell.nodes, cell.ranks_per_node, cell.ranks, hosts, values)


def bound_time(fabric: Fabric, cell: MeasuredCell) -> float:
    """Seconds of a cell by the closed form (:func:`weft.bound.terms.closed_form`)."""
    where = placed(fabric, cell)
    terms = terms_of(KERNEL.traffic(where.parameters, cell.ranks)[cell.call], where, fabric)
    return closed_form(terms, where, fabric, KERNEL.sizes(where.parameters, cell.ranks).block)


def simulated_times(fabric: Fabric, cells: Sequence[MeasuredCell], launcher: Launcher, folder: Path) -> list[float]:
    """Simulated seconds of cells, by simulations in ``folder``; LaunchError with the end of their output."""
    (folder / "launches").mkdir(parents=True, exist_ok=True)
    requests: list[LaunchRequest] = []
    for number, cell in enumerate(cells):
        name, where = f"c{number:03}", placed(fabric, cell)
        asked = LaunchCell(name, KERNEL.name, where.parameters, cell.ranks)
        plan = folder / "launches" / f"{name}.l1.plan"
        plan.write_text(flat_launch(FlatHead(f"{name}.l1", 1, folder), [asked], UNLIMITED, launcher.rules))
        requests.append(LaunchRequest(
            id=f"{name}.l1", ranks=cell.ranks, nodes=where.hosts, ranks_per_node=cell.ranks_per_node, order=cell.order,
            oversubscribed=False, plan=plan, folder=folder, limit_s=0.0, cells=(asked,),
        ))  # fmt: skip
    for outcome in launcher.run(requests):
        if outcome.returncode != 0:
            tail = outcome.log.read_text(errors="replace").strip().splitlines()[-3:]
            raise LaunchError(f"the simulation of {outcome.id} failed: {' '.join(tail)}", f"see {outcome.log}")
    times: list[float] = []
    for number in range(len(cells)):
        rows = read_cell(folder, f"c{number:03}", 1).samples
        if rows is None:
            raise LaunchError(f"the simulation of cell c{number:03} has no samples", f"see {folder}/cells")
        last = rows[:, -1, :]  # the warm sample of the one call
        times.append(float((last[:, 0] + last[:, 1]).max() - last[:, 0].min()) / 1e9)
    return times


EQUAL = "as the queue of a link serves flows of the same latency (docs/dev/simulation.md)"


class Filled(NamedTuple):
    """A key that the fabric's file omits."""

    key: str  # its section; empty for a key at the top of the file (``kind``, ``name``)
    text: str  # its value as written in a file
    source: str = ""  # its source; empty if that is obvious


def machine_of(fabric: Fabric, run: Path) -> tuple[Fabric, tuple[Filled, ...]]:
    """The fabric as a machine to simulate: of kind ``simulated``, with a new name, and keys that a run can fill in."""
    machine, filled = fabric, tuple[Filled, ...]()
    if not fabric.is_model:
        machine = fabric.as_model(f"{fabric.name}{SUFFIX}")
        filled = (Filled("name", machine.name), Filled("kind", machine.kind))
    if not run.is_dir():
        return machine, filled
    floor, source = floor_of(run), f"measured by the run that was fitted to ({run.name})"
    missing: list[tuple[str, float | None, Callable[[Any], str], str]] = []
    if machine.node.copy_rate is None:
        missing.append(("node.copy_rate", copy_rate(floor), format_rate, source))
    if machine.network and machine.network.latency is None:  # the shortest between two nodes
        found = [row["best"] for row in floor if row["quantity"] == "latency" and row["nodes"] > 1]
        missing.append(("network.latency", min(filter(None, found), default=None), format_seconds, source))
    if machine.network and machine.network.eager_limit is None:
        launches = LAUNCH_TABLE.read(run) if LAUNCH_TABLE.path(run).is_file() else []
        knobs = Knobs(launches[0]["mpi_library"] or "" if launches else "", agreed_settings(launches))
        setting = "a setting of the run that was fitted to"
        missing.append(("network.eager_limit", knobs.eager_bytes() if launches else None, format_bytes, setting))
    for key, value, text, why in missing:
        if value:
            machine = with_number(machine, key, value)
            filled += (Filled(key, text(value), why),)
    if machine.simulation is None and (library := library_of(run)):
        section = SimulationSection(collectives=library, sharing="equal")  # pyright: ignore[reportCallIssue]
        machine = machine.model_copy(update={"simulation": section})
        filled += (
            Filled("simulation.collectives", library, "the library of the run that was fitted to"),
            Filled("simulation.sharing", "equal", EQUAL),
        )
    return machine, filled


def floor_of(run: Path) -> list[FloorRow]:
    """Rows of the run's floor: copy rates and latencies."""
    return FLOOR.read(run) if FLOOR.path(run).is_file() else []


def copy_rate(floor: Sequence[FloorRow]) -> float | None:
    """Copy rate of a node in B/s with the most ranks and the largest working set, which does not fit into caches."""
    rows = [row for row in floor if row["quantity"] == "copy" and row["value"]]
    return max(rows, key=lambda row: (row["ranks_per_node"], row["bytes"]))["value"] if rows else None


def library_of(run: Path) -> Library | None:
    """The library whose algorithms ran; None if the records do not state it, or if it cannot be simulated."""
    library = RunFolder(run).metadata().get("launcher", {}).get("mpi_library")
    return COLLECTIVES.get(parse_library(str(library)).family) if library else None


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
