# SPDX-License-Identifier: BSD-3-Clause
"""The pass over raw samples gives what the Ibis expressions give, and does not mind how the rows are cut."""

from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pytest

from weft.analyse.engine import connect, read
from weft.analyse.pair_statistics import buckets, by_node
from weft.errors import DataError
from weft.store.files import write_parquet
from weft.store.pair_scan import scan
from weft.store.pairs import DIFFERENCES, RUNS, SAMPLES, SCHEMA

NODE_OF = np.array([0, 0, 1, 1, 2], np.int32)


def write_samples(path: Path, seed: int, batch: int = 1, longest: float = 1e5) -> None:
    """Some cold and warm samples of every pair of five ranks."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in range(5):
        for target in range(5):
            for size in (0, 1 << 18) if source != target else ():
                count = int(rng.integers(1, 60))
                for iteration in range(count):
                    row = {"cell": "c000", "launch": 1, "source": source, "target": target, "bytes": size, "taint": 0}
                    row |= {"mode": "all" if size else "isolated", "phase": "warm" if iteration else "cold"}
                    row |= {"iteration": iteration, "duration_ns": int(rng.uniform(0, longest)), "batch": batch}
                    rows.append(row)
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    # several row groups, cut in the midst of pairs
    pieces = [table.slice(start, 333) for start in range(0, len(table), 333)]
    write_parquet(path, pieces, SCHEMA, SAMPLES, differences=DIFFERENCES, runs=RUNS)


@pytest.mark.parametrize(("batch", "longest"), [(1, 1e5), (8, 1e5), (1, 1e10)])
def test_the_pass_and_the_engine_agree_on_every_bucket(tmp_path: Path, batch: int, longest: float) -> None:
    paths = [tmp_path / "c000.parquet", tmp_path / "c001.parquet"]
    for seed, path in enumerate(paths):
        write_samples(path, seed, batch, longest)
    found = scan(paths, NODE_OF)
    samples = read(connect(), paths).mutate(launch_id=ibis.literal("l"))
    ranks = ibis.memtable(pa.table({"launch_id": ["l"] * 5, "rank": np.arange(5, dtype=np.int32), "node": NODE_OF}))
    key = found.histogram.column_names
    wanted = by_node(buckets(samples), ranks).order_by(key).to_pyarrow().cast(found.histogram.schema)
    assert found.histogram.sort_by([(name, "ascending") for name in key]).equals(wanted)
    warm = samples.filter(samples.phase == "warm")
    each = warm.duration_ns.cast("float64") / warm.batch
    pair = ["bytes", "mode", "source", "target"]
    exact = warm.group_by(pair).agg(samples=warm.count(), min_ns=each.min(), max_ns=each.max(), sum_ns=each.sum())
    rows = found.pairs.sort_by([(name, "ascending") for name in pair]).to_pylist()
    for row, same in zip(rows, exact.order_by(pair).to_pyarrow().to_pylist(), strict=True):
        assert row == pytest.approx(same)


def test_no_samples_are_an_empty_histogram() -> None:
    found = scan([], NODE_OF)
    assert (len(found.histogram), len(found.pairs)) == (0, 0)


def test_a_rank_without_a_node_and_a_torn_file_are_told(tmp_path: Path) -> None:
    write_samples(tmp_path / "c000.parquet", 1)
    with pytest.raises(DataError, match="rank 4 has no node"):
        scan([tmp_path / "c000.parquet"], NODE_OF[:4])
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="cannot be read"):
        scan([tmp_path / "torn.parquet"], NODE_OF)
