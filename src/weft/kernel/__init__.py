# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as the plan sees them: their keys in a study, cells, sizes, memory and traffic. One file a kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from weft.fabric.model import Fabric
from weft.kernel.traffic import Traffic
from weft.study import Measure, Series, Study


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
        """P."""
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

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory (METHOD 22)."""
        ...

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Sizes of the data."""
        ...

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Traffic of each operation whose traffic is known before it runs."""
        ...

    def flat(self, values: Mapping[str, Any]) -> list[str]:
        """Lines of the flat plan."""
        ...


class MeasuredKernel(Kernel, Protocol):
    """A kernel that a study can name."""

    @property
    def study(self) -> type[Study]:
        """Model of its study files."""
        ...

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The kernel's values at each shape of a series, in order."""
        ...


def measured_kernels() -> dict[str, MeasuredKernel]:
    """Kernels a study can name, by name."""
    from weft.kernel.bandwidth import Bandwidth
    from weft.kernel.collective import Collective
    from weft.kernel.exchange import Exchange
    from weft.kernel.pairs import Pairs

    kernels: tuple[MeasuredKernel, ...] = (Exchange(), Pairs(), Bandwidth(), Collective())
    return {kernel.name: kernel for kernel in kernels}


def kernel_named(name: str) -> Kernel:
    """The kernel of a cell, the built-in ones included."""
    from weft.kernel.floor import Floor

    return Floor() if name == Floor.name else measured_kernels()[name]
