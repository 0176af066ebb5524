# SPDX-License-Identifier: BSD-3-Clause
"""Exact quantiles over all samples of a run of pairs, computed on demand for ``weft show --exact``."""

import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import ibis

from weft.analyse.engine import Expression, connect, read
from weft.analyse.pairs.hop_tables import CLASS
from weft.analyse.pairs.pair_times import PairFile
from weft.analyse.pairs.places import Places, list_placements
from weft.analyse.tables.pairs import ExactRow
from weft.errors import DataError
from weft.format import format_bytes
from weft.host import read_host, smallest
from weft.kernel.registry import kernel_named
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.pair_tally import BUCKETS
from weft.store.parquet import sample_files
from weft.store.rows import RANK_TABLE

#: Bytes of memory that DuckDB needs per sample for an exact quantile (measured: 6.6 GiB for 501 million samples).
EXACT_BYTES = 14
#: Share of the free memory that an exact quantile may use.
EXACT_SHARE = 0.5
#: Largest relative error of a quantile from buckets, either way: 1.09 %.
ERROR = 2 ** (1 / (2 * BUCKETS)) - 1


def quantiles(histogram: Expression, key: Sequence[str], wanted: dict[str, float]) -> Expression:
    """Quantiles from logarithmic histograms, each within `ERROR` of the exact one (METHOD 14).

    Bucket k holds durations from 2^(k/32) up to 2^((k+1)/32) ns, and a quantile is the geometric middle of its bucket.
    Returns the key, samples, and a column of seconds for each quantile.
    """
    key = list(key)
    counted = histogram.group_by([*key, "bucket"]).agg(count=histogram["count"].sum())
    group = ibis.window(group_by=key)
    along = ibis.window(group_by=key, order_by="bucket", preceding=None, following=0)
    ranked = counted.mutate(samples=counted["count"].sum().over(group), until=counted["count"].sum().over(along))
    log_2 = math.log(2)
    middle = (1 + ERROR) * 1e-9
    found: dict[str, Expression] = {}
    for name, q in wanted.items():
        # the quantile is the sample of rank ceil(q n): it lies in the first bucket whose running count reaches that
        # rank
        rank = ibis.greatest((ranked.samples * q - 1e-9).ceil(), 1)
        bucket = ranked.bucket.min(where=ranked.until >= rank).cast("float64")
        found[name] = (bucket / BUCKETS * log_2).exp() * middle
    return ranked.group_by(key).agg(samples=ranked.samples.max(), **found)


def spread(histogram: Expression) -> Expression:
    """Spread of the samples of each class: `CLASS`, samples, median_s, p99_s (both within 1.1 %), ratio."""
    found = quantiles(histogram, CLASS, {"median_s": 0.5, "p99_s": 0.99})
    return found.mutate(ratio=found.p99_s / found.median_s)


def exact_hops(samples: Expression, free: int | None = None) -> Expression:
    """The hop table over all samples with exact quantiles.

    Raises DataError: The samples would not fit into `EXACT_SHARE` of the free memory. `free`: free memory in bytes; by
    default that of this machine.
    """
    refuse_oversize(int(samples.count().to_pyarrow().as_py()), free_memory() if free is None else free)
    return samples.group_by(CLASS).agg(
        samples=samples.count(),
        min_s=samples.time_s.min(),
        mean_s=samples.time_s.mean(),
        median_s=samples.time_s.median(),
        p99_s=samples.time_s.quantile(0.99),
        max_s=samples.time_s.max(),
    )


def refuse_oversize(samples: int, free: int) -> None:
    """Refuse exact quantiles that would exhaust the memory.

    Raises DataError: The quantiles need more than `EXACT_SHARE` of the free memory; the message gives both numbers.
    """
    need = samples * EXACT_BYTES
    if need > EXACT_SHARE * free:
        raise DataError(
            f"exact quantiles of {samples:,} samples need about {format_bytes(need)} of memory, and of the "
            f"{format_bytes(free)} free memory half may be used",
            "leave --exact out: quantiles from the histogram are within 1.1 %; or use a machine with more memory",
        )


def free_memory() -> int:
    """Free memory in bytes: the smallest limit of machine, control group and scheduler."""
    limit = smallest(read_host().limits)
    return limit.bytes if limit else 0


def exact_rows(root: Path, engine: str = "duckdb://") -> list[ExactRow]:
    """Times by hops over all warm samples of the largest placement, with exact quantiles, nearest class first.

    Raises DataError: the run did not measure pairs, kept no samples, or they would not fit into memory.
    """
    plan = plan_of(RunFolder(root))
    cells = {cell.id for cell in plan.cells if kernel_named(cell.kernel).has_pair_samples}
    files = [path for path in sample_files(root) if path.stem in cells]
    if not files:
        raise DataError(
            f"{root} has no samples of pairs to compute exact quantiles from",
            'measure pairs with store = "raw" in [pairs]; without --exact the histogram gives them within 1.1 %',
        )
    with closing(PairFile(root)) as file:
        launches, places = list_placements(RANK_TABLE.read(root), file.launches, plan)[0]
    backend = connect(engine, root)
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
