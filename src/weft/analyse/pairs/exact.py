# SPDX-License-Identifier: BSD-3-Clause
"""Exact quantiles over all samples of a run of pairs, computed on demand for ``weft show --exact``."""

from pathlib import Path
from typing import Any, cast

from weft.analyse.engine import connect, read
from weft.analyse.pairs.all_samples import exact_hops
from weft.analyse.pairs.hop_tables import CLASS
from weft.analyse.pairs.make import placements
from weft.analyse.pairs.places import Places
from weft.analyse.tables.pairs import ExactRow
from weft.errors import DataError
from weft.kernel.registry import kernel_named
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.parquet import sample_files
from weft.store.rows import RANK_TABLE
from weft.store.tables import read_table


def exact_rows(root: Path, engine: str = "duckdb://") -> list[ExactRow]:
    """Times by hops over all warm samples of the largest placement, with exact quantiles, nearest class first.

    Raises
    ------
    DataError
        The run did not measure pairs, kept no samples, or they would not fit into memory.
    """
    import ibis

    plan = plan_of(RunFolder(root))
    cells = {cell.id for cell in plan.cells if kernel_named(cell.kernel).has_pair_samples}
    files = [path for path in sample_files(root) if path.stem in cells]
    measured = read_table(root, "pairs")["launch_id"].unique().to_pylist() if cells else []
    if not files or not measured:
        raise DataError(
            f"{root} has no samples of pairs to compute exact quantiles from",
            'measure pairs with store = "raw" in [pairs]; without --exact the histogram gives them within 1.1 %',
        )
    launches, places = placements(RANK_TABLE.read(root), measured, plan)[0]
    backend = connect(engine)
    known = read(backend, [root / "tables" / "cells.parquet"])
    good = known.filter((known.status == "ok") & known.launch_id.isin(launches)).select("cell", "launch")
    samples = read(backend, files).semi_join(good, ["cell", "launch"])
    warm = samples.filter(samples.phase == "warm")
    timed = warm.select("source", "target", "bytes", "mode", time_s=warm.duration_ns.cast("float64") / warm.batch / 1e9)
    nodes_of, classes = ibis.memtable(places.rank_table()), ibis.memtable(places.class_table())
    timed = timed.inner_join(nodes_of.select(source=nodes_of["rank"], source_node=nodes_of.node), "source")
    timed = timed.inner_join(nodes_of.select(target=nodes_of["rank"], target_node=nodes_of.node), "target")
    timed = timed.inner_join(classes, ["source_node", "target_node"])
    return [_named(row, places) for row in exact_hops(timed).order_by(CLASS).to_pyarrow().to_pylist()]


def _named(row: dict[str, Any], places: Places) -> ExactRow:
    """A row with the name of its class instead of the class's number."""
    class_ = row.pop("class_")
    return cast(ExactRow, row | {"class": places.labels[class_]})
