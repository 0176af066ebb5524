# SPDX-License-Identifier: BSD-3-Clause
"""Constants and sums for the memory and time of all kernels (METHOD 22); the C++ kernels count the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import StudyError
from weft.fabric.simulation import STAGING
from weft.kernel import Shape
from weft.study import Measure

DOUBLE_BYTES = 8
INT_BYTES = 4
ROW_BYTES = 24  # one sample of one rank: start, duration and what it lost, eight bytes each
SCRATCH_BYTES = 41  # per sample of the stop rule: value to reduce, longest duration, first start, span, loss, late mark
LEAST_ROWS = 16  # least number of rows of an operation: a floor takes this many samples whatever the study asks for
# Memory of the MPI library itself: its heap and shared segments, and the eager buffers for each peer it has exchanged
# messages with. A high estimate for Open MPI, MPICH and MVAPICH2 with their default settings.
STAGING_BASE_BYTES = 32 * 2**20
STAGING_PEER_BYTES = 128 * 2**10
MOST_PARTNERS = 512  # peers that the cells of one launch may meet: more cells start another, whose connections are new
PATIENCE = 40  # a busy or virtual machine takes up to so many times what a kernel expects from latencies and rates
ROOM = 1.2  # ratio of a cell's limit to the budgets of its operations: leaves time for first calls and the proof


def sample_bytes(operations: int, measure: Measure) -> int:
    """Bytes of one rank's samples: the preallocated rows of each operation, and the scratch of the stop rule."""
    rows = 1 + max(measure.max_samples, LEAST_ROWS)
    return operations * rows * ROW_BYTES + rows * SCRATCH_BYTES


def most_rows(need: Mapping[str, int]) -> int:
    """Rows of one rank that a cell's record may have, by the parts of its memory: others wrote a record of more."""
    samples = sum(size for name, size in need.items() if name.split()[0] in ("samples", "breakdown", "guideline"))
    return 1024 + 4 * samples // ROW_BYTES


def staging(ranks: int) -> dict[str, int]:
    """Estimated bytes of one rank's MPI library: a base, and eager buffers for each of ``ranks``."""
    return {STAGING: STAGING_BASE_BYTES + STAGING_PEER_BYTES * ranks}


def time_limit(operations: int, measure: Measure, expected_s: float = 0.0) -> float:
    """Seconds after which a cell counts as hung: as the study states, else what its operations may need, and 120."""
    if "limit" in measure.model_fields_set:
        return measure.limit
    return max(measure.limit, ROOM * operations * measure.budget, PATIENCE * expected_s)


def enough_time(found: Sequence[tuple[Shape, Mapping[str, Any]]], measure: Measure, path: str) -> None:
    """StudyError if ``measure.limit`` is shorter than the budgets of a cell's sizes: it would count as hung."""
    # the breakdown of a size gets the budget of one operation
    each = [(1 + bool(values.get("explain")), len(values["bytes"]) + values["refine"]) for _, values in found]
    operations = max((parts * sizes + 1 for parts, sizes in each), default=0)
    wanted = ROOM * operations * measure.budget
    if "limit" in measure.model_fields_set and wanted > measure.limit:
        fewer = "fewer sizes, or explain = false" if any(parts > 1 for parts, _ in each) else "or fewer sizes"
        raise StudyError(
            f"{path}: measure.limit = {measure.limit:g} s is too short for {operations} operations of "
            f"{measure.budget:g} s each in one cell",
            f'give limit = "{wanted:.0f} s" or more, a smaller budget, {fewer}',
        )
