# SPDX-License-Identifier: BSD-3-Clause
"""From the kernels' .npy to one Parquet file per cell, made again only if a cell has changed."""

import json
import math
import os
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import plain_file, read_plain
from weft.store import cells, pairs
from weft.store.cells import CellData, Longs, Origin, folder_path
from weft.store.pair_layout import NAME, is_of_pairs
from weft.store.records import LOST_COLUMNS, MEASURE_AGAIN, WITH_SAMPLES, CellRecord
from weft.store.rows import write_tables
from weft.store.tables import ROW_GROUP, UNREADABLE, Column, Table, ahead, read_table, write_parquet

SCHEMA = pa.schema(
    [
        ("cell", NAME), ("launch", pa.int16()), ("op", NAME), ("phase", NAME), ("iteration", pa.int32()),
        ("rank", pa.int32()), ("start_ns", pa.int64()), ("duration_ns", pa.int64()), ("batch", pa.int32()),
        ("lost_ns", pa.int64()), ("faults", pa.int32()),
    ]
)  # fmt: skip
NUMBERS = {"launch": np.int16, "iteration": np.int32, "rank": np.int32, "batch": np.int32, "faults": np.int32}
NAMES, LONGS, TIMES = ("op", "phase"), ("start_ns", "duration_ns", "lost_ns"), ("start_ns", "duration_ns")
SAMPLES = "weft-samples/2"
Fingerprints: TypeAlias = dict[str, list[Any]]
DIFFERENCES = ("iteration", "start_ns", "duration_ns")
WORTH_A_THREAD = 1 << 17  # rows of a cell from which on a thread gains time; those of smaller cells wait for each other


class Slab(NamedTuple):
    """Samples of some neighbouring ranks of one launch."""

    record: CellRecord
    first: int  # the first of the ranks
    samples: Longs  # (ranks, samples, 3): start and duration in ns, what was lost
    rows: int  # one for each sample


def sample_tables(launches: Iterable[CellData]) -> Iterator[Table]:
    """Samples of one cell's launches as tables of `SCHEMA`, a row group each; DataError for other columns."""
    waiting: list[Slab] = []
    held = 0
    for slab in (slab for data in launches for slab in _slabs(data)):
        if waiting and held + slab.rows > ROW_GROUP:
            yield _table(waiting)
            waiting, held = [], 0
        waiting.append(slab)
        held += slab.rows
    if waiting:
        yield _table(waiting)


def _slabs(data: CellData) -> Iterator[Slab]:
    """A launch, some ranks at a time where all of them are more than a row group."""
    samples, record = data.samples, data.record
    if samples is None or not samples.size:
        return
    for segment in record.segments:
        if segment.columns[: cells.LOST] != TIMES or not segment.lost_column or segment.head:
            expected = (*TIMES, " or ".join(LOST_COLUMNS))
            what = "has rows of several kinds" if segment.head else f"holds {segment.columns}, not {expected}"
            where = f"cell {record.cell}, launch {record.launch_index}: segment {segment.op!r}"
            raise DataError(f"{where} {what}", MEASURE_AGAIN)
    step = max(1, ROW_GROUP // samples.shape[1])
    for first in range(0, len(samples), step):
        some = samples[first : first + step]
        yield Slab(record, first, some, math.prod(some.shape[:2]))


def _table(slabs: Sequence[Slab]) -> Table:
    """All columns of some slabs: each is filled in place, without a loop over samples or ranks."""
    rows = sum(slab.rows for slab in slabs)
    columns: dict[str, NDArray[Any]] = {name: np.empty(rows, dtype) for name, dtype in NUMBERS.items()}
    columns |= {name: np.empty(rows, np.int32) for name in NAMES} | {name: np.empty(rows, np.int64) for name in LONGS}
    segments = [segment for slab in slabs for segment in slab.record.segments]
    known = {name: sorted({getattr(segment, name) for segment in segments}) for name in NAMES}
    end = 0
    for slab in slabs:
        begin, end = end, end + slab.rows
        _fill({name: column[begin:end] for name, column in columns.items()}, slab, known)
    arrays: dict[str, Column] = {name: pa.array(columns[name]) for name in (*NUMBERS, *LONGS)}
    for name in NAMES:
        arrays[name] = pa.DictionaryArray.from_arrays(columns[name], pa.array(known[name], pa.string()))
    arrays["cell"] = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [slabs[0].record.cell])
    return pa.Table.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def _fill(columns: dict[str, NDArray[Any]], slab: Slab, known: dict[str, list[str]]) -> None:
    ranks, count, _ = slab.samples.shape
    segments = slab.record.segments
    lengths = [segment.count for segment in segments]
    grid = {name: column.reshape(ranks, count) for name, column in columns.items()}
    grid["launch"][:] = slab.record.launch_index
    grid["rank"][:] = np.arange(slab.first, slab.first + ranks, dtype=np.int32)[:, None]
    # what follows from the segments alone is the same for each rank
    grid["iteration"][:] = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    grid["batch"][:] = np.repeat(np.array([segment.batch for segment in segments], np.int32), lengths)
    for name in NAMES:
        codes = [known[name].index(getattr(segment, name)) for segment in segments]
        grid[name][:] = np.repeat(np.array(codes, np.int32), lengths)
    for name, place in zip(TIMES, (cells.START, cells.DURATION), strict=True):
        grid[name][:] = slab.samples[:, :, place]
    # all segments of a kernel know what was lost in the same way, but for first calls: a stretch a column name
    begin = 0
    for column, stretch in groupby(segments, key=lambda segment: segment.lost_column):
        rows = slice(begin, begin + sum(segment.count for segment in stretch))
        packed, duration = slab.samples[:, rows, cells.LOST], slab.samples[:, rows, cells.DURATION]
        grid["lost_ns"][:, rows], grid["faults"][:, rows] = cells.unpack_lost(packed, duration, column)
        begin = rows.stop


def convert(folder: Any, origin: Origin | None = None, *, whole: Container[str] | None = None) -> None:
    """Bring ``samples/`` and the store's tables up to date with ``cells/``; DataError for a bad cell or a full disk."""
    root = folder_path(folder)
    files = _fingerprints(root)  # before anything is read: what changes meanwhile is read again the next time
    records = [cells.read_record(root, cell, launch, origin) for cell, launch in cells.finished_cells(root)]
    measured = (record for record in records if record.has_samples)
    groups = [list(group) for _, group in groupby(measured, key=lambda record: record.cell)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        convert_cell = partial(_convert_cell, root, files=files, whole=whole)
        tasks = [pool.submit(convert_cell, cell) for cell in groups if _rows(cell) > WORTH_A_THREAD]
        for cell in groups:
            if _rows(cell) <= WORTH_A_THREAD:
                convert_cell(cell)
        for task in tasks:
            task.result()
    write_tables(root, records)


def _convert_cell(root: Path, records: list[CellRecord], files: Fingerprints, whole: Container[str] | None) -> None:
    path = root / "samples" / f"{records[0].cell}.parquet"
    of_pairs = is_of_pairs(records[0])
    schema = pairs.SAMPLES if of_pairs else SAMPLES  # files of an older layout are also made again
    sources = _sources(schema, records, files)
    if (whole is None or path.name in whole) and _remembered(path, _rows(records)) == sources:
        return
    read = (cells.read_samples(root, record) for record in records)
    if of_pairs:
        pairs.write_cell(path, read, sources)
        return
    tables = sample_tables(read)
    if _rows(records) > ROW_GROUP:  # else there is one table, and nothing to make beside it
        tables = ahead(tables)
    write_parquet(path, tables, SCHEMA, SAMPLES, metadata={"sources": sources}, differences=DIFFERENCES)


def _rows(records: Iterable[CellRecord]) -> int:
    return sum(math.prod(record.shape[:2]) for record in records if record.shape)


def _fingerprints(root: Path) -> Fingerprints:
    """Name, size, and time of each file of ``cells/``, by its name; of a record its content in place of its time."""
    place = root / "cells"
    if not place.is_dir():
        return {}
    with os.scandir(place) as entries:
        stats = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries]
    return {
        path.name: [path.name, status.st_size, _crc(path) if path.suffix == ".json" else status.st_mtime_ns]
        for path, status in stats
    }


def _crc(path: Path) -> int:
    """CRC-32 of a record, in which are those of its samples; 0 of one that cannot be read, which its reader says."""
    try:
        return zlib.crc32(read_plain(path))
    except OSError:
        return 0


def _sources(schema: str, records: Iterable[CellRecord], files: Fingerprints) -> str:
    """What a Parquet file is made of: its layout, and the two files of each launch; the name alone of a missing one."""
    stems = (f"{record.cell}.l{record.launch_index}" for record in records)
    names = [f"{stem}.{kind}" for stem in stems for kind in ("json", "npy")]
    return json.dumps([schema, *(files.get(name, [name]) for name in names)])


def _remembered(path: Path, most: int) -> str | None:
    """What a file, and the files of pairs beside it, were made of; None with more rows than the cells have."""
    with suppress(*UNREADABLE):  # absent, or torn: convert it anew
        beside = (path.parent / place / path.name for place, *_ in pairs.BESIDE)
        heads = [pq.read_metadata(plain_file(each)) for each in (path, *beside) if each == path or each.exists()]
        if max(head.num_rows for head in heads) <= most:
            return (heads[0].metadata or {}).get(b"weft.sources", b"").decode()
    return None


def sample_files(folder: Any) -> list[Path]:
    """The sample files of the cells that have samples, ordered by cell; DataError without the table of cells."""
    root = folder_path(folder)
    rows = read_table(root, "cells").select(["cell", "status"]).to_pylist()
    names = sorted({row["cell"] for row in rows if row["status"] in WITH_SAMPLES})
    return [root / "samples" / f"{name}.parquet" for name in names]
