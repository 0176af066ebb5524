# SPDX-License-Identifier: BSD-3-Clause
"""Making a run's tables: iterations, medians of launches, calls and floor, from its samples and its plan."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from weft.analyse import calls, floor, links
from weft.analyse.answers import Found, write_answers
from weft.analyse.calls import startup_rows
from weft.analyse.doubts import with_shared_hosts
from weft.analyse.engine import Backend, Expression, connect, read
from weft.analyse.pairs.make import make_pair_analysis
from weft.analyse.pairs.pair_table import make_pair_tables
from weft.analyse.tables.breakdown import LINKS, TURNS
from weft.analyse.tables.times import CALLS, FLOOR, ITERATIONS, MEDIANS, QUARTILES, STARTUP
from weft.analyse.times import is_of_breakdown, iteration_times, launch_weighted, order_statistics, turn_rows
from weft.bound.placed import Bounds
from weft.kernel.registry import kernel_named
from weft.kernel.steps import split_step
from weft.plan.stored import plan_of
from weft.store.cells import folder_path
from weft.store.folder import RunFolder
from weft.store.parquet import sample_files
from weft.store.rows import MEASURED, SEGMENT_TABLE
from weft.store.tables import write_parquet

GROUP = ["cell", "call", "phase"]
Samples = tuple[Expression, Expression]


def make_tables(folder: Any, engine: str = "duckdb://") -> None:
    """Write the tables of `weft.analyse.tables`, ``calls`` last; run `weft.store.parquet.convert` first."""
    root = folder_path(folder)
    plan = plan_of(RunFolder(root))
    cells = {cell.id: cell for cell in plan.cells}
    launches = MEASURED.read(root)
    if not plan.is_model:
        launches = with_shared_hosts(launches, plan, root)
    segments = SEGMENT_TABLE.read(root)
    backend = connect(engine, root)
    of_pairs = {name for name, cell in cells.items() if kernel_named(cell.kernel).has_pair_samples}
    if of_pairs:
        make_pair_tables(root, backend, of_pairs)
        make_pair_analysis(root, plan, backend, launches)
    samples = _good_samples(root, backend, of_pairs)
    times = _write_iterations(root, backend, samples)
    medians: list[Any] = []  # rows of both tables
    if times is not None:
        key = ["launch", *GROUP]
        counts = times.group_by(key).agg(samples=times.count()).select("samples").distinct()
        sizes = sorted(counts.to_pyarrow()["samples"].to_pylist())
        medians = order_statistics(times, key, sizes).order_by(key).to_pyarrow().to_pylist() if sizes else []
    mixed: list[Any] = launch_weighted(times, GROUP).order_by(GROUP).to_pyarrow().to_pylist() if medians else []
    found = calls.summaries(mixed, medians, modelled=plan.is_model)
    MEDIANS.write(root, medians)
    QUARTILES.write(root, medians)
    turns = turn_rows(*samples) if samples and any(split_step(row["op"])[1] for row in segments) else []
    TURNS.write(root, turns)
    STARTUP.write(root, [] if plan.is_model else startup_rows(root, plan, medians))
    floors = floor.with_rates_beside(floor.floor_rows(found, cells), _beside(samples), cells)
    FLOOR.write(root, floors)
    counted = links.link_rows(root, plan, segments, medians, turns, launches)
    LINKS.write(root, counted)
    known, fabric = floor.Floor(floors), plan.planned_fabric
    of_calls = [row for row in segments if not split_step(row["op"])[1]]
    rows = calls.call_rows(plan.cells, launches, of_calls, found, Bounds(fabric, known), fabric)
    write_answers(root, Found(plan, rows, medians, counted, launches, known, frozenset(of_pairs), turns))
    CALLS.write(root, rows)  # last: its presence means that all others are there


def _good_samples(root: Path, backend: Backend, but: Collection[str]) -> Samples | None:
    """Samples ``but`` of some cells, and all segments; None where there are none."""
    files = [path for path in sample_files(root) if path.stem not in but]
    if not files:
        return None
    statuses, segments = (read(backend, [root / "tables" / f"{name}.parquet"]) for name in ("cells", "segments"))
    # samples of an invalid cell stay in the store, but no table shows times of an exchange that delivered wrong data
    good = statuses.filter(statuses.status == "ok").select("cell", "launch")
    return read(backend, files).semi_join(good, ["cell", "launch"]), segments


def _beside(found: Samples | None) -> list[floor.BesideRow]:
    if found is None:
        return []
    samples = found[0].filter(found[0]["op"].startswith(floor.BESIDE) & (found[0].phase == "warm"))
    ns = samples.duration_ns.max() / samples.batch.max()
    longest = samples.group_by(["cell", "launch", "op", "iteration"]).agg(ns=ns)
    return longest.group_by(["cell", "op"]).agg(seconds=longest.ns.min() / 1e9).to_pyarrow().to_pylist()


def _write_iterations(root: Path, backend: Backend, found: Samples | None) -> Expression | None:
    """Write the time of each iteration; as a table of the engine, None without samples."""
    path, batches = ITERATIONS.path(root), list[Any]()
    if found:
        times = iteration_times(found[0].filter(~is_of_breakdown(found[0])), found[1]).rename(call="op")
        # one whole table: DuckDB 2.0 removed the call with which Ibis 12 reads a result batch by batch
        batches = [times.order_by(["cell", "call", "phase", "launch", "iteration"]).to_pyarrow()]
    write_parquet(path, batches, ITERATIONS.schema, "weft-iterations/1", differences=("iteration",))
    return read(backend, [path]) if batches else None
