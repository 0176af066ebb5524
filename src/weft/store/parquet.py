# SPDX-License-Identifier: BSD-3-Clause
"""From the kernels' .npy to one Parquet file per cell, made again only if a cell has changed."""

import json
import math
import os
import zlib
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from weft.files.beneath import plain_file, read_plain
from weft.store import pairs
from weft.store.cells import Origin, finished_cells, folder_path, read_record, read_samples
from weft.store.files import ROW_GROUP, UNREADABLE, ahead, write_parquet
from weft.store.pair_layout import is_of_pairs
from weft.store.records import WITH_SAMPLES, CellRecord
from weft.store.rows import write_tables
from weft.store.samples import SCHEMA, sample_tables
from weft.store.tables import read_table

SAMPLES = "weft-samples/2"
Fingerprints: TypeAlias = dict[str, list[Any]]
DIFFERENCES = ("iteration", "start_ns", "duration_ns")
WORTH_A_THREAD = 1 << 17
"""Rows of a cell from which on a thread of its own gains time; of smaller ones the threads wait for each other."""


def convert(folder: Any, origin: Origin | None = None, *, whole: Container[str] | None = None) -> None:
    """Bring ``samples/`` and the store's tables up to date with ``cells/``; DataError for a bad cell, or a full disk.

    Cells whose files still have the names, sizes and times stored in their Parquet file are skipped.
    """
    root = folder_path(folder)
    files = _fingerprints(root)  # before anything is read: what changes meanwhile is read again the next time
    records = [read_record(root, cell, launch, origin) for cell, launch in finished_cells(root)]
    measured = (record for record in records if record.has_samples)
    cells = [list(group) for _, group in groupby(measured, key=lambda record: record.cell)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        convert_cell = partial(_convert_cell, root, files=files, whole=whole)
        tasks = [pool.submit(convert_cell, cell) for cell in cells if _rows(cell) > WORTH_A_THREAD]
        for cell in cells:
            if _rows(cell) <= WORTH_A_THREAD:
                convert_cell(cell)
        for task in tasks:
            task.result()
    write_tables(root, records)


def _convert_cell(root: Path, records: list[CellRecord], files: Fingerprints, whole: Container[str] | None) -> None:
    """Bring the Parquet file of one cell up to date with its launches that have samples."""
    path = root / "samples" / f"{records[0].cell}.parquet"
    of_pairs = is_of_pairs(records[0])
    schema = pairs.SAMPLES if of_pairs else SAMPLES  # files of an older layout are also made again
    sources = _sources(schema, records, files)
    if (whole is None or path.name in whole) and _remembered(path, _rows(records)) == sources:
        return
    read = (read_samples(root, record) for record in records)
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
    cells = root / "cells"
    if not cells.is_dir():
        return {}
    with os.scandir(cells) as entries:
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
    try:
        beside = (path.parent / place / path.name for place, *_ in pairs.BESIDE)
        heads = [pq.read_metadata(plain_file(each)) for each in (path, *beside) if each == path or each.exists()]
        if max(head.num_rows for head in heads) <= most:
            return (heads[0].metadata or {}).get(b"weft.sources", b"").decode()
    except UNREADABLE:  # absent, or torn: convert it anew
        pass
    return None


def sample_files(folder: Any) -> list[Path]:
    """The sample files of the cells that have samples, ordered by cell; DataError without the table of cells."""
    root = folder_path(folder)
    rows = read_table(root, "cells").select(["cell", "status"]).to_pylist()
    cells = sorted({row["cell"] for row in rows if row["status"] in WITH_SAMPLES})
    return [root / "samples" / f"{cell}.parquet" for cell in cells]
