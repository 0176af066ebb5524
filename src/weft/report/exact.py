# SPDX-License-Identifier: BSD-3-Clause
"""Exact quantiles over all samples of pairs, on demand: what `weft show --exact` prints."""

from weft.analyse.engine import connect, read
from weft.analyse.pairs.make import placements
from weft.analyse.pairs.samples import exact_hops
from weft.analyse.pairs.tables import CLASS
from weft.errors import DataError
from weft.report.numbers import seconds_text
from weft.report.view import RunView
from weft.store.parquet import sample_files
from weft.store.tables import read_table
from weft.tabular import Table, markdown
from weft.units import format_bytes

TIMES = ("min_s", "mean_s", "median_s", "p99_s", "max_s")


def exact_text(view: RunView, engine: str = "duckdb://") -> str:
    """The table of `exact_table` in Markdown."""
    return "\n" + markdown(exact_table(view, engine)) + "\n"


def exact_table(view: RunView, engine: str = "duckdb://") -> Table:
    """Times by hops over all warm samples of the largest placement, with exact quantiles.

    Raises
    ------
    DataError
        The run is none of pairs, kept no samples, or they would not fit into memory.
    """
    import ibis

    plan = view.plan.model_dump(mode="json", by_alias=True)
    cells = {cell.id for cell in view.plan.cells if cell.kernel == "pairs"}
    files = [path for path in sample_files(view.path) if path.stem in cells]
    measured = read_table(view.path, "pairs")["launch_id"].unique().to_pylist() if cells else []
    if not files or not measured:
        raise DataError(
            f"{view.path} holds no samples of pairs, of which exact quantiles could be taken",
            'measure pairs with store = "raw" in [pairs]; without --exact the histogram gives them within 1.1 %',
        )
    launches, places = placements(read_table(view.path, "ranks").to_pylist(), measured, plan)[0]
    backend = connect(engine)
    known = read(backend, [view.path / "tables" / "cells.parquet"])
    good = known.filter((known.status == "ok") & known.launch_id.isin(launches)).select("cell", "launch")
    samples = read(backend, files).semi_join(good, ["cell", "launch"])
    warm = samples.filter(samples.phase == "warm")
    time_s = warm.duration_ns.cast("float64") / warm.batch / 1e9
    timed = warm.select("source", "target", "bytes", "mode", time_s=time_s)
    seats, classes = ibis.memtable(places.rank_table()), ibis.memtable(places.class_table())
    timed = timed.inner_join(seats.select(source=seats["rank"], source_node=seats.node), "source")
    timed = timed.inner_join(seats.select(target=seats["rank"], target_node=seats.node), "target")
    timed = timed.inner_join(classes, ["source_node", "target_node"])
    rows = exact_hops(timed).order_by(CLASS).to_pyarrow().to_pylist()
    body = [
        (
            f"{format_bytes(row['bytes'])}, {row['mode']}",
            places.labels[row["class_"]],
            f"{row['samples']:,}",
            *(seconds_text(row[name]) for name in TIMES),
        )
        for row in rows
    ]
    heading = ("Message, pairs", "hops", "samples", "min", "mean", "median", "p99", "max")
    return Table(view.titled("Half a round trip over all samples, exact"), heading, tuple(body), frozenset({0, 1}))
