# SPDX-License-Identifier: BSD-3-Clause
"""Writing ``tables/pairs.parquet`` and ``tables/pair_histogram.parquet`` of a run of the kernel ``pairs``."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.analyse.engine import Backend, Expression, read
from weft.analyse.pairs import statistics as of
from weft.store.files import Schema, write_parquet
from weft.store.pair_scan import BUCKETS_SCHEMA, FINDINGS_SCHEMA, HISTOGRAM, scan
from weft.store.pair_tally import NodesOfRanks
from weft.store.pairs import SCHEMA

PAIRS = pa.schema(
    [
        ("launch", pa.int16()),
        ("bytes", pa.int64()),
        ("mode", pa.string()),
        ("source", pa.int32()),
        ("target", pa.int32()),
        ("samples", pa.int32()),
        ("disturbed", pa.int32()),
        *((name, pa.float64()) for name in of.STATISTICS),
        *((name, pa.float64()) for name in ("cold_s", "forward_s", "again_1_s", "again_2_s")),
        ("launch_id", pa.string()),
    ]
)


def make_pair_tables(root: Path, backend: Backend, cells: Collection[str]) -> None:
    """Write both tables from the samples, findings and buckets of these cells."""
    import ibis

    launches = _launches(root, backend, cells)
    samples = _placed(root, backend, cells, "", SCHEMA, launches)
    findings = _placed(root, backend, cells, "findings", FINDINGS_SCHEMA, launches)
    counted = _placed(root, backend, cells, "buckets", BUCKETS_SCHEMA, launches)
    table = _pairs(samples, findings).select(*PAIRS.names).order_by(["bytes", "mode", "launch", "source", "target"])
    write_parquet(root / "tables" / "pairs.parquet", [table.to_pyarrow()], PAIRS, "weft-pairs/1")
    ranks = read(backend, [root / "tables" / "ranks.parquet"])
    if backend.name == "duckdb":
        # a group-by would hash the key of every sample: the store already noted the length of each run of samples
        raw = ibis.memtable(scan(_files(root, cells), _nodes_of_ranks(launches, ranks)).histogram)
    else:
        raw = of.by_node(of.buckets(samples), ranks)
    both: Expression = raw.union(of.by_node(counted.select(*of.PAIR, "bucket", "count"), ranks))
    histogram = both.group_by(HISTOGRAM.names[:-1]).agg(count=both["count"].sum()).order_by(HISTOGRAM.names)
    path = root / "tables" / "pair_histogram.parquet"
    write_parquet(path, [histogram.to_pyarrow()], HISTOGRAM, "weft-pair-histogram/1")


def _launches(root: Path, backend: Backend, of_pairs: Collection[str]) -> Expression:
    """Launch and clock of each valid cell: no table shows times of an exchange that delivered wrong data."""
    cells = read(backend, [root / "tables" / "cells.parquet"])
    good = cells.filter((cells.status == "ok") & cells.cell.isin(sorted(of_pairs)))
    return good.select("cell", "launch", "launch_id", "clock_method", "clock_residual_ns")


def _placed(
    root: Path, backend: Backend, cells: Collection[str], place: str, schema: Schema, launches: Expression
) -> Expression:
    """Rows of some files of the store with the launch of each."""
    import ibis

    there = _files(root, cells, place)
    rows = read(backend, there) if there else ibis.memtable(schema.empty_table())
    return rows.join(launches, ["cell", "launch"])


def _files(root: Path, cells: Collection[str], place: str = "") -> list[Path]:
    """Files of the store for these cells, if any."""
    paths = (root / "samples" / place / f"{cell}.parquet" for cell in sorted(cells))
    return [path for path in paths if path.is_file()]


def _nodes_of_ranks(launches: Expression, ranks: Expression) -> NodesOfRanks:
    """Node of each rank, for each of the cells and launches."""
    node_of: dict[str, list[int]] = {}
    for row in ranks.select("launch_id", "rank", "node").order_by("rank").to_pyarrow().to_pylist():
        node_of.setdefault(row["launch_id"], []).append(row["node"])
    return {
        (row["cell"], row["launch"]): np.array(node_of.get(row["launch_id"], []), np.int64)
        for row in launches.to_pyarrow().to_pylist()
    }


def _pairs(samples: Expression, findings: Expression) -> Expression:
    """One row for each ordered pair, size, mode and launch."""
    warm = samples.filter(samples.phase == "warm")
    most = warm.group_by(list(of.PAIR)).agg(n=warm.count()).n.max().to_pyarrow().as_py()
    measured = of.summaries(findings)
    if most:
        exact = of.statistics(samples, most)
        measured = exact.union(measured.select(*exact.columns))
    key = list(of.PAIR)
    return measured.left_join(of.first_contacts(samples), key)[[*measured.columns, "cold_s"]].left_join(
        of.second_looks(findings), key
    )[[*measured.columns, "cold_s", "forward_s", "again_1_s", "again_2_s"]]
