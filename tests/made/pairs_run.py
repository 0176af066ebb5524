# SPDX-License-Identifier: BSD-3-Clause
"""A run folder of pairs whose times are made up: what a run of the kernel leaves, without ranks."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from made.answers import found_in
from made.folder import begin_folder
from made.pairs import SCHEMA, Cluster, Faults
from weft.analyse.engine import connect
from weft.analyse.make import make_tables, write_answers
from weft.analyse.pairs.make import make_pair_analysis
from weft.plan.stored import plan_of
from weft.run.refresh import write_manifest
from weft.store.folder import RunFolder
from weft.store.parquet import convert
from weft.store.tables import write_parquet

STUDY = """\
name = "pairs"
title = "Latency of every pair of made ranks"
kernel = "pairs"
[measure]
launches = 1
seed = 7
[pairs]
bytes = ["0 B", "256 KiB"]
[[series]]
name = "all-ranks"
nodes = {nodes}
ranks_per_node = {per_node}
"""


def make_pairs_run(path: Path, cluster: Cluster, faults: Faults | None = None, **made: Any) -> Path:
    """Write a run folder with the tables of a made cluster, and return its path; ``made`` goes to `Cluster.pairs`."""
    begin_pairs_run(path, cluster)
    made.setdefault("seed", 1)
    write_pair_tables(path, cluster, [cluster.pairs(faults, **made)])
    return analyse_pairs_run(path)


def begin_pairs_run(path: Path, cluster: Cluster) -> None:
    """Write a run folder whose tables are empty."""
    for name in ("samples", "tables"):
        (path / name).mkdir(parents=True, exist_ok=True)
    begin_folder(path, STUDY.format(nodes=cluster.nodes, per_node=cluster.per_node), cluster.text, cores=2)
    convert(path)
    make_tables(path)


def analyse_pairs_run(path: Path) -> Path:
    """Make all tables that follow from the table of pairs."""
    plan = plan_of(RunFolder(path))
    make_pair_analysis(path, plan, connect())
    write_answers(path, found_in(path, plan))
    write_manifest(RunFolder.open(path))
    return path


def write_pair_tables(path: Path, cluster: Cluster, parts: Iterable[pa.Table]) -> None:
    """Write ``tables/{pairs,pair_histogram,ranks}.parquet``; the histogram holds each pair's median once."""
    node, launches, counts = cluster.places.node_of, 0, list[pa.Table]()

    def placed() -> Iterator[pa.Table]:
        nonlocal launches
        for pairs in parts:
            launches = max(launches, int(pairs["launch"].to_numpy().max()))
            names = pa.array([f"g000.l{launch}" for launch in range(launches + 1)])
            codes = pa.DictionaryArray.from_arrays(pairs["launch"].combine_chunks().cast(pa.int32()), names)
            yield pairs.append_column("launch_id", codes.cast(pa.string()))
            rows = pa.table(
                {
                    "bytes": pairs["bytes"],
                    "mode": pairs["mode"],
                    "source_node": node[pairs["source"].to_numpy()],
                    "target_node": node[pairs["target"].to_numpy()],
                    "bucket": np.floor(np.log2(pairs["median_s"].to_numpy() * 1e9) * 32).astype(np.int16),
                }
            )
            counts.append(rows.group_by(rows.column_names).aggregate([([], "count_all")]))

    schema = SCHEMA.append(pa.field("launch_id", pa.string()))
    write_parquet(path / "tables" / "pairs.parquet", placed(), schema, "weft-pairs/1")
    keys = counts[0].column_names[:-1]
    counted = pa.concat_tables(counts).group_by(keys).aggregate([("count_all", "sum")]).rename_columns([*keys, "count"])
    pq.write_table(counted, path / "tables" / "pair_histogram.parquet")
    ranks = [
        {"launch_id": launch, "rank": rank, "host": cluster.places.nodes[node[rank]], "node": int(node[rank])}
        | {"local_rank": rank % cluster.per_node, "cpus": str(rank % cluster.per_node), "core": rank % cluster.per_node}
        for launch in (f"g000.l{index}" for index in range(1, launches + 1))
        for rank in range(cluster.places.ranks)
    ]
    schema = pq.read_schema(path / "tables" / "ranks.parquet").remove_metadata()
    pq.write_table(pa.Table.from_pylist(ranks, schema=schema), path / "tables" / "ranks.parquet")
