# SPDX-License-Identifier: BSD-3-Clause
"""Runs of samples of pairs: consecutive rows of one pair, measured in one way, in a sample file.

The store knows them when it writes, and keeps them beside the samples, one row per run in the order of the rows. A
reader that needs only the times (`weft.store.pair_scan`) can skip ten of eleven columns, which repeat for many rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.cells import CellData
from weft.store.files import UNREADABLE, Batch, Column, Table
from weft.store.pair_layout import NAME, PAIR, WAY, Layout, Way, filled
from weft.store.records import Segment

PLACE, RUNS = "runs", "weft-pair-runs/1"
_SAME = [*PAIR, *WAY, filled("phase", NAME), filled("batch", pa.int32())]
RUNS_SCHEMA = pa.schema([*_SAME, filled("samples", pa.int64())])
#: Schema of the rows themselves (`weft.store.pairs`).
SCHEMA = pa.schema(
    [*_SAME, filled("iteration", pa.int32()), filled("duration_ns", pa.int64()), filled("lost_ns", pa.int64())]
)


class Met(NamedTuple):
    """The partners of each rank in a launch."""

    # ways, segments: how each run was measured, and its position in the cell; by rounds
    ways: list[Way]
    segments: list[Segment]
    target: NDArray[np.int64]  # the partner, shape (ranks, ways); the rank itself for a bye

    @property
    def paired(self) -> NDArray[np.bool_]:
        """True except for a bye, shape (ranks, ways)."""
        return self.target != np.arange(len(self.target))[:, np.newaxis]


def met(data: CellData, layout: Layout) -> Met:
    """Read the partners of each rank from a cell with samples."""
    found = sorted((each for each in layout.of["samples"] if each[1].count), key=lambda each: each[0].round)
    ways, segments = [way for way, _ in found], [segment for _, segment in found]
    assert data.samples is not None
    rows = [layout.partner[way.round] for way in ways]
    return Met(ways, segments, data.samples[:, rows, layout.columns("partner")[0]])


def run_batches(data: CellData, layout: Layout) -> Iterator[Batch]:
    """The runs of a cell and launch, ordered by source and round; none is empty."""
    ways, segments, target = joined = met(data, layout)
    if not ways:
        return
    source, way = np.nonzero(joined.paired)

    def names(values: list[str]) -> Column:
        distinct = sorted(set(values))
        codes = np.array([distinct.index(value) for value in values], np.int32)
        return pa.DictionaryArray.from_arrays(codes[way], pa.array(distinct, pa.string()))

    def numbers(values: list[int]) -> NDArray[np.int64]:
        return np.array(values, np.int64)[way]

    columns = {
        "cell": names([data.record.cell] * len(ways)),
        "launch": numbers([data.record.launch_index] * len(ways)),
        "source": source,
        "target": target[source, way],
        "bytes": numbers([each.bytes for each in ways]),
        "mode": names([each.mode for each in ways]),
        "phase": names([segment.phase for segment in segments]),
        "batch": numbers([segment.batch for segment in segments]),
        "samples": numbers([segment.count for segment in segments]),
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in RUNS_SCHEMA]
    yield pa.RecordBatch.from_arrays(arrays, schema=RUNS_SCHEMA)


def rows_of(runs: Batch, duration_ns: NDArray[np.int64], lost_ns: NDArray[np.int64]) -> Batch:
    """The rows (`SCHEMA`) of a batch of runs, from the durations of all their samples and what they lost, in ns."""
    length = runs["samples"].to_numpy()

    def repeated(column: Column) -> Column:
        if isinstance(column, pa.DictionaryArray):
            return pa.DictionaryArray.from_arrays(repeated(column.indices), column.dictionary)
        return pa.array(np.repeat(column.to_numpy(), length))

    columns = {field.name: repeated(runs[field.name]) for field in _SAME}
    begin = np.repeat((np.cumsum(length) - length).astype(np.int32), length)
    columns["iteration"] = pa.array(np.arange(len(begin), dtype=np.int32) - begin)
    columns |= {"duration_ns": pa.array(duration_ns), "lost_ns": pa.array(lost_ns)}
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def read_runs(path: Path, rows: int) -> Table:
    """The runs of a sample file with ``rows`` rows; DataError if they are missing, incomplete, or of other samples."""
    beside = path.parent / PLACE / path.name
    remedy = f"`weft show {path.parents[1]}` makes it and its runs again from the cells"
    try:
        with pq.ParquetFile(plain_file(beside)) as file:
            runs = file.read().unify_dictionaries().combine_chunks()
    except UNREADABLE as error:
        raise DataError(f"{beside}: the runs of the samples cannot be read: {error}", remedy) from None
    held = int(runs["samples"].to_numpy().sum())
    if held != rows:
        raise DataError(f"{beside}: runs of {held:,} samples, but {path.name} has {rows:,}", remedy)
    return runs
