# SPDX-License-Identifier: BSD-3-Clause
"""From the kernels' .npy to one Parquet file per cell, made again only if a cell has changed."""

import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import DataError
from weft.store import pairs
from weft.store.cells import (
    DURATION,
    START,
    TAINT,
    CellData,
    Origin,
    finished_cells,
    folder_path,
    read_record,
    read_samples,
)
from weft.store.files import ROW_GROUP, Column, Table, ahead, gathered, write_parquet
from weft.store.pair_layout import is_of_pairs
from weft.store.records import MEASURE_AGAIN, SAMPLE_COLUMNS, CellRecord, Segment
from weft.store.tables import write_tables

SAMPLES = "weft-samples/1"
_NAME = pa.dictionary(pa.int32(), pa.string())
DIFFERENCES = ("iteration", "start_ns", "duration_ns")
SCHEMA = pa.schema(
    [
        ("cell", _NAME),
        ("launch", pa.int16()),
        ("op", _NAME),
        ("phase", _NAME),
        ("iteration", pa.int32()),
        ("rank", pa.int32()),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("batch", pa.int32()),
        ("taint", pa.int64()),
    ]
)


def convert(folder: Any, origin: Origin | None = None) -> None:
    """Bring ``samples/`` and the store's tables (cells, segments, launches, ranks) up to date with ``cells/``.

    Cells whose files still have the names, sizes and times stored in their Parquet file are skipped.

    Parameters
    ----------
    folder
        The run folder, or its path.
    origin
        Run id and hashes that every record must repeat; None skips this check.

    Raises
    ------
    DataError
        A cell is incomplete or of another run, or the disk is full.
    """
    root = folder_path(folder)
    records: list[CellRecord] = []
    cells: list[list[CellRecord]] = []
    kept: set[str] = set()
    for cell, group in groupby(finished_cells(root), key=lambda found: found[0]):
        found = [read_record(root, cell, launch, origin) for _, launch in group]
        records += found
        measured = [record for record in found if record.has_samples]
        if measured:
            kept.add(f"{cell}.parquet")
            cells.append(measured)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        tasks = [pool.submit(_convert_cell, root, measured) for measured in cells]
        for task in tasks:
            task.result()
    for stale in (root / "samples").rglob("*.parquet"):
        if stale.name not in kept:
            stale.unlink()
    write_tables(root, records)


def _convert_cell(root: Path, records: list[CellRecord]) -> None:
    """Bring the Parquet file of one cell up to date with its launches that have samples."""
    path = root / "samples" / f"{records[0].cell}.parquet"
    of_pairs = is_of_pairs(records[0])
    schema = pairs.SAMPLES if of_pairs else SAMPLES  # files of an older layout are also made again
    sources = json.dumps([schema, *(_fingerprint(root, record) for record in records)])
    if _remembered(path) == sources:
        return
    read = (read_samples(root, record) for record in records)
    if of_pairs:
        pairs.write_cell(path, read, sources)
        return
    tables = gathered((table for data in read for table in sample_tables(data)), ROW_GROUP)
    rows = sum(math.prod(record.shape[:2]) for record in records if record.shape)
    many = rows > ROW_GROUP  # else there is one table, and nothing to make beside it
    write_parquet(
        path, ahead(tables) if many else tables, SCHEMA, SAMPLES, metadata={"sources": sources}, differences=DIFFERENCES
    )


def _fingerprint(root: Path, record: CellRecord) -> list[Any]:
    """Name, size and time of the two files of a cell and launch; the name alone of one that is missing."""
    found: list[Any] = []
    for kind in ("json", "npy"):
        name = f"{record.cell}.l{record.launch_index}.{kind}"
        try:
            status = (root / "cells" / name).stat()
        except OSError:  # whoever reads it says so
            found.append(name)
        else:
            found += [name, status.st_size, status.st_mtime_ns]
    return found


def _remembered(path: Path) -> str | None:
    try:
        return (pq.read_metadata(path).metadata or {}).get(b"weft.sources", b"").decode()
    except (OSError, ValueError):  # absent, or torn: convert it anew (pyarrow's errors derive from these)
        return None


def sample_tables(data: CellData) -> Iterator[Table]:
    """Samples of one cell and launch as rows, some ranks at a time, whole columns at a time (no loop over samples)."""
    samples, record = data.samples, data.record
    if samples is None or not samples.size:
        return
    _check_columns(record)
    ranks, count, _ = samples.shape
    step = min(ranks, max(1, ROW_GROUP // count))
    names, numbers = _segment_columns(record, step)  # the same for each step
    for first in range(0, ranks, step):
        slab = samples[first : first + step]
        yield pa.Table.from_arrays(
            [
                *(column.slice(0, slab.shape[0] * count) for column in names + numbers),
                pa.array(np.repeat(np.arange(first, first + len(slab), dtype=np.int32), count)),
                *(pa.array(np.ascontiguousarray(slab[:, :, column]).ravel()) for column in (START, DURATION, TAINT)),
            ],
            names=["cell", "launch", "op", "phase", "iteration", "batch", "rank", "start_ns", "duration_ns", "taint"],
        ).select(SCHEMA.names)


def _check_columns(record: CellRecord) -> None:
    for segment in record.segments:
        if segment.columns != SAMPLE_COLUMNS or segment.head:
            what = f"holds {segment.columns}, not {SAMPLE_COLUMNS}" if not segment.head else "has rows of several kinds"
            where = f"cell {record.cell}, launch {record.launch_index}: segment {segment.op!r}"
            raise DataError(f"{where} {what}", MEASURE_AGAIN)


def _segment_columns(record: CellRecord, ranks: int) -> tuple[list[Column], list[Column]]:
    """Columns that follow from the segments alone: names (cell, launch, op, phase) and numbers (iteration, batch)."""
    segments = record.segments
    lengths = [segment.count for segment in segments]
    rows = ranks * sum(lengths)
    iteration = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    batch = np.repeat(np.array([segment.batch for segment in segments], np.int32), lengths)
    names = [
        pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [record.cell]),
        pa.array(np.full(rows, record.launch_index, np.int16)),
        _names(segments, "op", ranks),
        _names(segments, "phase", ranks),
    ]
    return names, [pa.array(np.tile(iteration, ranks)), pa.array(np.tile(batch, ranks))]


def _names(segments: tuple[Segment, ...], attribute: str, ranks: int) -> Column:
    """A column of segment names as indices into its few distinct values."""
    values = [str(getattr(segment, attribute)) for segment in segments]
    distinct = sorted(set(values))
    codes = np.array([distinct.index(value) for value in values], np.int32)
    codes = np.tile(np.repeat(codes, [segment.count for segment in segments]), ranks)
    return pa.DictionaryArray.from_arrays(codes, pa.array(distinct, pa.string()))


def sample_files(folder: Any) -> Iterator[Path]:
    """The sample files of a run, ordered by cell."""
    yield from sorted((folder_path(folder) / "samples").glob("*.parquet"))
