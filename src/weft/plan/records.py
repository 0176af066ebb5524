# SPDX-License-Identifier: BSD-3-Clause
"""The records of a plan: cells with the memory they need (METHOD 22), launches, and the plan itself."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from weft.bound.terms import Bound
from weft.errors import FabricError, StudyError
from weft.fabric.model import Fabric, Name
from weft.format import format_bytes
from weft.host import Limit
from weft.kernel import Shape
from weft.kernel.budget import most_rows
from weft.kernel.registry import kernel_named
from weft.mpi.knobs import check_settings
from weft.store.cells import Origin
from weft.study import DOUBLING, MOST_CELLS, MOST_RANKS, Measure, Series, doubling
from weft.text import plain


class MemoryNeed(BaseModel, frozen=True, extra="forbid"):
    """Bytes that a cell needs, and the limit they were compared with."""

    # rank_bytes, node_bytes, job_bytes: bytes allocated by one rank, the fullest node and the whole job
    rank_bytes: int
    node_bytes: int
    job_bytes: int
    limit_bytes: int | None = None  # memory of one node; None if unknown
    limited_by: str = ""  # source of the limit ("MemAvailable", "cgroup limit", "node.memory", ...)
    formula: str = ""  # the terms of ``rank_bytes`` with their numbers, for the row's reason

    @property
    def fits(self) -> bool:
        """Whether the fullest node has enough memory for its ranks."""
        return self.limit_bytes is None or self.node_bytes <= self.limit_bytes

    @property
    def reason(self) -> str:
        """Why the cell does not fit, with numbers; empty if it fits."""
        if self.fits or self.limit_bytes is None:
            return ""
        return (
            f"needs {format_bytes(self.node_bytes)} a node ({format_bytes(self.rank_bytes)} a rank = {self.formula}), "
            f"{format_bytes(self.limit_bytes)} available ({self.limited_by})"
        )


def memory_need(terms: Mapping[str, int], ranks_per_node: int, nodes: int, limit: Limit | None) -> MemoryNeed:
    """Sum the parts of one rank's memory, and compare that of a node of ``ranks_per_node`` ranks with its limit."""
    rank_bytes = sum(terms.values())
    node_bytes = rank_bytes * ranks_per_node
    return MemoryNeed(
        rank_bytes=rank_bytes,
        node_bytes=node_bytes,
        job_bytes=node_bytes * nodes,
        limit_bytes=limit.bytes if limit else None,
        limited_by=limit.by if limit else "",
        formula=" + ".join(f"{name} {format_bytes(size)}" for name, size in terms.items() if size),
    )


def shapes(series: Series, fabric: Fabric) -> list[Shape]:
    """Shapes of a series on a fabric, in order; FabricError if it lacks what is asked, StudyError for too many.
    ``fill`` keeps one rank per core: all cores of each node if the series has several nodes; on one node 1, 2, 4 ..
    cores, and twice the cores, marked as oversubscribed.
    """
    nodes, cores = doubling(len(fabric.hosts)) if series.nodes == DOUBLING else series.nodes, fabric.node.cores
    assert not isinstance(nodes, str)
    if not isinstance(series.ranks_per_node, str):
        if (count := len(nodes) * len(series.ranks_per_node)) > MOST_CELLS:
            what = f'series "{series.name}": {count:,} pairs of nodes and ranks_per_node'
            raise StudyError(what, f"split the study: at most {MOST_CELLS:,} cells keep a run readable")
        found = [Shape(count, ranks) for count in nodes for ranks in series.ranks_per_node]
    elif cores is None:
        what = f'{fabric.path}: node.cores is missing, and series "{series.name}" asks for {series.ranks_per_node!r}'
        raise FabricError(what, "add cores to [node]")
    elif series.ranks_per_node == "cores" or max(nodes) > 1:
        found = [Shape(count, cores) for count in nodes]
    else:
        found = [Shape(1, ranks) for ranks in sorted({*doubling(cores), cores})]
        found.append(Shape(1, 2 * cores, oversubscribed=True))
    most = max(found, key=lambda shape: shape.ranks)
    if most.ranks > MOST_RANKS:
        what = f'series "{series.name}": {most.nodes:,} nodes of {most.ranks_per_node:,} ranks are {most.ranks:,} ranks'
        raise StudyError(what, f"at most {MOST_RANKS:,} ranks can be planned")
    return found


SCHEMA = "weft-plan/1"
MOST_ROWS = 1 << 17  # of a table whose rows are not of samples or ranks, but of links of a network
# A stored plan may come from another user. Ids become file names, host names become arguments of commands.
CellId = Annotated[str, Field(pattern=r"^[a-z][0-9]{3,9}$")]
LaunchId = Annotated[str, Field(pattern=r"^[a-z][0-9]{3,9}\.l[1-9][0-9]{0,4}$")]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$")]
Plain = Annotated[str, AfterValidator(plain)]
Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class LaunchCell:
    """A cell of a launch."""

    id: str
    kernel: str
    parameters: Mapping[str, Any]
    ranks: int
    hash: str = ""  # hash that its record must repeat; empty if it is not checked
    limit_s: float = 0.0  # seconds after which a cell counts as hung; 0 means never


class Job(BaseModel, frozen=True, extra="forbid"):
    """The ranks that are started for a cell, if only some of them measure it; cells and launches repeat its fields."""

    nodes: Positive
    ranks_per_node: Positive
    ranks: Positive
    hosts: tuple[Host, ...]
    oversubscribed: bool


class Cell(BaseModel, frozen=True, extra="forbid"):
    """One point of a study's sweep (or one noise floor), before it is measured."""

    id: CellId  # ``c000``, ``c001``, ... in the order of the study; ``f000``, ... for the kernel ``floor``.
    kernel: str
    series: tuple[str, ...]  # names of the series to which the cell belongs; none for a floor
    # shape of the ranks that measure; where they do not fill their nodes, ``ranks_per_node`` is the fullest one's
    nodes: Positive
    ranks_per_node: Positive
    ranks: Positive
    hosts: tuple[Host, ...]  # names of the nodes in the order of their ranks; empty if the fabric cannot place the cell
    order: Literal["block", "cyclic"]  # ``block``: ranks 0..r-1 on the first host; ``cyclic``: rank i on host i mod N
    oversubscribed: bool
    # the launch it needs, if that has more ranks than measure (``parameters`` has ``ranks`` or ``members``)
    job: Job | None = None
    parameters: dict[str, Any]  # the kernel's own values (``n``, ``m``, ``data``, ``calls`` for ``exchange``)
    memory: MemoryNeed
    # one block (rank to rank), one rank's part of one array, one whole array; 0 if the kernel has none
    block_bytes: Count = 0
    local_bytes: Count = 0
    array_bytes: Count = 0
    bound: Bound | None = None  # lower bound of the cell's main operation; None if the fabric does not state its rates
    bounds: dict[str, Bound] = {}  # lower bound of each operation, by its name in the records
    # what the hardware needs for the messages of the breakdown that nobody shares a link with
    # (:mod:`weft.bound.placed`); None where it is not known, or nothing is explained
    alone_s_per_byte: float | None = None
    # of each round of a plain exchange the link that it fills longest, and its seconds per byte of a block
    # (:mod:`weft.bound.links`); empty where they can be worked out later: only files of dumps are no part of a run
    round_links: tuple[tuple[Plain, Seconds], ...] = ()
    # ``memory`` and ``fabric`` rows have no launch; the reason says why, with numbers
    status: Literal["planned", "memory", "fabric"] = "planned"
    reason: Plain = ""
    limit_s: Seconds  # seconds after which a cell counts as hung

    @property
    def hash(self) -> str:
        """Hash of what it measures, in 16 hexadecimal digits: a record with another hash is of another cell."""
        identity = [self.kernel, self.parameters, self.ranks, self.order, self.hosts]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    def most_rows(self, measure: Measure) -> int:
        """Rows of one rank that its record may have."""
        try:
            return most_rows(kernel_named(self.kernel).need(self.parameters, self.ranks, measure))
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            return 0

    @property
    def requested(self) -> LaunchCell:
        """The cell in the form for a launcher."""
        return LaunchCell(self.id, self.kernel, self.parameters, self.ranks, self.hash, self.limit_s)

    @property
    def launched(self) -> Job:
        """The ranks that are started for it."""
        return self.job or Job(**{name: getattr(self, name) for name in Job.model_fields})


class LaunchPlan(BaseModel, frozen=True, extra="forbid"):
    """One start of the ranks, and the cells that it measures."""

    # ``c003.l1`` for kernels with one cell per launch, ``g000.l1`` for a batch of cells with one placement
    id: LaunchId
    index: Annotated[int, Field(ge=1, le=32767)]  # k, counted from 1
    cells: Annotated[tuple[CellId, ...], Field(min_length=1)]  # ids of its cells, in the order they are measured
    nodes: Positive
    ranks_per_node: Positive
    ranks: Positive
    hosts: tuple[Host, ...]
    order: Literal["block", "cyclic"]
    oversubscribed: bool
    limit_s: Seconds  # after which the launch is ended
    expected_s: Seconds
    # environment variables of the ranks that set the MPI library: ``parameters["setting"]`` of its cells
    settings: Annotated[dict[str, str], AfterValidator(check_settings)] = {}


class PlannedSeries(BaseModel, frozen=True, extra="forbid"):
    """A series of the study, for readers of the plan alone."""

    name: str
    scaling: Literal["strong", "weak", "none"]
    axis: Literal["nodes", "ranks"]  # the axis along which it grows: ``nodes``, or ``ranks`` on one node
    written: dict[str, Any]  # its keys as written in the study


class Plan(BaseModel, frozen=True, extra="forbid"):
    """The plan of a study on a fabric; written as ``plan.json``."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    format: Literal["weft-plan/1"] = Field(default=SCHEMA, alias="schema")
    study: Name
    title: Plain
    kernel: str
    fabric: Name
    fabric_kind: str
    seed: int
    measure: Measure
    planned_fabric: Fabric  # the fabric, completed with values read from the host
    # a node's limit that the kernel cannot read itself (fabric file, scheduler); 0 for none
    memory_limit_bytes: int = 0
    series: tuple[PlannedSeries, ...] = ()
    cells: tuple[Cell, ...]  # the study's cells in its order, then the floors
    # in the order they are started: round by round, each shuffled by the seed. Floors are the last cells of a launch.
    launches: tuple[LaunchPlan, ...]
    notes: tuple[Plain, ...] = ()  # remarks about how the plan was made

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        """Refuse duplicate ids, and launches of cells that do not exist."""
        known = {cell.id for cell in self.cells}
        if len(known) < len(self.cells) or len({launch.id for launch in self.launches}) < len(self.launches):
            raise ValueError("two cells or launches have the same id")
        strange = next((name for launch in self.launches for name in launch.cells if name not in known), None)
        if strange:
            raise ValueError(f"a launch has the cell {strange}, and the plan has none of that id")
        return self

    def origin(self, run: str) -> Origin:
        """The run id and the hashes that the records of a run of this plan must repeat; ``run`` is its id."""
        return Origin(run, {cell.id: cell.hash for cell in self.cells}, self.shapes)

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Ranks of each cell, and the rows of each of them that its record may have."""
        measure, simulation = self.measure, self.planned_fabric.simulation
        if simulation is not None and simulation.samples > measure.max_samples:
            measure = measure.model_copy(update={"max_samples": simulation.samples})
        return {cell.id: (cell.ranks, cell.most_rows(measure)) for cell in self.cells}

    @property
    def most_answers(self) -> int:
        """Rows that a table of answers may have: a number, and so many for each cell in each launch."""
        return 10_000 + 100 * sum(len(launch.cells) for launch in self.launches)

    @property
    def most_rows(self) -> int:
        """Rows that another table may have: a number for links, and so many for each sample and each rank."""
        samples = {name: ranks * rows for name, (ranks, rows) in self.shapes.items()}
        each = (launch.ranks + sum(map(samples.__getitem__, launch.cells)) for launch in self.launches)
        return MOST_ROWS + 4 * sum(each)

    def cell(self, name: str) -> Cell:
        """The cell of that id: most stand where their number says."""
        at = int(name[1:])
        if at < len(self.cells) and self.cells[at].id == name:
            return self.cells[at]
        return next(cell for cell in self.cells if cell.id == name)

    @property
    def is_model(self) -> bool:
        """Whether its times come from a model, which repeats them exactly."""
        return self.planned_fabric.is_model

    @property
    def floors(self) -> tuple[Cell, ...]:
        """The noise floors."""
        return tuple(cell for cell in self.cells if kernel_named(cell.kernel).is_floor)

    @property
    def measured(self) -> tuple[Cell, ...]:
        """Cells of the study itself, including impossible ones."""
        return tuple(cell for cell in self.cells if not kernel_named(cell.kernel).is_floor)

    @property
    def expected_s(self) -> float:
        """Expected duration of the whole run in seconds."""
        return sum(launch.expected_s for launch in self.launches)
