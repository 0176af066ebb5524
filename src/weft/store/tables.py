# SPDX-License-Identifier: BSD-3-Clause
"""A typed table of a run: its file, its Arrow schema, and the TypedDict of its rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.files import Schema, Table, check_size, read_parquet, write_parquet
from weft.store.records import CellRecord, LaunchRecord, load_launch_record

CELLS = pa.schema(
    [
        ("cell", pa.string()),
        ("launch", pa.int16()),
        ("launch_id", pa.string()),
        ("kernel", pa.string()),
        ("ranks", pa.int32()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("clock_method", pa.string()),
        ("clock_residual_ns", pa.float64()),
        ("validated", pa.bool_()),
        ("validation_errors", pa.int64()),
        ("validation_detail", pa.string()),
        ("memory_need_node_bytes", pa.int64()),
        ("memory_available_node_bytes", pa.int64()),
        ("memory_formula", pa.string()),
        ("swap_in_pages", pa.int64()),
        ("swap_out_pages", pa.int64()),
        ("steal_ns", pa.int64()),
        ("wall_ns", pa.int64()),
        ("warnings", pa.list_(pa.string())),
    ]
)
SEGMENTS = pa.schema(
    [
        ("cell", pa.string()),
        ("launch", pa.int16()),
        ("op", pa.string()),
        ("phase", pa.string()),
        ("count", pa.int64()),
        ("batch", pa.int32()),
        ("warmup", pa.int32()),
        ("ended_by", pa.string()),
        ("late", pa.int64()),
        ("definition", pa.string()),
        ("peers_met", pa.int32()),
        ("algorithm", pa.string()),
        ("lost_by", pa.string()),
    ]
)
LAUNCHES = pa.schema(
    [
        ("launch_id", pa.string()),
        ("mpi_library", pa.string()),
        ("mpi_standard", pa.string()),
        ("processor", pa.string()),
        ("kernel_sources", pa.string()),
        ("clock_resolution_ns", pa.float64()),
        ("clock_cost_ns", pa.float64()),
        ("start", pa.string()),
        ("seed", pa.int64()),
        ("page_bytes", pa.int64()),
        ("cache", pa.string()),
        ("settings", pa.string()),
        ("named_settings", pa.string()),
    ]
)
RANKS = pa.schema(
    [
        ("launch_id", pa.string()),
        ("rank", pa.int32()),
        ("host", pa.string()),
        ("node", pa.int32()),
        ("local_rank", pa.int32()),
        ("cpus", pa.string()),
        ("core", pa.int32()),
    ]
)


def write_tables(root: Path, records: Sequence[CellRecord]) -> None:
    """Write ``tables/{cells,segments,launches,ranks}.parquet`` from the cells' records and the launches' records."""
    # the launcher's own files are beside <launch>.json: <launch>.links.json, <launch>.outcome.json
    notes = sorted((root / "launches").glob("*.json"))
    launches: list[dict[str, Any]] = []
    ranks: dict[str, list[Any]] = {name: [] for name in RANKS.names}
    for path in notes:
        if path.stem.count(".") == 1:
            launch = load_launch_record(path)
            launches.append(_launch_row(launch))
            _add_ranks(ranks, launch)  # and no record is kept: Python's collector would visit each rank again and again
    tables: dict[str, Table] = {
        "cells": pa.Table.from_pylist([_cell_row(record) for record in records], schema=CELLS),
        "segments": _segments(records),
        "launches": pa.Table.from_pylist(launches, schema=LAUNCHES),
        "ranks": pa.Table.from_pydict(ranks, schema=RANKS),
    }
    for name, table in tables.items():
        write_parquet(root / "tables" / f"{name}.parquet", [table], table.schema, f"weft-{name}/1")


def read_table(root: Path, name: str, most_values: int | None = None) -> Table:
    """Read ``tables/<name>.parquet``. Raises DataError: the table is missing, incomplete, or would fill the memory."""
    path = root / "tables" / f"{name}.parquet"
    try:
        check_size(path, most_values=most_values)
        return read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors derive from these two
        reason = getattr(error, "strerror", None) or error
        why = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {reason}"
        raise DataError(f"{path}: {why}", f"`weft show {root}` makes the tables again from the cells") from None


def _cell_row(record: CellRecord) -> dict[str, Any]:
    return {
        "cell": record.cell,
        "launch": record.launch_index,
        "launch_id": record.launch,
        "kernel": record.kernel,
        "ranks": record.ranks,
        "status": record.status,
        "reason": record.reason,
        "clock_method": record.clock.method,
        "clock_residual_ns": float(record.clock.residual_ns),
        "validated": record.validation.performed,
        "validation_errors": record.validation.errors,
        "validation_detail": record.validation.detail,
        "memory_need_node_bytes": record.memory.get("need_node_bytes"),
        "memory_available_node_bytes": record.memory.get("available_node_bytes"),
        "memory_formula": record.memory.get("formula"),
        "swap_in_pages": record.swap.get("in_pages", 0),
        "swap_out_pages": record.swap.get("out_pages", 0),
        "steal_ns": record.steal_ns,
        "wall_ns": record.wall_ns,
        "warnings": list(record.warnings),
    }


def _segments(records: Sequence[CellRecord]) -> Table:
    pairs = [(record, segment) for record in records for segment in record.segments]
    columns = {
        "cell": [record.cell for record, _ in pairs],
        "launch": [record.launch_index for record, _ in pairs],
        **{name: [getattr(segment, name) for _, segment in pairs] for name in SEGMENTS.names[2:]},
    }
    return pa.Table.from_pydict(columns, schema=SEGMENTS)


def _launch_row(launch: LaunchRecord) -> dict[str, Any]:
    row = {name: getattr(launch, name) for name in LAUNCHES.names if name in LaunchRecord.model_fields}
    clock = {f"clock_{key}": float(launch.clock.get(key) or 0) for key in ("resolution_ns", "cost_ns")}
    texts = {key: json.dumps(getattr(launch, key), sort_keys=True) for key in ("settings", "named_settings")}
    return row | clock | {"launch_id": launch.launch, **texts}


def _add_ranks(columns: dict[str, list[Any]], launch: LaunchRecord) -> None:
    columns["launch_id"] += [launch.launch] * len(launch.ranks.rank)
    for name in RANKS.names[1:]:
        columns[name] += getattr(launch.ranks, name)


Row = TypeVar("Row", bound=Mapping[str, Any])
MOST_VALUES = 1 << 24
"""Of a table that is read as rows of Python, where each takes some fifty bytes: a small file may fill the memory."""


@dataclass(frozen=True)
class TableOf(Generic[Row]):
    """One table of a run folder."""

    name: str  # name of its file: ``tables/<name>.parquet``
    row: type[Row]  # TypedDict of a row. A test checks that it agrees with the schema.
    schema: Schema  # Arrow columns

    def read(self, root: Path) -> list[Row]:
        """Read every row of a run; DataError if the table is missing, incomplete, or too large."""
        return cast(list[Row], read_table(root, self.name, MOST_VALUES).to_pylist())

    def write(self, root: Path, rows: Iterable[Row]) -> None:
        """Write the table of a run, whole or not at all; columns left out are null. DataError if impossible."""
        write_parquet(self.path(root), [self.table(rows)], self.schema, f"weft-{self.name}/1")

    def is_current(self, root: Path) -> bool:
        """Whether a run has the table with these columns, not torn: an earlier Weft wrote others."""
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(plain_file(self.path(root))).names == self.schema.names
        except (OSError, ValueError):  # pyarrow's own errors derive from these two
            return False

    def table(self, rows: Iterable[Row]) -> Table:
        """Rows as an Arrow table."""
        return pa.Table.from_pylist(list(rows), schema=self.schema)

    def path(self, root: Path) -> Path:
        """The file of the table in a run folder."""
        return root / "tables" / f"{self.name}.parquet"
