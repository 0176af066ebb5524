# SPDX-License-Identifier: BSD-3-Clause
"""What most kernels answer: a kernel derives from this class and overrides what is special about it."""

from collections.abc import Mapping
from typing import Any

from weft.kernel import Sizes, Sweep
from weft.kernel.traffic import Traffic
from weft.study import Study


class PlainKernel:
    """Defaults of :class:`weft.kernel.Kernel`: sweeps of operations that nothing more is known of."""

    main = ""  # a cell is known by its last operation
    batched = True
    is_floor = False
    has_pair_samples = False
    fitted: tuple[str, ...] = ()
    incidental: frozenset[str] = frozenset()

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """No arrays."""
        return Sizes()

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Not known: nothing bounds it."""
        return {}

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """Those whose traffic is known."""
        return list(self.traffic(values, ranks))

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """No all-to-all is among them."""
        return []

    def inputs_of(self, values: Mapping[str, Any]) -> list[str]:
        """It reads no file."""
        return []

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """Its operations, the sizes that refining adds, the ladders of either, and an empty operation."""
        ladders = len(self.explained(values, ranks))
        refined = values.get("refine", 0) * (2 if ladders else 1)
        return len(self.operations(values, ranks)) + ladders + refined + 1

    def collective_of(self, operation: str) -> str:
        """No collective call."""
        return ""

    def cache(self, values: Mapping[str, Any]) -> str:
        """Every call has the buffers of the last one."""
        return "hot"

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        """None."""
        return frozenset()

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        """All calls are alike."""
        return 1

    def words(self, values: Mapping[str, Any]) -> str:
        """The number of its sizes, where it sweeps over sizes."""
        return counted(values) if "bytes" in values else ""

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """None are known of."""
        return []

    def variants(self, study: Study, sweep: Sweep, library: str) -> Sweep:
        """The sweep as it is."""
        return sweep


def counted(values: Mapping[str, Any], *words: str) -> str:
    """Some words (empty ones left out) and the number of sizes: ``alltoall, 3 sizes``.

    Parameters
    ----------
    values
        Of a kernel that sweeps over sizes: ``bytes`` holds them.
    """
    sizes = len(values["bytes"])
    return ", ".join(filter(None, (" ".join(filter(None, words)), f"{sizes} size{'s' if sizes != 1 else ''}")))
