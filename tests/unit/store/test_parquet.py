# SPDX-License-Identifier: BSD-3-Clause
"""Samples in Parquet: the same numbers, made again only where cells changed."""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made.folder import write_cell
from made.run import Made, make_run
from weft.errors import DataError
from weft.store import cells, parquet
from weft.store.cells import read_cell
from weft.store.parquet import convert, sample_files
from weft.store.records import load_cell_record
from weft.store.tables import read_table


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = make_run(tmp_path / "run", Made(samples=7))
    convert(path)
    return path


def test_every_sample_is_found_again_with_its_coordinates(run: Path) -> None:
    table = pq.read_table(run / "samples" / "c001.parquet").to_pylist()
    data = read_cell(run, "c001", 2)
    assert data.samples is not None
    rows = [row for row in table if row["launch"] == 2]
    assert len(rows) == data.samples.shape[0] * data.samples.shape[1]
    for segment in data.record.segments:
        for rank in range(data.record.ranks):
            own = [row for row in rows if (row["op"], row["phase"], row["rank"]) == (segment.op, segment.phase, rank)]
            assert [row["iteration"] for row in own] == list(range(segment.count))
            found = np.array([[row["start_ns"], row["duration_ns"], row["lost_ns"]] for row in own])
            assert (found == data.samples[rank, segment.first : segment.first + segment.count]).all()
            assert {row["batch"] for row in own} == {segment.batch}


def test_each_record_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_run(tmp_path / "run", Made(samples=2))
    seen: list[Path] = []
    monkeypatch.setattr(cells, "load_cell_record", lambda record: seen.append(record) or load_cell_record(record))
    convert(path)
    assert sorted(seen) == sorted((path / "cells").glob("*.json"))


def test_launches_of_a_small_cell_share_a_row_group(run: Path) -> None:
    file = pq.ParquetFile(run / "samples" / "c002.parquet")
    assert len(set(file.read()["launch"].to_pylist())) > 1
    assert file.num_row_groups == 1


def test_ranks_split_over_several_row_groups_stay_whole(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pq.read_table(run / "samples" / "c002.parquet")
    monkeypatch.setattr(parquet, "ROW_GROUP", 50)  # two ranks at a time of four
    (run / "samples" / "c002.parquet").unlink()
    convert(run)
    again = pq.ParquetFile(run / "samples" / "c002.parquet")
    assert again.num_row_groups > 3
    assert again.read().equals(whole)


def test_the_encoding_is_one_that_spark_reads(run: Path) -> None:
    file = pq.ParquetFile(run / "samples" / "c001.parquet")
    columns = [file.metadata.row_group(0).column(index) for index in range(len(parquet.SCHEMA))]
    packed = {column.path_in_schema for column in columns if column.compression == "UNCOMPRESSED"}
    assert packed == set(parquet.DIFFERENCES)
    assert {column.compression for column in columns} == {"ZSTD", "UNCOMPRESSED"}
    encodings = {column.path_in_schema: set(column.encodings) for column in columns}
    assert not any("BYTE_STREAM_SPLIT" in found for found in encodings.values())
    assert "DELTA_BINARY_PACKED" in encodings["duration_ns"]
    assert "RLE_DICTIONARY" in encodings["op"]


def test_a_file_says_what_it_is(run: Path) -> None:
    metadata = pq.read_metadata(run / "samples" / "c001.parquet").metadata
    assert metadata[b"weft.schema"] == b"weft-samples/2"
    assert b"c001.l1.npy" in metadata[b"weft.sources"]


def test_only_what_changed_is_converted_again(run: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (run / "samples").iterdir()}
    convert(run)
    assert {path.name: path.stat().st_mtime_ns for path in (run / "samples").iterdir()} == before
    changed = run / "cells" / "c001.l2.json"
    times = changed.stat()
    changed.write_text(changed.read_text().replace('"wall_ns": ', '"wall_ns":1', 1))
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changed.stat().st_size == times.st_size
    convert(run)
    after = {path.name: path.stat().st_mtime_ns for path in (run / "samples").iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"c001.parquet"}


def test_a_torn_parquet_file_is_made_again(run: Path) -> None:
    path = run / "samples" / "c001.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    convert(run)
    assert pq.read_table(path).num_rows > 0


def test_samples_of_a_cell_that_is_gone_are_read_no_more(run: Path) -> None:
    for path in (run / "cells").glob("c001.*"):
        path.unlink()
    convert(run)
    assert run / "samples" / "c001.parquet" not in sample_files(run)
    assert run / "samples" / "c002.parquet" in sample_files(run)


def test_a_torn_cell_stops_the_conversion_and_leaves_no_half_file(run: Path) -> None:
    samples = run / "cells" / "c001.l2.npy"
    content = bytearray(samples.read_bytes())
    content[-5] ^= 4
    samples.write_bytes(bytes(content))
    with pytest.raises(DataError, match="checksum"):
        convert(run)
    assert not list(run.rglob("*.part"))
    assert pq.read_table(run / "samples" / "c001.parquet").num_rows > 0  # the old one, whole


def test_a_full_disk_is_told_and_leaves_no_half_file(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (run / "samples" / "c001.parquet").unlink()
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(DataError, match="disk is full"):
        convert(run)
    assert not list(run.rglob("*.part"))


def test_failed_launches_are_rows_of_the_table_of_cells(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(failures={("c001", 2): "timeout"}))
    convert(run)
    rows = {(row["cell"], row["launch"]): row for row in read_table(run, "cells").to_pylist()}
    assert rows["c001", 2]["status"] == "timeout"
    assert rows["c001", 1]["status"] == "ok"
    assert set(pq.read_table(run / "samples" / "c001.parquet")["launch"].to_pylist()) == {1, 3}


def test_ranks_and_launches_have_their_tables(run: Path) -> None:
    ranks = [row for row in read_table(run, "ranks").to_pylist() if row["launch_id"] == "c002.l1"]
    assert [(row["rank"], row["host"], row["cpus"]) for row in ranks] == [(r, "node0", str(r)) for r in range(4)]
    launches = read_table(run, "launches").to_pylist()
    assert {row["mpi_library"] for row in launches} == {"Open MPI v5.0.11, package: made"}


def test_a_missing_table_is_named_with_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"calls\.parquet: is missing") as raised:
        read_table(tmp_path, "calls")
    assert "weft show" in raised.value.remedy


def test_conversion_takes_less_than_a_microsecond_a_row(tmp_path: Path) -> None:
    """The goal is 0.1 us (bench/); this bound is wide, so that a busy machine does not fail a sound program."""
    (tmp_path / "cells").mkdir()
    (tmp_path / "launches").mkdir()
    ranks, count = 16, 50_000
    rng = np.random.default_rng(1)
    samples = np.zeros((ranks, count, 3), np.int64)
    samples[:, :, 0] = np.arange(count) * 10_000 + rng.integers(0, 100, (ranks, count))
    samples[:, :, 1] = rng.integers(5_000, 6_000, (ranks, count))
    record = {
        "schema": "weft-cell/2",
        "run": "made",
        "hash": "made",
        "cell": "c000",
        "launch": "c000.l1",
        "launch_index": 1,
        "ranks": ranks,
        "status": "ok",
    }
    write_cell(tmp_path, record | {"segments": [{"op": "C", "phase": "warm", "first": 0, "count": count}]}, samples)
    started = time.process_time()
    convert(tmp_path)
    assert (time.process_time() - started) / (ranks * count) < 1e-6


def test_rows_that_are_no_samples_are_refused(tmp_path: Path) -> None:
    (tmp_path / "launches").mkdir()
    (tmp_path / "cells").mkdir()
    record = {"schema": "weft-cell/2", "run": "made", "hash": "made", "cell": "c000", "launch": "c000.l1"}
    record |= {"launch_index": 1, "ranks": 1, "status": "ok"}
    segment = {"op": "C", "phase": "warm", "first": 0, "count": 1, "columns": ["start_ns", "rate", "delay"]}
    write_cell(tmp_path, record | {"segments": [segment]}, np.zeros((1, 1, 3), np.int64))
    with pytest.raises(DataError, match=r"segment 'C' holds \('start_ns', 'rate', 'delay'\), not") as raised:
        convert(tmp_path)
    assert raised.value.remedy
