# SPDX-License-Identifier: BSD-3-Clause
"""The tables on the origin of samples: cells, segments, launches and ranks, from the records of kernels."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, cast

import pyarrow as pa

from weft.store.records import CellRecord, LaunchRecord, NodeReport, load_launch_record
from weft.store.tables import Long, Short, TableOf


class MeasuredRow(TypedDict):
    """A cell in one launch; times in nanoseconds, memory in bytes."""

    cell: str
    launch: Short
    launch_id: str
    kernel: str
    ranks: int
    status: str
    reason: str
    clock_method: str
    clock_residual_ns: float
    validated: bool
    validation_errors: Long
    validation_detail: str
    memory_need_node_bytes: Long | None
    memory_available_node_bytes: Long | None
    memory_formula: str | None
    swap_in_pages: Long
    swap_out_pages: Long
    steal_ns: Long
    wall_ns: Long
    warnings: list[str]


class SegmentRow(TypedDict):
    """Samples of one operation, phase and batch size of a cell in one launch."""

    cell: str
    launch: Short
    op: str
    phase: str
    count: Long
    batch: int
    warmup: int
    ended_by: str
    late: Long
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
    seed: Long
    page_bytes: Long
    cache: str
    settings: str
    named_settings: str


class RankRow(TypedDict):
    """Host, node and core of a rank in one launch, and the nanoseconds of its MPI_Init; -1 where none were recorded."""

    launch_id: str
    rank: int
    host: str
    node: int
    local_rank: int
    cpus: str
    core: int
    init_ns: Long


class NodeReportRow(TypedDict):
    """What a node said of itself around a cell; times in ns, ``errors`` and ``rates`` are JSON objects as text."""

    launch_id: str
    host: str
    node: int
    began_ns: Long
    init_ns: Long
    mpi: str
    kernel: str
    cpus: int
    copy_bytes: Long
    copy_ns: Long
    loop_ns: Long
    waited_ns: Long
    wall_ns: Long
    network_sent: Long
    adapters: int
    adapter_sent: Long
    errors: str
    rates: str


MEASURED = TableOf("cells", MeasuredRow)
SEGMENT_TABLE = TableOf("segments", SegmentRow)
LAUNCH_TABLE = TableOf("launches", LaunchRow)
RANK_TABLE = TableOf("ranks", RankRow)
NODE_REPORTS = TableOf("node_reports", NodeReportRow)


def write_tables(root: Path, records: Sequence[CellRecord]) -> None:
    """Write ``tables/{cells,segments,launches,ranks,node_reports}.parquet`` from the records of cells and launches."""
    launches: list[LaunchRow] = []
    ranks: dict[str, list[Any]] = {name: [] for name in RANK_TABLE.schema.names}
    for path in sorted((root / "launches").glob("*.json")):
        if path.stem.count(".") == 1:  # else the launcher's own: <launch>.links.json, <launch>.outcome.json
            launch = load_launch_record(path)
            launches.append(_launch_row(launch))
            ranks["launch_id"] += [launch.launch] * len(launch.ranks.rank)
            for name in RANK_TABLE.schema.names[1:]:
                ranks[name] += getattr(launch.ranks, name)
            # and no record is kept: Python's collector would visit each rank again and again
    MEASURED.write(root, map(_cell_row, records))
    pairs = [(record, segment) for record in records for segment in record.segments]
    segments: dict[str, list[Any]] = {"cell": [each.cell for each, _ in pairs]}
    segments["launch"] = [each.launch_index for each, _ in pairs]
    segments |= {name: [getattr(each, name) for _, each in pairs] for name in SEGMENT_TABLE.schema.names[2:]}
    LAUNCH_TABLE.write(root, launches)
    for table, columns in ((SEGMENT_TABLE, segments), (RANK_TABLE, ranks)):
        table.write_tables(root, [pa.Table.from_pydict(columns, schema=table.schema)])
    NODE_REPORTS.write(root, (_node_row(record, node) for record in records for node in record.nodes))


def _node_row(record: CellRecord, node: NodeReport) -> NodeReportRow:
    row = {name: getattr(node, name) for name in NODE_REPORTS.schema.names[1:]}
    row |= {name: json.dumps(row[name], sort_keys=True) for name in ("errors", "rates")}
    return cast(NodeReportRow, {"launch_id": record.launch} | row)


def _cell_row(record: CellRecord) -> MeasuredRow:
    return MeasuredRow(
        cell=record.cell, launch=record.launch_index, launch_id=record.launch, kernel=record.kernel,
        ranks=record.ranks, status=record.status, reason=record.reason, clock_method=record.clock.method,
        clock_residual_ns=float(record.clock.residual_ns), validated=record.validation.performed,
        validation_errors=record.validation.errors, validation_detail=record.validation.detail,
        memory_need_node_bytes=record.memory.get("need_node_bytes"),
        memory_available_node_bytes=record.memory.get("available_node_bytes"),
        memory_formula=record.memory.get("formula"), swap_in_pages=record.swap.get("in_pages", 0),
        swap_out_pages=record.swap.get("out_pages", 0), steal_ns=record.steal_ns, wall_ns=record.wall_ns,
        warnings=list(record.warnings),
    )  # fmt: skip


def _launch_row(launch: LaunchRecord) -> LaunchRow:
    row = {name: getattr(launch, name) for name in LAUNCH_TABLE.schema.names if name in LaunchRecord.model_fields}
    row |= {f"clock_{key}": float(launch.clock.get(key) or 0) for key in ("resolution_ns", "cost_ns")}
    row |= {key: json.dumps(row[key], sort_keys=True) for key in ("settings", "named_settings")}
    return cast(LaunchRow, row | {"launch_id": launch.launch})
