# SPDX-License-Identifier: BSD-3-Clause
"""Making a run's tables: iterations, medians of launches, calls and floor, from its samples and its plan."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.analyse import calls, floor, links
from weft.analyse.bounds import Bounds
from weft.analyse.engine import Backend, Expression, connect, read
from weft.analyse.pair_tables import make_pair_tables
from weft.analyse.pairs.make import make_pair_analysis
from weft.analyse.times import iteration_times, order_statistics
from weft.errors import DataError
from weft.folder import read_json
from weft.store.cells import folder_path
from weft.store.files import write_parquet
from weft.store.parquet import sample_files
from weft.store.tables import read_table

Row = dict[str, Any]

ITERATIONS = pa.schema(
    [
        ("cell", pa.string()),
        ("launch", pa.int16()),
        ("call", pa.string()),
        ("phase", pa.string()),
        ("iteration", pa.int32()),
        ("time_s", pa.float64()),
        ("tainted", pa.bool_()),
    ]
)
MEDIANS = pa.schema(
    [
        ("cell", pa.string()),
        ("launch", pa.int16()),
        ("call", pa.string()),
        ("phase", pa.string()),
        ("samples", pa.int64()),
        ("tainted", pa.int64()),
        *((name, pa.float64()) for name in calls.STATISTICS),
    ]
)
GROUP = ["cell", "call", "phase"]


def load_plan(folder: Any) -> Row:
    """The plan of a run as plain data.

    Raises
    ------
    DataError
        There is none, or it is of another version.
    """
    path = folder_path(folder) / "plan.json"
    plan = read_json(path)
    if plan.get("schema") != "weft-plan/1" or not isinstance(plan.get("cells"), list):
        raise DataError(
            f"{path}: schema {plan.get('schema')!r}, this Weft reads 'weft-plan/1'", "measure anew with --into DIR"
        )
    return plan


def make_tables(folder: Any, engine: str = "duckdb://") -> None:
    """Write ``tables/{iterations,medians,links,calls,floor}.parquet``; `weft.store.convert` comes before.

    Runs of the kernel ``pairs`` get ``pairs`` and ``pair_histogram`` (`weft.analyse.pair_tables`), too.

    Parameters
    ----------
    folder
        The run folder, or its path.
    engine
        URL of the engine: ``duckdb://`` or ``spark://...``.

    Raises
    ------
    DataError
        The plan or the store's tables are missing, or the engine is.
    """
    root = folder_path(folder)
    plan = load_plan(root)
    cells = {cell["id"]: cell for cell in plan["cells"]}
    launches = read_table(root, "cells").to_pylist()
    segments = read_table(root, "segments").to_pylist()
    backend = connect(engine)
    of_pairs = {name for name, cell in cells.items() if cell["kernel"] == "pairs"}
    if of_pairs:
        make_pair_tables(root, backend, of_pairs)
        make_pair_analysis(root, plan, backend)
    times = _write_iterations(root, backend, of_pairs)
    pooled = _statistics(times, GROUP)
    by_launch = _statistics(times, ["launch", *GROUP])
    _write(root, "medians", MEDIANS, by_launch)
    floors = floor.floor_rows(_as_ops(pooled), cells)
    _write(root, "floor", floor.SCHEMA, floors)
    _write(root, "links", links.SCHEMA, links.link_rows(root, plan, segments, by_launch, launches))
    bounds = Bounds(plan, floor.Floor(floors))
    rows = calls.call_rows(plan["cells"], launches, segments, _as_ops(pooled), _as_ops(by_launch), bounds)
    _write(root, "calls", calls.SCHEMA, rows)


def _write_iterations(root: Path, backend: Backend, but: Collection[str]) -> Expression:
    """Write the time of each iteration ``but`` of some cells, and return them as a table of the engine."""
    path = root / "tables" / "iterations.parquet"
    batches: Any = []
    files = [path for path in sample_files(root) if path.stem not in but]
    if files:
        statuses = read(backend, [root / "tables" / "cells.parquet"])
        segments = read(backend, [root / "tables" / "segments.parquet"])
        # samples of an invalid cell stay in the store, but no table shows a time of data that arrived wrong
        good = statuses.filter(statuses.status == "ok").select("cell", "launch")
        samples = read(backend, files).semi_join(good, ["cell", "launch"])
        times = iteration_times(samples, segments).rename(call="op")
        # one whole table: DuckDB 2.0 took away the call by which Ibis 12 reads a result batch by batch
        batches = [times.order_by(["cell", "call", "phase", "launch", "iteration"]).to_pyarrow()]
    write_parquet(path, batches, ITERATIONS, "weft-iterations/1", differences=("iteration",))
    return read(backend, [path])


def _statistics(times: Expression, key: list[str]) -> list[Row]:
    counts = times.group_by(key).agg(samples=times.count()).samples
    sizes = counts.name("samples").as_table().distinct().to_pyarrow()["samples"].to_pylist()
    if not sizes:
        return []
    found = order_statistics(times, key, sizes)
    return found.order_by(key).to_pyarrow().to_pylist()


def _as_ops(rows: list[Row]) -> list[Row]:
    return [row | {"op": row["call"]} for row in rows]


def _write(root: Path, name: str, schema: Any, rows: list[Row]) -> None:
    table = pa.Table.from_pylist(rows, schema=schema)
    write_parquet(root / "tables" / f"{name}.parquet", [table], schema, f"weft-{name}/1")
