# SPDX-License-Identifier: BSD-3-Clause
"""The machine to fit: a fabric of any kind as one that can be simulated, its gaps filled with what the run measured.

A virtual or real fabric's file says how its network is built, and not what a node copies, what the shortest message
takes or whose algorithms ran: nobody needs that to measure. The run knows all three.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.analyse.tables.times import FLOOR, FloorRow
from weft.fabric.model import Fabric
from weft.fabric.simulation import Library, SimulationSection
from weft.format import format_rate, format_seconds
from weft.mpi.library import INTEL, MPICH, MVAPICH, OPEN_MPI, parse_library
from weft.store.folder import RunFolder

SUFFIX = "-simulated"
COLLECTIVES: dict[str, Library] = {OPEN_MPI: "ompi", MPICH: "mpich", MVAPICH: "mvapich2", INTEL: "impi"}


@dataclass(frozen=True)
class Filled:
    """A key that the fabric's file left open.

    Attributes
    ----------
    key
        Its section; a key without a section is at the top of the file (``kind``, ``name``).
    text
        Its value as the file has it.
    source
        Where it comes from; empty where that needs no telling.
    """

    key: str
    text: str
    source: str = ""


def machine_of(fabric: Fabric, run: Path) -> tuple[Fabric, tuple[Filled, ...]]:
    """The fabric as a machine to simulate.

    Parameters
    ----------
    fabric
        Of any kind; one of kind ``simulated`` stays what it is, but for the gaps.
    run
        The run that is fitted to; a table of cells fills no gaps.
    """
    machine, filled = as_simulated(fabric)
    if not run.is_dir():
        return machine, filled
    source = f"measured by the run that was fitted to ({run.name})"
    floor = floor_of(run)
    if machine.node.copy_rate is None and (rate := copy_rate(floor)):
        machine = machine.model_copy(update={"node": machine.node.model_copy(update={"copy_rate": rate})})
        filled += (Filled("node.copy_rate", format_rate(rate), source),)
    if machine.network and machine.network.latency is None and (seconds := latency(floor)):
        network = machine.network.model_copy(update={"latency": seconds})
        machine = machine.model_copy(update={"network": network})
        filled += (Filled("network.latency", format_seconds(seconds), source),)
    if machine.simulation is None and (library := library_of(run)):
        section = SimulationSection(collectives=library)  # pyright: ignore[reportCallIssue]
        machine = machine.model_copy(update={"simulation": section})
        filled += (Filled("simulation.collectives", library, "the library of the run that was fitted to"),)
    return machine, filled


def as_simulated(fabric: Fabric) -> tuple[Fabric, tuple[Filled, ...]]:
    """The fabric under the kind ``simulated``, and a name of its own."""
    if fabric.is_model:
        return fabric, ()
    changed = fabric.as_model(f"{fabric.name}{SUFFIX}")
    return changed, (Filled("name", changed.name), Filled("kind", changed.kind))


def floor_of(run: Path) -> list[FloorRow]:
    """What the run measured of memory and of small messages."""
    return FLOOR.read(run) if FLOOR.path(run).is_file() else []


def copy_rate(floor: Sequence[FloorRow]) -> float | None:
    """What a node copies with most ranks on it, out of the largest working set: blocks do not lie in near caches."""
    rows = [row for row in floor if row["quantity"] == "copy" and row["value"]]
    return max(rows, key=lambda row: (row["ranks_per_node"], row["bytes"]))["value"] if rows else None


def latency(floor: Sequence[FloorRow]) -> float | None:
    """The shortest way between two nodes."""
    found = [row["best"] for row in floor if row["quantity"] == "latency" and row["nodes"] > 1]
    return min((seconds for seconds in found if seconds), default=None)


def library_of(run: Path) -> Library | None:
    """The library whose algorithms ran; None if the records do not say, or if they cannot be simulated."""
    told = RunFolder(run).metadata().get("launcher", {}).get("mpi_library")
    return COLLECTIVES.get(parse_library(str(told)).family) if told else None
