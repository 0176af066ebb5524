# SPDX-License-Identifier: BSD-3-Clause
"""The built-in kernel ``floor``: noise floor, latency, copy rates at the sizes of its cells (METHOD 16, 21)."""

from collections.abc import Iterable, Mapping
from typing import Any

from weft.kernel import FlatValue, Kernel
from weft.kernel.budget import sample_bytes, staging
from weft.kernel.traffic import barrier_messages
from weft.study import Measure

SMALLEST = 16_384
LARGEST = 256 * 2**20  # larger than any cache: a larger copy has the same rate, that of memory, and only takes longer
PIECE = 262_144  # larger sizes are also tried in pieces of so many bytes: MPI libraries copy so, which may be faster
LARGE_FROM = 1_048_576  # bytes from which also pieces of a page, and on x86 ``rep movsb`` and non-temporal stores
TRIED_BYTES, FEWEST_TRIES, MOST_TRIES = 16_777_216, 2, 30
"""Bytes that the tries of one way copy in all, and how many tries there are at least and at most."""
CALLS = 50  # calls of a size that are made at least, warm-up included
MOST_COPIES = 64  # of a floor that an earlier Weft planned, which names none


def copy_sizes(staying: Iterable[int], most: int | None = None) -> list[int]:
    """Sizes of a floor's copies, bytes per rank, ascending, for what its cells' operations copy within a node."""
    most = max(min(LARGEST if most is None else most, LARGEST), SMALLEST)
    # below the smallest only the best rate of a cache matters
    wanted = {min(size, most) for size in staying if size > SMALLEST} | {SMALLEST}
    return sorted(wanted.union(SMALLEST << power for power in range((max(wanted) // SMALLEST).bit_length())))


def copy_ways(size: int) -> int:
    """Most ways to copy a size in bytes, of which the fastest is measured: `copy_ways` of native/measure/floor."""
    return 2 + (size > PIECE) + 3 * (size >= LARGE_FROM)


def copy_tries(size: int) -> int:
    """How many times each way to copy a size in bytes is tried: `copy_tries` of native/measure/floor."""
    return min(max(TRIED_BYTES // size, FEWEST_TRIES), MOST_TRIES)


class Floor(Kernel):
    """``empty``, ``latency``, ``swap`` and ``copy-<bytes>[-<way>]`` of one (nodes, ranks per node)."""

    name = "floor"
    main = "empty"
    batched = False
    is_floor = True
    copies = staticmethod(copy_sizes)

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        copies = values.get("copies", [0] * MOST_COPIES)
        return {"copy buffers": 2 * max(copies), "samples": sample_bytes(len(copies) + 3, measure), **staging(ranks)}

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        return len(values["copies"]) + 3

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        """Expected seconds of its copies with the tries of each way: all ranks of a node copy at the same time."""
        tried = [size * (1 + copy_tries(size) * copy_ways(size) / CALLS) for size in values["copies"]]
        return [ranks_per_node * size / copy_rate if copy_rate else 0.0 for size in tried]

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Its copies, which a plan of an earlier version lacks."""
        return {"copies": values["copies"]}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        return calls * barrier_messages(ranks)

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        return 0
