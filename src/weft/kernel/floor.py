# SPDX-License-Identifier: BSD-3-Clause
"""The built-in kernel ``floor``: noise floor, latency and copy rate of a placement, measured once a run (METHOD 21)."""

from collections.abc import Mapping
from typing import Any

from weft.kernel import Sizes
from weft.kernel.exchange import ROW, SCRATCH, STAGING_BASE, STAGING_PEER
from weft.kernel.traffic import Traffic
from weft.study import Measure

COPIES = (16_384, 262_144, 4_194_304, 67_108_864)


class Floor:
    """``empty``, ``latency`` and ``copy-<bytes>`` of one (nodes, ranks per node)."""

    name = "floor"
    main = "empty"
    batched = False

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Two buffers of the largest copy, the samples of every operation, and MPI's own."""
        operations, rows = len(COPIES) + 2, 1 + max(measure.max_samples, 16)
        return {
            "copy buffers": 2 * max(COPIES),
            "samples": operations * rows * ROW + rows * SCRATCH,
            "library staging": STAGING_BASE + STAGING_PEER * ranks,
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """A floor has no arrays."""
        return Sizes()

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """A floor is what other things are compared with: nothing bounds it."""
        return {}

    def flat(self, values: Mapping[str, Any]) -> list[str]:
        """A floor has no keys."""
        return []
