# SPDX-License-Identifier: BSD-3-Clause
"""The built-in kernel ``floor``: noise floor, latency and copy rate of a placement, in each round of launches.

Copy rates are measured at the sizes that the cells of the placement have (METHOD 16, 21).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from weft.kernel import FlatValue, Sizes
from weft.kernel.budget import sample_bytes, staging
from weft.kernel.messages import barrier_messages
from weft.kernel.plain import PlainKernel
from weft.kernel.traffic import Traffic
from weft.study import Measure

SMALLEST = 16_384
LARGEST = 256 * 2**20
"""No cache holds so much: beyond, a copy has the rate of memory, and only touching its buffers takes longer."""


def copy_sizes(staying: Iterable[int], most: int | None = None) -> list[int]:
    """Sizes at which a floor copies, in bytes of one rank, ascending.

    Parameters
    ----------
    staying
        Bytes that each rank keeps in its node, of every operation of the cells that stand on this floor.
    most
        No size above this one, nor above 256 MiB; None where nothing is known of the memory.

    Returns
    -------
    list
        Each of those counts from 16 KiB to 256 MiB, and octaves from 16 KiB up to the largest: a bound takes the
        largest size not above its own cell's, so the sizes between serve what refinement adds.
    """
    wanted = {size for size in staying if size > SMALLEST}  # below, what counts is the rate of a cache at its best
    most = LARGEST if most is None else min(most, LARGEST)
    wanted = {min(size, max(most, SMALLEST)) for size in wanted}
    largest = max(wanted, default=SMALLEST)
    octave = SMALLEST
    while octave <= max(largest, SMALLEST):
        wanted.add(octave)
        octave *= 2
    return sorted(wanted)


class Floor(PlainKernel):
    """``empty``, ``latency`` and ``copy-<bytes>`` of one (nodes, ranks per node)."""

    name = "floor"
    main = "empty"
    batched = False
    is_floor = True

    @staticmethod
    def copies(staying: Iterable[int], most: int | None = None) -> list[int]:
        """Sizes at which it copies, in bytes of one rank; see :func:`copy_sizes`."""
        return copy_sizes(staying, most)

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Two buffers of the largest copy, the samples of every operation, and MPI's own."""
        copies = values["copies"]
        return {
            "copy buffers": 2 * max(copies),
            "samples": sample_bytes(len(copies) + 2, measure),
            **staging(ranks),
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """A floor has no arrays."""
        return Sizes()

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """A floor is what other things are compared with: nothing bounds it."""
        return {}

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """Its copies, the empty operation and the latency."""
        return len(values["copies"]) + 2

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """Its copies: each rank of a node copies so many bytes at once."""
        return [ranks_per_node * size / copy_rate if copy_rate else 0.0 for size in values["copies"]]

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Keys of the flat plan."""
        return {"copies": [str(size) for size in values["copies"]]}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Barriers alone."""
        return calls * barrier_messages(ranks)

    def eager(self, values: Mapping[str, Any], ranks: int, limit: int | None) -> bool:
        """Its messages are empty."""
        return True

    def content_bytes(self, values: Mapping[str, Any]) -> int:
        """Any content would do."""
        return 0
