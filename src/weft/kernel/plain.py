# SPDX-License-Identifier: BSD-3-Clause
"""Defaults of most kernels: a kernel derives from this class and overrides what differs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.kernel import Sizes, Sweep
from weft.kernel.traffic import Traffic
from weft.study import Study

DIRECT = ("alltoall", "alltoallv")


class PlainKernel:
    """Defaults of :class:`weft.kernel.Kernel`, for a sweep over operations of unknown traffic."""

    main = ""  # the last operation is the main one
    batched = True
    is_floor = False
    has_pair_samples = False
    fitted: tuple[str, ...] = ()
    incidental: frozenset[str] = frozenset()

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Zeros: no arrays."""
        return Sizes()

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """None: the traffic is not known, so there is no bound."""
        return {}

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """The operations whose traffic is known."""
        return list(self.traffic(values, ranks))

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """None: no operation is an all-to-all."""
        return []

    def calls_s(self, values: Mapping[str, Any], seconds: float) -> float:
        """All of an operation's ``seconds``: it is one call."""
        return seconds

    def inputs_of(self, values: Mapping[str, Any]) -> list[str]:
        """None: it reads no file."""
        return []

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """Number of its operations, the sizes that refinement adds, the breakdowns of both, and an empty operation."""
        breakdowns = len(self.explained(values, ranks))
        refined = values.get("refine", 0) * (2 if breakdowns else 1)
        return len(self.operations(values, ranks)) + breakdowns + refined + 1

    def collective_of(self, operation: str) -> str:
        """Empty: not a collective."""
        return ""

    def cache(self, values: Mapping[str, Any]) -> str:
        """``hot``: all calls use the same buffers."""
        return "hot"

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        """None."""
        return frozenset()

    def blocks(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[int]]:
        """None: no operation is a collective."""
        return {}

    def direct(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[tuple[int, int]]]:
        """The blocks of each all-to-all (:meth:`blocks`), one from every rank to every other."""
        found = self.blocks(values, ranks)
        each = ranks * (ranks - 1)
        return {call: [(size, each) for size in found[call]] for call in DIRECT if call in found}

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        """1: all calls are alike."""
        return 1

    def words(self, values: Mapping[str, Any]) -> str:
        """The number of its sizes, if it sweeps over sizes."""
        return counted(values) if "bytes" in values else ""

    def at_sizes(self, values: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
        """The values of a sweep with these sizes, none of them refined and no breakdown."""
        kept = {key: value for key, value in values.items() if key not in ("explain", "expected_s")}
        return kept | {"bytes": sorted(sizes), "refine": 0}

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """None: no times are known."""
        return []

    def sent(self, study: Study) -> npt.NDArray[np.float64] | None:
        """Bytes, shape (ranks, ranks), of which nothing is known: None, and nodes are chosen for an all-to-all."""
        return None

    def variants(self, study: Study, sweep: Sweep, find_library: Callable[[], str]) -> Sweep:
        """The sweep, unchanged."""
        return sweep


def counted(values: Mapping[str, Any], *words: str) -> str:
    """Some words and the number of sizes of a cell's values: ``alltoall, 3 sizes``; empty words are left out."""
    sizes = len(values["bytes"])
    return ", ".join(filter(None, (" ".join(filter(None, words)), f"{sizes} size{'s' if sizes != 1 else ''}")))
