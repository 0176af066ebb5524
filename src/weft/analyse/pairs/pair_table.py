# SPDX-License-Identifier: BSD-3-Clause
"""Writing ``tables/pairs.parquet`` and ``tables/pair_histogram.parquet`` of a run of the kernel ``pairs``.

Ibis expressions: from samples of pairs to statistics of each ordered pair, and to histograms by node.

Every time is a one-way latency: half a round trip (METHOD 25).
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.analyse.engine import Backend, Expression, read
from weft.analyse.statistics.quantile import with_effective_interval
from weft.analyse.times import DISTURBED, P99_FROM
from weft.store.pair_scan import BUCKETS, BUCKETS_SCHEMA, FINDINGS_SCHEMA, HISTOGRAM, scan
from weft.store.pairs import SCHEMA
from weft.store.tables import Schema, grouped, write_parquet

PAIR = ("launch_id", "launch", "bytes", "mode", "source", "target")
QUANTILES = {"p5_s": 0.05, "p25_s": 0.25, "p75_s": 0.75, "p95_s": 0.95, "p99_s": 0.99}
STATISTICS = ("min_s", "p5_s", "p25_s", "median_s", "p75_s", "p95_s", "p99_s", "max_s", "mean_s", "low_s", "high_s",
              "least_s")  # fmt: skip
MOST_ROWS = 1 << 21
LOOKS = ("cold_s", "forward_s", "again_1_s", "again_2_s")
PAIRS = pa.schema(
    [("launch", pa.int16()), ("bytes", pa.int64()), ("mode", pa.string())]
    + [(name, pa.int32()) for name in ("source", "target", "samples", "disturbed")]
    + [(name, pa.float64()) for name in (*STATISTICS, *LOOKS)]
    + [("launch_id", pa.string())]
)


def statistics(samples: Expression, most: int) -> Expression:
    """Order statistics of the warm samples of each ordered pair, size, mode and launch (METHOD 14)."""
    warm = samples.filter(samples.phase == "warm")
    time_s, least_s = _seconds(warm, warm.duration_ns), _seconds(warm, warm.duration_ns - warm.lost_ns)
    disturbed = (warm.lost_ns > DISTURBED * warm.duration_ns).cast("int64").sum()
    # Sorting a few dozen numbers in each group costs a fraction of one sort of all samples.
    simple = {"min_s": time_s.min(), "max_s": time_s.max(), "mean_s": time_s.mean()}
    grouped = warm.group_by(list(PAIR)).agg(
        times=time_s.collect(), samples=warm.count(), least=least_s.collect(), disturbed=disturbed, **simple
    )
    # ranks low and high of the samples that enclose the median of each pair's effective ones (METHOD 8)
    key, timed = list[str](PAIR), warm.mutate(time_s=time_s)
    group, ordered = ibis.window(group_by=key), ibis.window(group_by=key, order_by="time_s")
    placed = timed.mutate(samples=timed.count().over(group), place=ibis.row_number().over(ordered) + 1)
    placed = with_effective_interval(placed, key, "iteration", most)
    joined = grouped.join(placed.group_by(key).agg(low=placed.low.max(), high=placed.high.max()), key)
    joined = joined.mutate(times=joined.times.sort(), least=joined.least.sort())

    def at(rank: Expression, values: str = "times") -> Expression:
        # ranks count from 1; Spark refuses a BIGINT as the index of an array
        return joined[values][(rank - 1).cast("int32")]

    n = joined.samples
    # same guard as in weft.analyse.statistics.quantile: 0.95 * 20 may come out above 19
    found = {name: at((n * q - 1e-9).ceil().cast("int64")) for name, q in QUANTILES.items()}
    found["median_s"] = (at((n + 1) // 2) + at(n // 2 + 1)) / 2
    found["least_s"] = (at((n + 1) // 2, "least") + at(n // 2 + 1, "least")) / 2
    found["low_s"], found["high_s"] = at(joined.low), at(joined.high)
    found["p99_s"] = (n >= P99_FROM).ifelse(found["p99_s"], None)
    return joined.select(*PAIR, "samples", "disturbed", "min_s", "max_s", "mean_s", **found)


def _seconds(rows: Expression, duration_ns: Expression) -> Expression:
    """The time of one message of a batch."""
    return duration_ns.cast("float64") / rows.batch / 1e9


def summaries(findings: Expression) -> Expression:
    """The same statistics for pairs that the kernel summarised, in one-way seconds."""
    given = findings.filter(findings.samples.notnull())
    scaled = {name: _seconds(given, given[name.replace("_s", "_ns")]) for name in STATISTICS}
    scaled["p99_s"] = (given.samples >= P99_FROM).ifelse(scaled["p99_s"], None)
    return given.select(*PAIR, "samples", "disturbed", **scaled)


def second_looks(findings: Expression) -> Expression:
    """Forward times and remeasurements: `PAIR`, forward_s, again_1_s, again_2_s; null if there is none. Forward if
    clocks needed no synchronising, or their residual is under a tenth of it (METHOD 2).
    """
    forward = findings.forward_ns.cast("float64")
    trusted = (findings.clock_method == "shared") | (findings.clock_residual_ns * 10 < forward)
    given = trusted & (findings.forward_samples > 0) & (forward > 0)
    again = {f"again_{k}_s": _seconds(findings, findings[f"again_{k}_ns"]) for k in (1, 2)}
    return findings.select(*PAIR, forward_s=given.ifelse(forward / 1e9, None), **again)


def buckets(samples: Expression) -> Expression:
    """Bucket of each warm sample, `PAIR` and count 1; not summed by pairs: that makes tens of millions of groups."""
    warm = samples.filter(samples.phase == "warm")
    each_ns = warm.duration_ns.cast("float64") / warm.batch
    bucket = (each_ns > 1).ifelse((each_ns.log2() * BUCKETS).floor(), 0).cast("int16")
    return warm.select(*PAIR, bucket=bucket, count=ibis.literal(1))


def by_node(counted: Expression, ranks: Expression) -> Expression:
    """Histograms summed over ranks of two nodes and launches: bytes, mode, source_node, target_node, bucket, count."""
    source = ranks.select("launch_id", source="rank", source_node="node")
    target = ranks.select("launch_id", target="rank", target_node="node")
    placed = counted.join(source, ["launch_id", "source"]).join(target, ["launch_id", "target"])
    key = ["bytes", "mode", "source_node", "target_node", "bucket"]
    return placed.group_by(key).agg(count=placed["count"].sum()).select(*key, "count")


def make_pair_tables(root: Path, backend: Backend, cells: Collection[str]) -> None:
    """Write both tables from the samples, findings and buckets of these cells."""
    known = read(backend, [root / "tables" / "cells.parquet"])
    # no table shows times of an exchange that delivered wrong data
    good = known.filter((known.status == "ok") & known.cell.isin(sorted(cells)))
    launches = good.select("cell", "launch", "launch_id", "clock_method", "clock_residual_ns")

    def placed(some: Collection[str], place: str, schema: Schema) -> Expression:
        there = _files(root, some, place)
        rows = read(backend, there) if there else ibis.memtable(schema.empty_table())
        return rows.join(launches, ["cell", "launch"])

    order = ["bytes", "mode", "launch", "launch_id", "source", "target"]
    each = (_pairs(placed(some, "", SCHEMA), placed(some, "findings", FINDINGS_SCHEMA)) for some in _parts(root, cells))
    tables = (pairs.select(*PAIRS.names).order_by(order).to_pyarrow() for pairs in each)
    write_parquet(root / "tables" / "pairs.parquet", tables, PAIRS, "weft-pairs/1")
    counted = placed(cells, "buckets", BUCKETS_SCHEMA)
    ranks = read(backend, [root / "tables" / "ranks.parquet"])
    if backend.name == "duckdb":
        # a group-by would hash the key of every sample: the store already noted the length of each run of samples
        rows: list[Any] = ranks.select("launch_id", "rank", "node").order_by("rank").to_pyarrow().to_pylist()
        of_launch = grouped(rows, lambda row: row["launch_id"])
        started: list[Any] = launches.to_pyarrow().to_pylist()
        nodes = [np.array([each["node"] for each in of_launch.get(row["launch_id"], ())], np.int64) for row in started]
        of = {(row["cell"], row["launch"]): own for row, own in zip(started, nodes, strict=True)}
        raw = ibis.memtable(scan(_files(root, cells), of))
    else:
        raw = by_node(buckets(placed(cells, "", SCHEMA)), ranks)
    both: Expression = raw.union(by_node(counted.select(*PAIR, "bucket", "count"), ranks))
    histogram = both.group_by(HISTOGRAM.names[:-1]).agg(count=both["count"].sum()).order_by(HISTOGRAM.names)
    path = root / "tables" / "pair_histogram.parquet"
    write_parquet(path, [histogram.to_pyarrow()], HISTOGRAM, "weft-pair-histogram/1")


def _parts(root: Path, cells: Collection[str]) -> Iterator[list[str]]:
    """The cells, as many at a time as have `MOST_ROWS` of samples and findings: 16 million pairs take gigabytes."""
    part, rows = list[str](), 0
    for cell in sorted(cells):
        files = [path for place in ("", "findings") for path in _files(root, [cell], place)]
        own = sum(pq.read_metadata(path).num_rows for path in files)
        if part and rows + own > MOST_ROWS:
            yield part
            part, rows = [], 0
        part.append(cell)
        rows += own
    yield part


def _files(root: Path, cells: Collection[str], place: str = "") -> list[Path]:
    paths = (root / "samples" / place / f"{cell}.parquet" for cell in sorted(cells))
    return [path for path in paths if path.is_file()]


def _pairs(samples: Expression, findings: Expression) -> Expression:
    """One row for each ordered pair, size, mode and launch."""
    warm = samples.filter(samples.phase == "warm")
    most = warm.group_by(list(PAIR)).agg(n=warm.count()).n.max().to_pyarrow().as_py()
    measured = summaries(findings)
    if most:
        exact = statistics(samples, most)
        measured = exact.union(measured.select(*exact.columns))
    cold = samples.filter(samples.phase == "cold")  # first messages
    first = cold.select(*PAIR, cold_s=_seconds(cold, cold.duration_ns))
    met = measured.left_join(first, list(PAIR))[[*measured.columns, "cold_s"]]
    return met.left_join(second_looks(findings), list(PAIR))[[*measured.columns, *LOOKS]]
