# SPDX-License-Identifier: BSD-3-Clause
"""Samples of a cell as rows: the columns of as many launches as fit one row group are made at once.

What samples lost to others (METHOD 11) is the third number of their rows (native/measure/sample/recorder.hpp): 48
bits of ns, or of context switches; above them major page faults. In earlier records (``taint``) 32 bits are switches.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import DataError
from weft.store.cells import DURATION, LOST, START, CellData
from weft.store.files import ROW_GROUP, Column, Table
from weft.store.records import LOST_COLUMNS, MEASURE_AGAIN, CellRecord

Longs = NDArray[np.int64]


def unpack_lost(packed: Longs, duration_ns: Longs, column: str) -> tuple[Longs, Longs]:
    """The most that each sample lost, in ns (all of it, by a fault or switch), and its major page faults."""
    bits = 32 if column == "taint" else 48
    lost_ns: Any = packed & ((1 << bits) - 1)
    faults: Any = packed >> bits
    unknown = faults > 0
    if column in ("taint", "switches"):
        unknown |= lost_ns > 0
    return np.where(unknown, duration_ns, np.minimum(lost_ns, duration_ns)), faults


_NAME = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("cell", _NAME), ("launch", pa.int16()), ("op", _NAME), ("phase", _NAME), ("iteration", pa.int32()),
        ("rank", pa.int32()), ("start_ns", pa.int64()), ("duration_ns", pa.int64()), ("batch", pa.int32()),
        ("lost_ns", pa.int64()), ("faults", pa.int32()),
    ]
)  # fmt: skip
NUMBERS = {"launch": np.int16, "iteration": np.int32, "rank": np.int32, "batch": np.int32, "faults": np.int32}
NAMES = ("op", "phase")
SAMPLE_COLUMNS = ("start_ns", "duration_ns")
LONGS = ("start_ns", "duration_ns", "lost_ns")
TIMES = {"start_ns": START, "duration_ns": DURATION}


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
        if segment.columns[:LOST] != SAMPLE_COLUMNS or not segment.lost_column or segment.head:
            expected = (*SAMPLE_COLUMNS, " or ".join(LOST_COLUMNS))
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
    for name, place in TIMES.items():
        grid[name][:] = slab.samples[:, :, place]
    # all segments of a kernel know what was lost in the same way, but for first calls: a stretch a column name
    begin = 0
    for column, stretch in groupby(segments, key=lambda segment: segment.lost_column):
        rows = slice(begin, begin + sum(segment.count for segment in stretch))
        packed, duration = slab.samples[:, rows, LOST], slab.samples[:, rows, DURATION]
        grid["lost_ns"][:, rows], grid["faults"][:, rows] = unpack_lost(packed, duration, column)
        begin = rows.stop
