# SPDX-License-Identifier: BSD-3-Clause
"""The tables of pairs by hop class: times, first contact, contention; and the pairs farthest from their class.

On demand: exact quantiles over all samples, and the ranks of two nodes.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression, connect, read
from weft.analyse.outliers.remainders import ALONE, Remainders
from weft.analyse.pairs.pair_times import MEASURED, Ends, Floats, PairFile, PairTimes, inconsistent, judged
from weft.analyse.pairs.places import Places, list_placements
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.statistics.quantile import group_medians, median_ranks, quantile_rank
from weft.analyse.tables.pairs import ExactRow, RankOfPairs
from weft.analyse.times import P99_FROM
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

CLASS = ["bytes", "mode", "class_"]
Rows = Iterator[dict[str, Any]]
Mask: TypeAlias = NDArray[np.bool_]
Between: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
#: Bytes of memory that DuckDB needs per sample for an exact quantile (measured: 6.6 GiB for 501 million samples).
EXACT_BYTES = 14
EXACT_SHARE = 0.5  # share of the free memory that an exact quantile may use
ERROR = 2 ** (1 / (2 * BUCKETS)) - 1  # largest relative error of a quantile from buckets, either way: 1.09 %


def _by_class(times: PairTimes, kind: NDArray[np.int16]) -> Iterator[tuple[dict[str, Any], NDArray[np.bool_]]]:
    """Each hop class, nearest first: the row's first columns, and which pairs are of it."""
    places = times.ends.places
    for class_ in np.flatnonzero(np.bincount(kind)).tolist():
        named = {"class_": class_, "hops": places.hops[class_], "class": places.labels[class_]}
        yield {"bytes": times.bytes, "mode": times.mode, **named}, kind == class_


def _count(own: NDArray[np.bool_], counts: NDArray[np.int64] | None) -> int:
    return int(own.sum() if counts is None else counts[own].sum())


def hop_rows(times: PairTimes) -> Rows:
    """Times of the pairs of each hop class, as in paper 002: over the final times of its pairs. ``least_s``,
    ``most_s``: shortest and longest single sample; ``broken``: inconsistent pairs (METHOD 20).
    """
    least, most = np.fmin.reduce(list(times.each("min_s"))), np.fmax.reduce(list(times.each("max_s")))
    samples, broken = np.add.reduce(list(times.each("samples", np.int64))), times.counts("broken")
    if broken is None:
        broken = inconsistent(least, times.over_launches("median_s"), most, samples)
    counts, names = times.counts(), ("fastest_s", "mean_s")
    fastest_s, mean_s = (times.time_s if counts is None else times.over_launches(name) for name in names)
    for row, own in _by_class(times, times.ends.kind):
        time = times.time_s[own]
        tail = len(time) >= P99_FROM and counts is None
        yield row | {
            "pairs": _count(own, counts), "samples": int(samples[own].sum()), "broken": int(broken[own].sum()),
            "min_s": float(fastest_s[own].min()), "median_s": float(np.median(time)),
            "mean_s": float(np.average(mean_s[own], weights=None if counts is None else counts[own])),
            "p99_s": float(np.quantile(time, 0.99)) if tail else None, "max_s": float(times.slowest_s[own].max()),
            "least_s": float(np.fmin.reduce(least[own])), "most_s": float(np.fmax.reduce(most[own])),
        }  # fmt: skip


def cold_rows(times: PairTimes) -> Rows:
    """First contact of the pairs of each class: bytes, mode, class_, pairs, median_s, max_s, ratio (cold over warm)."""
    cold = times.over_launches("cold_s")
    counts, names = times.counts("cold_pairs"), ("cold_max_s", "cold_mean_s")
    longest, whole = (cold if counts is None else times.over_launches(name) for name in names)
    whole = whole if counts is None else whole * counts
    for row, own in _by_class(times, times.ends.kind):
        known = own & np.isfinite(cold)
        if known.any():
            yield row | {
                "pairs": _count(known, counts), "median_s": float(np.median(cold[known])),
                "max_s": float(longest[known].max()), "total_s": float(whole[known].sum()),
                "ratio": float(np.median(cold[known] / times.time_s[known])),
            }  # fmt: skip


class Contention:
    """Each pair's time with concurrent pairs over its isolated time (METHOD 17), by medians of interleaved samples. The
    final time of a slow pair (METHOD 19) includes remeasurements at the cell's end, under other disturbances.
    """

    def __init__(self, beside: PairTimes, alone: PairTimes) -> None:
        self.times, self._alone, self.ends = beside, alone, beside.ends
        # places of the pairs that both have, in each
        self._beside: slice | NDArray[np.int64] = slice(None)
        self._isolated: slice | NDArray[np.int64] = slice(None)
        if beside.ends is not alone.ends:
            ends, others = beside.ends, alone.ends.code
            _, self._beside, self._isolated = np.intersect1d(ends.code, others, True, return_indices=True)
            self.ends = Ends(ends.source[self._beside], ends.target[self._beside], ends.places)
        self.factor = self._factor(beside.over_launches("median_s"), alone.over_launches("median_s"))

    def _factor(self, beside: Floats, alone: Floats) -> Floats:
        return beside[self._beside] / alone[self._isolated]

    def rows(self, *, modelled: bool) -> Rows:
        """The factor of each hop class with its interval, and quantiles over pairs. Pairs of a launch share what that
        met: it is the median over launches; of one launch alone over pairs, and says so.
        """
        alone = {part[0].number: own for part, own in zip(self._alone.parts, self._alone.each("median_s"), strict=True)}
        every = zip(self.times.parts, self.times.each("median_s"), strict=True)
        each = [self._factor(own, alone[part[0].number]) for part, own in every if part[0].number in alone]
        counts = self.times.counts()
        counts = None if counts is None else counts[self._beside]
        for row, own in _by_class(self.times, self.ends.kind):
            launches = [float(np.median(known)) for one in each if len(known := one[own][np.isfinite(one[own])])]
            if not launches:
                continue
            factor = np.sort(self.factor[own])
            low, high, coverage = median_ranks(len(factor))
            within = Interval(float(factor[low - 1]), float(factor[high - 1]), coverage, "none")
            interval = NO_INTERVAL if modelled else interval_over_launches(launches, within)
            over = (0.05, 0.95, 1.0) if counts is None else ()
            p5, p95, most = [float(factor[quantile_rank(len(factor), q) - 1]) for q in over] or (None,) * 3
            ends = {"low": interval.low, "high": interval.high, "coverage": interval.coverage}
            yield row | ends | {
                "pairs": _count(own, counts), "launches": len(launches), "factor": median(launches),
                "interval": interval.kind, "p5": p5, "p95": p95, "max": most,
            }  # fmt: skip

    def by_nodes(self) -> Floats:
        """The median factor of every two nodes, flattened; nan where there is none."""
        return group_medians(self.ends.nodes, self.factor, len(self.ends.places.nodes) ** 2)


def list_contention(ways: Sequence[PairTimes]) -> Iterator[Contention]:
    """The contention of each size and mode that was measured isolated, too."""
    alone = {times.bytes: times for times in ways if times.mode == ALONE}
    both = (each for each in ways if each.mode != ALONE and each.bytes in alone)
    yield from (found for each in both if len((found := Contention(each, alone[each.bytes])).factor))


def worst_rows(left: Iterable[Remainders], places: Places, most: int) -> list[dict[str, Any]]:
    """The slowest pairs relative to the time of their class, with the three measurements of each (METHOD 19)."""
    found: list[dict[str, Any]] = []
    for each in left:
        times, base, time = each.times, each.base_s, each.time_s
        of_nodes = times.file.by_nodes
        if of_nodes:  # ... of the slowest pair of their ranks, scaled by the same load
            time = time * np.divide(times.slowest_s, times.time_s, out=np.ones_like(base), where=times.time_s > 0)
        # a model may give a message inside a node no time at all
        factor = np.divide(time, base, out=np.ones_like(base), where=base > 0)
        at = _largest(factor, most)
        again = {name: times.over_launches(f"{name}_s")[at] for name in ("again_1", "again_2")}
        again["first"] = (times.slowest_s if of_nodes else times.over_launches("median_s"))[at]
        ends = each.ends.source, each.ends.target
        names = ("slowest_source", "slowest_target")
        ranks = [times.of_slowest(name, np.int32) for name in names] if of_nodes else ends
        for place, row in enumerate(at.tolist()):
            source, target, class_ = (int(column[row]) for column in (*ranks, each.ends.kind))
            source_name, target_name = (places.nodes[int(places.node_of[end[row]])] for end in ends)
            found.append({
                "bytes": times.bytes, "mode": times.mode, "source": source, "target": target,
                "source_name": source_name, "target_name": target_name,
                "hops": places.hops[class_], "class": places.labels[class_], "time_s": float(time[row]),
                "base_s": float(base[row]), "factor": float(factor[row]), "checked": bool(times.checked[row]),
                **{f"{name}_s": float(of[place]) if np.isfinite(of[place]) else None for name, of in again.items()},
            })  # fmt: skip
    found.sort(key=lambda row: (-row["factor"], row["source"], row["target"], row["bytes"], row["mode"]))
    return found[:most]


def _largest(values: Floats, most: int) -> NDArray[np.int64]:
    """Places of the largest values; of equal ones the first."""
    if len(values) <= most:
        return np.arange(len(values))
    limit = np.partition(values, len(values) - most)[len(values) - most]
    above = np.flatnonzero(values > limit)
    return np.concatenate([above, np.flatnonzero(values == limit)[: most - len(above)]])


def class_histogram(histogram: Expression, classes: Expression) -> Expression:
    """The stored histogram of samples, summed by class: bytes, mode, class_, bucket, count."""
    placed = histogram.inner_join(classes, ["source_node", "target_node"])
    return placed.group_by([*CLASS, "bucket"]).agg(count=placed["count"].sum())


def quantiles(histogram: Expression, key: Sequence[str], wanted: dict[str, float]) -> Expression:
    """The key, samples, and a column of s for each quantile, within `ERROR` of the exact one (METHOD 14). Bucket k of a
    histogram holds 2^(k/32) up to 2^((k+1)/32) ns; a quantile is the geometric middle of its bucket.
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
    for own in (piece for piece in file.pieces if (piece.bytes, piece.mode) == way and piece.launch in launches):
        source, target = (file.read(name, [own], np.int32) for name in ("source", "target"))
        kept = (one[source] & other[target]) | (other[source] & one[target])
        if kept.any():
            found.append((source[kept], target[kept], judged(*(file.read(name, [own])[kept] for name in MEASURED))[0]))
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
