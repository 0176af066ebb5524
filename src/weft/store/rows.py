# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the tables on the origin of samples, as TypedDicts beside the schemas of `weft.store.tables`."""

from typing import TypedDict

from weft.store.tables import CELLS, LAUNCHES, RANKS, SEGMENTS, TableOf


class MeasuredRow(TypedDict):
    """A cell in one launch; times in nanoseconds, memory in bytes."""

    cell: str
    launch: int
    launch_id: str
    kernel: str
    ranks: int
    status: str
    reason: str
    clock_method: str
    clock_residual_ns: float
    validated: bool
    validation_errors: int
    validation_detail: str
    memory_need_node_bytes: int | None
    memory_available_node_bytes: int | None
    memory_formula: str | None
    swap_in_pages: int
    swap_out_pages: int
    steal_ns: int
    wall_ns: int
    warnings: list[str]


class SegmentRow(TypedDict):
    """Samples of one operation, phase and batch size of a cell in one launch."""

    cell: str
    launch: int
    op: str
    phase: str
    count: int
    batch: int
    warmup: int
    ended_by: str
    late: int
    definition: str
    peers_met: int | None
    algorithm: str
    lost_by: str


class LaunchRow(TypedDict):
    """One start of the ranks; ``settings`` and ``named_settings`` are JSON objects as text."""

    launch_id: str
    mpi_library: str
    mpi_standard: str
    processor: str
    kernel_sources: str
    clock_resolution_ns: float
    clock_cost_ns: float
    start: str
    seed: int
    page_bytes: int
    cache: str
    settings: str
    named_settings: str


class RankRow(TypedDict):
    """Host, node and core of a rank in one launch."""

    launch_id: str
    rank: int
    host: str
    node: int
    local_rank: int
    cpus: str
    core: int


MEASURED = TableOf("cells", MeasuredRow, CELLS)
SEGMENT_TABLE = TableOf("segments", SegmentRow, SEGMENTS)
LAUNCH_TABLE = TableOf("launches", LaunchRow, LAUNCHES)
RANK_TABLE = TableOf("ranks", RankRow, RANKS)
