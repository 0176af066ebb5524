# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as the plan sees them: their keys in a study, cells, sizes, memory and traffic. One folder a kernel.

:mod:`weft.kernel.registry` lists them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from weft.fabric.model import Fabric
from weft.kernel.traffic import Traffic
from weft.study import Measure, Series, Study

FlatValue = str | int | Sequence[str | int]
"""What a key of the flat plan may hold: a text, a number, or words."""


@dataclass(frozen=True)
class Shape:
    """Where a cell's ranks are, before it is known what they do.

    Attributes
    ----------
    oversubscribed
        More ranks on a node than cores, and meant so.
    hosts
        Names of its nodes, where the kernel has chosen them; otherwise the study's placement does.
    """

    nodes: int
    ranks_per_node: int
    oversubscribed: bool = False
    hosts: tuple[str, ...] = ()

    @property
    def ranks(self) -> int:
        """How many: nodes * ranks_per_node."""
        return self.nodes * self.ranks_per_node


@dataclass(frozen=True)
class Sizes:
    """Bytes of a cell's data: rank to rank, one rank's part of one array, one whole array."""

    block: int = 0
    local: int = 0
    array: int = 0


@dataclass(frozen=True)
class Sweep:
    """A series worked out: the kernel's values at each shape, and what a reader should know about them."""

    values: tuple[tuple[Shape, dict[str, Any]], ...]
    notes: tuple[str, ...] = ()


class Kernel(Protocol):
    """What the plan asks of a kernel. ``values`` are a cell's ``parameters``."""

    @property
    def name(self) -> str:
        """As studies and flat plans call it."""
        ...

    @property
    def main(self) -> str:
        """The operation a cell is known by."""
        ...

    @property
    def batched(self) -> bool:
        """Whether one launch measures all cells of one placement; otherwise each cell has launches of its own."""
        ...

    @property
    def is_floor(self) -> bool:
        """Whether it is what other times are compared with, and no cell of a study."""
        ...

    @property
    def has_pair_samples(self) -> bool:
        """Whether its samples are of pairs of ranks, which are stored and analysed pair by pair."""
        ...

    @property
    def fitted(self) -> tuple[str, ...]:
        """Operations whose times a machine's numbers can be fitted to; none for most kernels."""
        ...

    @property
    def incidental(self) -> frozenset[str]:
        """Parameters that do not identify a measurement when runs are compared.

        They say how much of a sweep a cell holds, how its settings were chosen or what else is measured beside it, or
        have columns of their own (n, m).
        """
        ...

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory, by its name (METHOD 22).

        Parameters
        ----------
        values
            The cell's parameters.
        ranks
            Ranks that measure the cell.
        measure
            Gives the most samples of an operation, which are stored.
        """
        ...

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Bytes of a block, of one rank's part of an array, and of a whole array."""
        ...

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Bytes that each operation moves, by its name; only of operations whose traffic is known before they run."""
        ...

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """Operations that a cell measures, as its records will name them, without those that refining adds."""
        ...

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """Operations beside which the kernel measures a ladder (:mod:`weft.kernel.steps`)."""
        ...

    def inputs_of(self, values: Mapping[str, Any]) -> list[str]:
        """Which of its parameters are paths of files that the kernel reads."""
        ...

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """How many operations of a cell may take the study's ``budget`` each, with those that refining adds."""
        ...

    def collective_of(self, operation: str) -> str:
        """The MPI collective that an operation measures, in small letters (``alltoall``); empty where it is none."""
        ...

    def words(self, values: Mapping[str, Any]) -> str:
        """What a cell measures, in a few words for a table."""
        ...

    def cache(self, values: Mapping[str, Any]) -> str:
        """``hot`` or ``cold``: whether operations find their data in the caches (METHOD 10); empty: not known."""
        ...

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """Expected seconds of one call of each operation that has no lower bound, where that is known.

        Parameters
        ----------
        copy_rate
            Bytes per second that a node copies; None where the fabric does not say.
        """
        ...

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Keys of the flat plan with their values, unquoted."""
        ...

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Messages that all ranks together send in so many calls of each operation, barriers included."""
        ...

    def eager(self, values: Mapping[str, Any], ranks: int, limit: int | None) -> bool:
        """Whether many of them are sent without asking first, up to ``limit`` bytes; None where all are."""
        ...

    def content_bytes(self, values: Mapping[str, Any]) -> int:
        """Bytes of all ranks' buffers whose content decides what is sent; 0 where any content would do.

        A simulator lets buffers of any content share their memory.
        """
        ...

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        """Collective calls of MPI that a cell times, in small letters; a simulator runs them as the library does."""
        ...

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        """Different calls that the samples of an operation go through in turn; 1 where all are alike.

        Where times repeat exactly, a sample of each says all: the flat plan then asks for so many (``cases``).
        """
        ...


class MeasuredKernel(Kernel, Protocol):
    """A kernel that a study can name."""

    @property
    def study(self) -> type[Study]:
        """Model of its study files."""
        ...

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The kernel's values at each shape of a series, in order.

        Raises
        ------
        StudyError, FabricError
            The sweep is impossible as it is written, or the fabric does not say what it needs.
        """
        ...

    def variants(self, study: Study, sweep: Sweep, library: str) -> Sweep:
        """The sweep with a cell for each way in which the MPI library is to be set.

        Parameters
        ----------
        library
            The MPI library in its own words; empty where it is not known yet.
        """
        ...
