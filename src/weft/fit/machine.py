# SPDX-License-Identifier: BSD-3-Clause
"""The machine to fit: a fabric of any kind as a simulated one, with missing keys filled in from the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.analyse.tables.times import FLOOR, FloorRow
from weft.analyse.thresholds.knob import agreed_settings
from weft.bound.placed import terms_of
from weft.bound.terms import PlacedCell, closed_form
from weft.errors import LaunchError
from weft.fabric.model import Fabric
from weft.fabric.numbers import with_number
from weft.fabric.simulation import Library, SimulationSection
from weft.fit.inputs import MeasuredCell
from weft.format import format_bytes, format_rate, format_seconds
from weft.kernel.exchange import Exchange
from weft.launch.launcher import Launcher, LaunchRequest
from weft.mpi.knobs import Knobs
from weft.mpi.library import INTEL, MPICH, MVAPICH, OPEN_MPI, parse_library
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, Rules, flat_launch
from weft.store.folder import RunFolder
from weft.store.rows import LAUNCH_TABLE
from weft.study import Measure

KERNEL = Exchange()  # cells of a fit have n and m, which only this kernel has
UNLIMITED = Measure.model_validate({"budget": "1000 s", "limit": "10000 s"})


def placed(fabric: Fabric, cell: MeasuredCell) -> PlacedCell:
    """Place a cell on its hosts; on the first nodes if the cell states no hosts or the fabric does not have them."""
    values = {"n": cell.n, "m": cell.m, "data": "contention", "calls": [cell.call]}
    there = bool(cell.hosts) and set(cell.hosts) <= set(fabric.hosts)
    hosts = cell.hosts if there else fabric.hosts[: cell.nodes]
    return PlacedCell(KERNEL.name, cell.nodes, cell.ranks_per_node, cell.ranks, hosts, values)


def bound_time(fabric: Fabric, cell: MeasuredCell) -> float:
    """Seconds of a cell by the closed form (:func:`weft.bound.terms.closed_form`)."""
    where = placed(fabric, cell)
    terms = terms_of(KERNEL.traffic(where.parameters, cell.ranks)[cell.call], where, fabric)
    return closed_form(terms, where, fabric, KERNEL.sizes(where.parameters, cell.ranks).block)


def simulated_times(fabric: Fabric, cells: Sequence[MeasuredCell], launcher: Launcher, folder: Path) -> list[float]:
    """Simulated seconds of cells, by simulations in ``folder``; LaunchError with the end of their output."""
    from weft.store.cells import read_cell

    (folder / "launches").mkdir(parents=True, exist_ok=True)
    requests = [request(fabric, cell, f"c{number:03}", folder, launcher.rules) for number, cell in enumerate(cells)]
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


def request(fabric: Fabric, cell: MeasuredCell, name: str, folder: Path, rules: Rules) -> LaunchRequest:
    """The launch of one cell."""
    where = placed(fabric, cell)
    asked = LaunchCell(name, KERNEL.name, where.parameters, cell.ranks)
    plan = folder / "launches" / f"{name}.l1.plan"
    plan.write_text(flat_launch(FlatHead(f"{name}.l1", 1, folder), [asked], UNLIMITED, rules))
    return LaunchRequest(
        id=f"{name}.l1", ranks=cell.ranks, nodes=where.hosts, ranks_per_node=cell.ranks_per_node, order=cell.order,
        oversubscribed=False, plan=plan, folder=folder, limit_s=0.0, cells=(asked,),
    )  # fmt: skip


SUFFIX = "-simulated"
EQUAL = "as the queue of a link serves flows of the same latency (docs/dev/simulation.md)"
COLLECTIVES: dict[str, Library] = {OPEN_MPI: "ompi", MPICH: "mpich", MVAPICH: "mvapich2", INTEL: "impi"}


@dataclass(frozen=True)
class Filled:
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
    source = f"measured by the run that was fitted to ({run.name})"
    floor = floor_of(run)
    if machine.node.copy_rate is None and (rate := copy_rate(floor)):
        machine = with_number(machine, "node.copy_rate", rate)
        filled += (Filled("node.copy_rate", format_rate(rate), source),)
    if machine.network and machine.network.latency is None and (seconds := latency(floor)):
        machine = with_number(machine, "network.latency", seconds)
        filled += (Filled("network.latency", format_seconds(seconds), source),)
    if machine.network and machine.network.eager_limit is None and (limit := eager_limit(run)):
        machine = with_number(machine, "network.eager_limit", limit)
        filled += (Filled("network.eager_limit", format_bytes(limit), "a setting of the run that was fitted to"),)
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


def latency(floor: Sequence[FloorRow]) -> float | None:
    """Shortest latency between two nodes, in seconds."""
    found = [row["best"] for row in floor if row["quantity"] == "latency" and row["nodes"] > 1]
    return min((seconds for seconds in found if seconds), default=None)


def eager_limit(run: Path) -> int | None:
    """Bytes up to which the run's library sends without asking; None if its launches do not say."""
    launches = LAUNCH_TABLE.read(run) if LAUNCH_TABLE.path(run).is_file() else []
    return Knobs(launches[0]["mpi_library"] or "", agreed_settings(launches)).eager_bytes() if launches else None


def library_of(run: Path) -> Library | None:
    """The library whose algorithms ran; None if the records do not state it, or if it cannot be simulated."""
    library = RunFolder(run).metadata().get("launcher", {}).get("mpi_library")
    return COLLECTIVES.get(parse_library(str(library)).family) if library else None
