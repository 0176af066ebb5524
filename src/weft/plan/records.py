# SPDX-License-Identifier: BSD-3-Clause
"""What a plan is made of: cells, launches, and the plan itself as it is written to ``plan.json``."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weft.bound.terms import Bound
from weft.errors import DataError
from weft.fabric.model import Fabric
from weft.files.atomic import read_json
from weft.kernel.registry import kernel_named
from weft.launch.launcher import LaunchCell
from weft.plan.memory import MemoryNeed
from weft.store.cells import Origin
from weft.study import Measure

SCHEMA = "weft-plan/1"


class Job(BaseModel, frozen=True, extra="forbid"):
    """The ranks that are started for a cell: more than measure it, where it takes only a part of them."""

    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    oversubscribed: bool


class Cell(BaseModel, frozen=True, extra="forbid"):
    """One point of a study's sweep (or one noise floor), before it is measured.

    Attributes
    ----------
    id
        ``c000``, ``c001``, ... in the order of the study; ``f000``, ... for the kernel ``floor``.
    series
        Names of the series the cell belongs to; none for a floor.
    nodes, ranks_per_node, ranks
        Of the ranks that measure. p = nodes * ranks_per_node, but for a part of a launch that does not fill its nodes:
        ``ranks_per_node`` is then that of the fullest.
    hosts
        Names of the nodes in the order of their ranks; empty where the fabric cannot place the cell.
    job
        The launch it needs, where that has more ranks than measure (``parameters`` has ``ranks`` or ``members``).
    order
        ``block``: ranks 0..r-1 on the first host; ``cyclic``: rank i on host i mod N.
    parameters
        The kernel's own values (``n``, ``m``, ``data``, ``calls`` for ``exchange``).
    block_bytes, local_bytes, array_bytes
        One block (rank to rank), one rank's part of one array, one whole array; 0 where the kernel has none.
    bound
        Lower bound of the cell's main operation; None where the fabric does not give its rates.
    bounds
        Lower bound of each operation, by its name in the records.
    status, reason
        ``memory`` and ``fabric`` rows get no launch; the reason says why, in numbers.
    limit_s
        A cell that runs longer is hung.
    """

    id: str
    kernel: str
    series: tuple[str, ...]
    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    order: Literal["block", "cyclic"]
    oversubscribed: bool
    job: Job | None = None
    parameters: dict[str, Any]
    memory: MemoryNeed
    block_bytes: int = 0
    local_bytes: int = 0
    array_bytes: int = 0
    bound: Bound | None = None
    bounds: dict[str, Bound] = {}
    status: Literal["planned", "memory", "fabric"] = "planned"
    reason: str = ""
    limit_s: float

    @property
    def hash(self) -> str:
        """What it measures, in 16 hexadecimal digits: a record with another one is of another cell."""
        told = [self.kernel, self.parameters, self.ranks, self.order, self.hosts]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def requested(self) -> LaunchCell:
        """The cell as a launcher is asked for it."""
        return LaunchCell(self.id, self.kernel, self.parameters, self.ranks, self.hash, self.limit_s)

    @property
    def launched(self) -> Job:
        """The ranks that are started for it."""
        return self.job or Job(
            nodes=self.nodes,
            ranks_per_node=self.ranks_per_node,
            ranks=self.ranks,
            hosts=self.hosts,
            oversubscribed=self.oversubscribed,
        )


class LaunchPlan(BaseModel, frozen=True, extra="forbid"):
    """One start of the ranks, and the cells it measures.

    Attributes
    ----------
    id
        ``c003.l1`` for kernels that take one cell a launch, ``g000.l1`` for a batch of cells with one placement.
    index
        k, counted from 1.
    cells
        Ids of its cells, in the order they are measured.
    limit_s, expected_s
        After this long the launch is ended; how long it is expected to take.
    settings
        What the MPI library is told by variables of the ranks' environment: ``parameters["setting"]`` of its cells.
    """

    id: str
    index: int
    cells: tuple[str, ...]
    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    order: Literal["block", "cyclic"]
    oversubscribed: bool
    limit_s: float
    expected_s: float
    settings: dict[str, str] = {}


class PlannedSeries(BaseModel, frozen=True, extra="forbid"):
    """A series of the study, for those who read only the plan.

    Attributes
    ----------
    axis
        What grows along it: ``nodes``, or ``ranks`` on one node.
    written
        Its keys as they stand in the study.
    """

    name: str
    scaling: Literal["strong", "weak", "none"]
    axis: Literal["nodes", "ranks"]
    written: dict[str, Any]


class Plan(BaseModel, frozen=True, extra="forbid"):
    """A study on a fabric, worked out; written as ``plan.json``.

    Attributes
    ----------
    cells
        The study's cells in its order, then the floors.
    launches
        In the order they are started: floors, then each round of launches shuffled by the seed.
    planned_fabric
        The fabric with what was read from the host filled in.
    memory_limit_bytes
        A node's limit that the kernel cannot see by itself (fabric file, scheduler); 0 for none.
    notes
        What a reader should know about how the plan came about.
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    format: Literal["weft-plan/1"] = Field(default=SCHEMA, alias="schema")
    study: str
    title: str
    kernel: str
    fabric: str
    fabric_kind: str
    seed: int
    measure: Measure
    planned_fabric: Fabric
    memory_limit_bytes: int = 0
    series: tuple[PlannedSeries, ...] = ()
    cells: tuple[Cell, ...]
    launches: tuple[LaunchPlan, ...]
    notes: tuple[str, ...] = ()

    def origin(self, run: str) -> Origin:
        """What the records of a run of this plan must repeat; ``run`` is its id."""
        return Origin(run, {cell.id: cell.hash for cell in self.cells})

    def cell(self, name: str) -> Cell:
        """The cell of that id."""
        return next(cell for cell in self.cells if cell.id == name)

    @property
    def floors(self) -> tuple[Cell, ...]:
        """Cells that other times are compared with."""
        return tuple(cell for cell in self.cells if kernel_named(cell.kernel).is_floor)

    @property
    def measured(self) -> tuple[Cell, ...]:
        """Cells of the study itself, the impossible ones included."""
        return tuple(cell for cell in self.cells if not kernel_named(cell.kernel).is_floor)

    @property
    def expected_s(self) -> float:
        """Seconds the whole run is expected to take."""
        return sum(launch.expected_s for launch in self.launches)


def read_plan(path: Path) -> Plan:
    """Read the stored plan of a run, ``plan.json``.

    Raises
    ------
    DataError
        It is missing, torn, or of another version.
    """
    read_json(path)
    try:
        return Plan.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise DataError(
            f"{path} is no plan of this version of Weft: {where}: {first['msg']}",
            "go on with the version that made it (weft.json names it), or measure anew with --into DIR",
        ) from error
