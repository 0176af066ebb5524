# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as the plan sees them, a folder each (:mod:`weft.kernel.registry` lists them): keys, cells, traffic."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import StudyError as StudyError
from weft.fabric.model import Fabric
from weft.fabric.placement import NoRoomError, place
from weft.format import plural
from weft.kernel.jobs import Jobs
from weft.kernel.traffic import Traffic
from weft.study import Measure, Series, Study

FlatValue = str | int | Sequence[str | int]  # value of a key of the flat plan: a text, a number, or a list of words
DIRECT = ("alltoall", "alltoallv")


@dataclass(frozen=True)
class Shape:
    """Number and placement of a cell's ranks, before the kernel sets its values."""

    nodes: int
    ranks_per_node: int
    oversubscribed: bool = False  # more ranks on a node than cores, by intent
    hosts: tuple[str, ...] = ()  # names of its nodes, if the kernel has chosen them; otherwise the placement does

    @property
    def ranks(self) -> int:
        """Number of ranks: nodes * ranks_per_node."""
        return self.nodes * self.ranks_per_node


@dataclass(frozen=True)
class Sizes:
    """Bytes of a cell's data: one block from rank to rank, one rank's part of an array, the whole array."""

    block: int = 0
    local: int = 0
    array: int = 0


@dataclass(frozen=True)
class Sweep:
    """The cells of a series: the kernel's values at each shape, and notes for the user."""

    values: tuple[tuple[Shape, dict[str, Any]], ...]
    notes: tuple[str, ...] = ()


class Kernel:
    """What the plan needs from a kernel, by a cell's ``parameters``; defaults for operations of unknown traffic."""

    name: str  # its name in studies and flat plans
    study: type[Study]  # the model of its study files, if a study can name it
    main = ""  # the main operation of a cell; empty: the last one
    batched = True  # whether one launch measures all cells of a placement; otherwise each cell has its own launches
    is_floor = False  # whether it is the floor, the reference of other times, and not a cell of a study
    has_pair_samples = False  # whether its samples belong to pairs of ranks, and are stored and analysed pair by pair
    runs_ahead = False  # whether a rank may send what its receiver has not asked for yet: no barrier between calls
    fitted: tuple[str, ...] = ()  # operations to whose times the parameters of a machine can be fitted
    keys: tuple[str, ...] = ()  # parameters that the flat plan has as they are
    inputs: tuple[str, ...] = ()  # parameters that are paths of input files
    called: frozenset[str] = frozenset()  # MPI collectives that every cell times
    # parameters that do not identify a measurement when runs are compared: how much of a sweep a cell has, how its
    # settings were chosen, what else is measured with it, and what has separate columns (n, m)
    incidental: frozenset[str] = frozenset()

    def calls_s(self, values: Mapping[str, Any], seconds: float) -> float:
        """Of the ``seconds`` that an operation took, those in which other flows may slow its own: all, of one call."""
        return seconds

    def has_floor(self, values: Mapping[str, Any]) -> bool:
        """Whether a cell's times are read beside the noise floor of its shape, and not only beside each other."""
        return not {"guidelines", "matchings"} & set(values)

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory, by its name (METHOD 22); the C++ kernel counts the same parts."""
        raise NotImplementedError

    def need_beside(self, values: Mapping[str, Any]) -> dict[str, int]:
        """The same of a rank that makes traffic on another node meanwhile; nothing without one."""
        return {}

    def jobs(self, values: Mapping[str, Any], ranks: int) -> Jobs | None:
        """The two jobs of a cell that measures a call of one beside traffic of the other; None of other cells."""
        return None

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Bytes of a block, of one rank's part of an array, and of a whole array; zeros without arrays."""
        return Sizes()

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Traffic of each operation, by name; only of operations whose traffic is known before they run."""
        return {}

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """Names of the operations that a cell measures, as in its records, without those that refinement adds."""
        return list(self.traffic(values, ranks))

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """Operations for which the kernel also measures a breakdown (:mod:`weft.kernel.steps`): all-to-alls."""
        return []

    def partners(self, values: Mapping[str, Any]) -> int:
        """How many peers a rank meets in this cell alone; 0 where the cells of a launch meet the same ones."""
        return 0

    def inputs_of(self, values: Mapping[str, Any]) -> list[str]:
        """Names of a cell's parameters that are paths of input files."""
        return [key for key in self.inputs if key in values]

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """Number of operations of a cell with a time ``budget`` each: refined sizes, breakdowns, the empty one too."""
        breakdowns = len(self.explained(values, ranks))
        refined = values.get("refine", 0) * (2 if breakdowns else 1)
        return len(self.operations(values, ranks)) + breakdowns + refined + 1

    def apart_s(self, values: Mapping[str, Any]) -> float:
        """Seconds of a cell that are not of its operations."""
        return 0.0

    def collective_of(self, operation: str) -> str:
        """The MPI collective that an operation measures, in lower case (``alltoall``); empty if it is none."""
        return ""

    def words(self, values: Mapping[str, Any]) -> str:
        """A short description of what a cell measures, for a table: the number of its sizes, if it has several."""
        return counted(values) if "bytes" in values else ""

    def cache(self, values: Mapping[str, Any]) -> str:
        """``hot`` or ``cold``: whether operations find their data in the caches (METHOD 10); empty if not known."""
        return "hot"

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """Expected seconds of a call of each operation without a lower bound, by the bytes/s that a node copies."""
        return []

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Keys of the flat plan with their values, unquoted."""
        return {key: values[key] for key in self.keys if key in values}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Messages that all ranks together send in ``calls`` calls of each operation, barriers included."""
        raise NotImplementedError

    def blocks(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[int]]:
        """Bytes of a block in each operation that is one collective, by its name; simulated algorithms copy them."""
        return {}

    def direct(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Bytes of a block, and messages of one call if each block goes straight to its rank, by all-to-all."""
        each, found = ranks * (ranks - 1), self.blocks(values, ranks)
        return {call: [(size, each) for size in found[call]] for call in DIRECT if call in found}

    def copied(self, values: Mapping[str, Any], ranks: int, calls: int) -> Sequence[tuple[int, int]]:
        """Bytes of a message, and how many from rank to rank are copied: a simulator's processor time."""
        return ()

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        """Bytes of the smallest message, which decides whether many are sent eagerly."""
        return min(values["bytes"])

    def exchanges(self, values: Mapping[str, Any], ranks: int) -> Sequence[tuple[str, str, int]]:
        """Operation, call and bytes of a block of each equal all-to-all or barrier, if a cell has no other calls."""
        return ()

    def is_uneven(self, values: Mapping[str, Any]) -> bool:
        """Whether the blocks of its `exchanges` differ."""
        return False

    def blocks_between(self, values: Mapping[str, Any], ranks: int, largest: int) -> npt.NDArray[np.int64]:
        """Bytes from each rank to each other, shape (ranks, ranks), in an exchange with that largest block."""
        return np.full((ranks, ranks), largest)

    def content_bytes(self, values: Mapping[str, Any]) -> int:
        """Bytes of all ranks' buffers whose content decides what is sent, so that a simulator cannot share them."""
        return 0

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        """MPI collectives that a cell times, in lower case; a simulator runs them with the library's algorithms."""
        return self.called

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        """Number of different calls that samples cycle through: where times repeat exactly, one of each is enough."""
        return 1

    # what only kernels have that a study can name

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The kernel's values at each shape of a series, in order; StudyError or FabricError if impossible."""
        raise NotImplementedError

    def program(self, study: Study) -> str:
        """The program of ``native/units.cmake`` that measures a study: one with this kernel alone."""
        return self.name

    def smaller(self, study: Study, share: float, nodes: int) -> tuple[Study, str] | None:
        """The study with about a share of its data or cells, and that in words; None if it cannot. `nodes`: at most."""
        return None

    def sent(self, study: Study) -> npt.NDArray[np.float64] | None:
        """Bytes from each rank to each other, shape (ranks, ranks), for "best" nodes; None: all-to-all. DataError."""
        return None

    def variants(self, study: Study, sweep: Sweep, find_library: Callable[[], str]) -> Sweep:
        """The sweep, with a cell for each setting of the MPI library that the study asks for."""
        return sweep


def counted(values: Mapping[str, Any], *words: str) -> str:
    """Some words and the number of sizes of a cell's values: ``alltoall, 3 sizes``; empty words are left out."""
    return ", ".join(filter(None, (" ".join(filter(None, words)), plural(len(values["bytes"]), "size"))))


def find_hosts(study: Study, fabric: Fabric, shape: Shape) -> tuple[tuple[str, ...], str]:
    """Names of a shape's nodes, as the kernel or the placement chose them; or none, and why."""
    try:
        return shape.hosts or place(fabric, study.placement.nodes, shape.nodes), ""
    except NoRoomError as problem:
        return (), problem.what
