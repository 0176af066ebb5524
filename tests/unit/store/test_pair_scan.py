# SPDX-License-Identifier: BSD-3-Clause
"""The pass over raw samples gives what the Ibis expressions give, and does not mind how the rows are cut."""

from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.analyse.engine import connect, read
from weft.analyse.pairs.pair_table import buckets, by_node
from weft.errors import DataError
from weft.store import pair_scan
from weft.store.pair_layout import PLACE, RUNS, RUNS_SCHEMA, SCHEMA, rows_of
from weft.store.pair_scan import scan
from weft.store.pairs import write_samples
from weft.store.tables import write_parquet

NODE_OF = np.array([0, 0, 1, 1, 2], np.int32)
NODES_OF = {("c000", 1): NODE_OF}


def made(path: Path, seed: int, batch: int = 1, longest: float = 1e5) -> Path:
    """A file of cold and warm samples of every pair of five ranks, as many as each happens to have."""
    rng = np.random.default_rng(seed)
    found = []
    for source in range(5):
        for target in range(5):
            for size in (0, 1 << 18) if source != target else ():
                pair = {"cell": "c000", "launch": 1, "source": source, "target": target, "bytes": size, "batch": batch}
                pair["mode"] = "all" if size else "isolated"
                found += [pair | {"phase": "cold", "samples": 1}]
                found += [pair | {"phase": "warm", "samples": int(count)} for count in rng.integers(0, 60, 1) if count]
    runs = pa.RecordBatch.from_pylist(found, schema=RUNS_SCHEMA)
    count = sum(run["samples"] for run in found)
    table = rows_of(runs, rng.uniform(0, longest, count).astype(np.int64), np.zeros(count, np.int64))
    # several row groups, cut in the midst of pairs
    write_samples(path, (table.slice(start, 333) for start in range(0, count, 333)))
    write_parquet(path.parent / PLACE / path.name, [runs], RUNS_SCHEMA, RUNS)
    return path


@pytest.mark.parametrize("block", [pair_scan.BLOCK, 50])
@pytest.mark.parametrize(("batch", "longest"), [(1, 1e5), (8, 1e5), (1, 1e10)])
def test_the_pass_and_the_engine_agree_on_every_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, longest: float, block: int
) -> None:
    monkeypatch.setattr(pair_scan, "BLOCK", block)
    paths = [made(tmp_path / f"c00{seed}.parquet", seed, batch, longest) for seed in range(2)]
    found = scan(paths, NODES_OF)
    samples = read(connect(), paths).mutate(launch_id=ibis.literal("l"))
    ranks = ibis.memtable(pa.table({"launch_id": ["l"] * 5, "rank": np.arange(5, dtype=np.int32), "node": NODE_OF}))
    key = found.column_names
    wanted = by_node(buckets(samples), ranks).order_by(key).to_pyarrow().cast(found.schema)
    assert found.sort_by([(name, "ascending") for name in key]).equals(wanted)


def test_no_samples_are_an_empty_histogram() -> None:
    found = scan([], NODES_OF)
    assert len(found) == 0


def test_each_launch_has_its_own_nodes_and_others_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "c000.parquet"
    pair = {"cell": "c000", "source": 0, "target": 1, "bytes": 0, "mode": "all", "phase": "warm", "batch": 1}
    launches = [pair | {"launch": launch, "samples": 10 * launch} for launch in (1, 2, 3)]
    batch = pa.RecordBatch.from_pylist(launches, schema=RUNS_SCHEMA)
    write_samples(path, iter([rows_of(batch, *np.full((2, 60), 8))]))
    write_parquet(path.parent / PLACE / path.name, [batch], RUNS_SCHEMA, RUNS)
    nodes_of = {("c000", 1): np.array([0, 1]), ("c000", 3): np.array([7, 0]), ("c001", 2): np.array([5, 5])}
    found = scan([path], nodes_of).select(["source_node", "target_node", "bucket", "count"])
    assert [tuple(row.values()) for row in found.to_pylist()] == [(0, 1, 96, 10), (7, 0, 96, 30)]


@pytest.mark.parametrize("runs", [1, 0])
def test_cold_samples_alone_and_a_file_without_rows_are_an_empty_histogram(tmp_path: Path, runs: int) -> None:
    path = tmp_path / "c000.parquet"
    cold = {"cell": "c000", "launch": 1, "source": 0, "target": 1, "bytes": 0, "mode": "all", "phase": "cold"}
    batch = pa.RecordBatch.from_pylist([cold | {"batch": 1, "samples": 3}] * runs, schema=RUNS_SCHEMA)
    write_samples(path, iter([rows_of(batch, *np.full((2, 3 * runs), 5))]))
    write_parquet(path.parent / PLACE / path.name, [batch], RUNS_SCHEMA, RUNS)
    found = scan([path], NODES_OF)
    assert len(found) == 0


def test_a_rank_without_a_node_and_a_torn_file_are_told(tmp_path: Path) -> None:
    made(tmp_path / "c000.parquet", 1)
    with pytest.raises(DataError, match="rank 4 of cell c000 has no node"):
        scan([tmp_path / "c000.parquet"], {("c000", 1): NODE_OF[:4]})
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="cannot be read"):
        scan([tmp_path / "torn.parquet"], NODES_OF)


def test_samples_without_their_runs_and_runs_of_other_samples_are_refused(tmp_path: Path) -> None:
    one, other = (made(tmp_path / str(seed) / "c000.parquet", seed) for seed in (1, 2))
    runs = one.parent / PLACE / one.name
    (other.parent / PLACE / other.name).replace(runs)
    with pytest.raises(DataError, match=r"runs of [\d,]+ samples, but c000.parquet has") as raised:
        scan([one], NODES_OF)
    assert f"weft show {one.parents[1]}" in raised.value.remedy
    runs.unlink()
    with pytest.raises(DataError, match="the runs of the samples cannot be read"):
        scan([one], NODES_OF)
    assert pq.read_schema(one).remove_metadata().equals(SCHEMA)
