# SPDX-License-Identifier: BSD-3-Clause
"""What of a run of pairs is computed on demand: exact quantiles over all samples, and the ranks of two nodes."""

import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression, connect, read
from weft.analyse.pairs.hop_tables import CLASS
from weft.analyse.pairs.pair_times import MEASURED, PairFile, judged
from weft.analyse.pairs.places import Places, list_placements
from weft.analyse.tables.pairs import ExactRow, RankOfPairs
from weft.errors import DataError
from weft.fabric.nodeset import fold_for_people
from weft.format import format_bytes
from weft.host import read_host, smallest
from weft.kernel.registry import kernel_named
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.pair_scan import BUCKETS
from weft.store.parquet import sample_files
from weft.store.rows import RANK_TABLE

Mask: TypeAlias = NDArray[np.bool_]
Between: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
#: Bytes of memory that DuckDB needs per sample for an exact quantile (measured: 6.6 GiB for 501 million samples).
EXACT_BYTES = 14
EXACT_SHARE = 0.5  # share of the free memory that an exact quantile may use
ERROR = 2 ** (1 / (2 * BUCKETS)) - 1  # largest relative error of a quantile from buckets, either way: 1.09 %


def quantiles(histogram: Expression, key: Sequence[str], wanted: dict[str, float]) -> Expression:
    """The key, samples, and a column of s for each quantile, within `ERROR` of the exact one (METHOD 14).

    Bucket k of a histogram holds 2^(k/32) up to 2^((k+1)/32) ns; a quantile is the geometric middle of its bucket.
    """
    key = list(key)
    counted = histogram.group_by([*key, "bucket"]).agg(count=histogram["count"].sum())
    group = ibis.window(group_by=key)
    along = ibis.window(group_by=key, order_by="bucket", preceding=None, following=0)
    ranked = counted.mutate(samples=counted["count"].sum().over(group), until=counted["count"].sum().over(along))
    middle = (1 + ERROR) * 1e-9
    found: dict[str, Expression] = {}
    for name, q in wanted.items():
        # the quantile is the sample of rank ceil(q n), in the first bucket whose running count reaches that rank
        rank = ibis.greatest((ranked.samples * q - 1e-9).ceil(), 1)
        bucket = ranked.bucket.min(where=ranked.until >= rank).cast("float64")
        found[name] = (bucket / BUCKETS * math.log(2)).exp() * middle
    return ranked.group_by(key).agg(samples=ranked.samples.max(), **found)


def spread(histogram: Expression) -> Expression:
    """Spread of the samples of each class: `CLASS`, samples, median_s, p99_s (both within 1.1 %), ratio."""
    found = quantiles(histogram, CLASS, {"median_s": 0.5, "p99_s": 0.99})
    return found.mutate(ratio=found.p99_s / found.median_s)


def exact_hops(samples: Expression, free: int | None = None) -> Expression:
    """The hop table of all samples, exact; DataError if they exceed `EXACT_SHARE` of ``free`` bytes."""
    refuse_oversize(int(samples.count().to_pyarrow().as_py()), free_memory() if free is None else free)
    time_s = samples.time_s
    middle = {"mean_s": time_s.mean(), "median_s": time_s.median(), "p99_s": time_s.quantile(0.99)}
    return samples.group_by(CLASS).agg(samples=samples.count(), min_s=time_s.min(), **middle, max_s=time_s.max())


def refuse_oversize(samples: int, free: int) -> None:
    """DataError for exact quantiles that need more than `EXACT_SHARE` of ``free`` bytes of memory."""
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
    """Exact quantiles by hops of the largest placement, nearest first; DataError: no pairs, no samples, no memory."""
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
    rows: list[Any] = exact_hops(timed).order_by(CLASS).to_pyarrow().to_pylist()
    for row in rows:
        row["class"] = places.labels[row.pop("class_")]
    return rows


def rank_rows(root: Path, nodes: tuple[str, str]) -> list[RankOfPairs]:
    """Ranks of two nodes (or one twice) in their common pairs, slowest first; DataError: no pairs, unknown node."""
    if not (root / "tables" / "pairs.parquet").exists():
        raise DataError(f"{root} measured no pairs", "name a run of the kernel pairs")
    with closing(PairFile(root)) as file:
        launches, places = list_placements(RANK_TABLE.read(root), file.launches, plan_of(RunFolder(root)))[0]
        for name in nodes:
            if name not in places.nodes:
                raise DataError(f"there is no node {name!r} in {root}", f"nodes: {fold_for_people(places.nodes)}")
        one, other = (places.node_of == places.nodes.index(name) for name in nodes)
        rows = [
            row for way in file.ways(launches)
            for row in _of_ranks(way, _times_between(file, launches, way, one, other), places)
        ]  # fmt: skip
    if not rows:
        raise DataError(f"no ranks of {nodes[0]} and {nodes[1]} were measured with each other", "name two other nodes")
    return rows


def _times_between(file: PairFile, launches: Sequence[str], way: tuple[int, str], one: Mask, other: Mask) -> Between:
    """Sources, targets and times of the pairs between ranks in ``one`` and in ``other``, of all launches."""
    found: list[Between] = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))]
    for own in file.pieces:
        if (own.bytes, own.mode) != way or own.launch not in launches:
            continue
        source, target = (file.read(name, [own], np.int32) for name in ("source", "target"))
        kept = (one[source] & other[target]) | (other[source] & one[target])
        if kept.any():
            time_s = judged(*(file.read(name, [own])[kept] for name in MEASURED))[0]
            found.append((source[kept], target[kept], time_s))
    sources, targets, times = zip(*found, strict=True)
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(times)


def _of_ranks(way: tuple[int, str], between: Between, places: Places) -> list[RankOfPairs]:
    source, target, time_s = between
    usual = float(np.median(time_s)) if len(time_s) else 0.0
    rows: list[RankOfPairs] = []
    for rank in np.unique(source).tolist():
        own = np.flatnonzero((source == rank) | (target == rank))
        middle, worst = float(np.median(time_s[own])), int(own[np.argmax(time_s[own])])
        rows.append({
            "bytes": way[0], "mode": way[1], "rank": rank, "node": places.nodes[int(places.node_of[rank])],
            "pairs": len(own), "median_s": middle, "factor": middle / usual if usual else 1.0,
            "slowest_s": float(time_s[worst]),
            "slowest_with": int(target[worst] if source[worst] == rank else source[worst]),
        })  # fmt: skip
    return sorted(rows, key=lambda row: -row["factor"])
