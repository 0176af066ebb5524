# SPDX-License-Identifier: BSD-3-Clause
"""The layout of a cell of the kernel ``pairs``, and runs of its samples: consecutive rows of one pair, in one way.

The segments of such a cell (native/measure/pairs/pairs.cpp writes them), each with as many rows for every rank. The
record names the columns of each:

``partner.r12``
    One row: the partner in round 12; the rank itself for a bye. So a record can be read without its schedule.
``all.r12@262144`` (``isolated``, ``node``)
    Samples of the pings that the rank started, cold and warm.
``summary.all.r12@262144``
    Instead of warm samples: order statistics, then buckets of a histogram (native/measure/pairs/pair_summary.hpp).
``forward.all.r12@262144``
    One row: number of samples, and the median of the one-way time by the clocks of both ends.
``again.all.r12@262144``
    One row: two more medians, measured with the same concurrent pairs, if the pair was slow (METHOD 17, 19).

Runs are known when samples are written, and kept beside them. A reader that needs only the times
(`weft.store.pair_scan`) can skip ten of eleven columns, which repeat for many rows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.cells import CellData
from weft.store.records import EARLIER_COLUMNS, MEASURE_AGAIN, CellRecord, Columns, Segment
from weft.store.tables import UNREADABLE, Batch, Column, Table

_OP = re.compile(r"(?:(?P<what>summary|forward|again)\.)?(?P<mode>isolated|node|all)\.r(?P<round>\d+)@(?P<bytes>\d+)")
#: The columns that are read, by what a segment is.
HELD = {
    "partner": ("partner",), "samples": ("duration_ns",), "summary": ("bucket", "count"),
    "forward": ("forward_samples", "forward_ns"), "again": ("again_1_ns", "again_2_ns"),
}  # fmt: skip
#: What the first rows of a summary hold; ``disturbed`` samples lost over 1 % of their time, and ``least_ns`` is the
#: median without what samples lost.
SUMMARY: tuple[Columns, ...] = (
    ("", "samples", "disturbed"), ("", "min_ns", "p5_ns"), ("", "p25_ns", "median_ns"), ("", "p75_ns", "p95_ns"),
    ("", "p99_ns", "max_ns"), ("", "mean_ns", "least_ns"), ("", "low_ns", "high_ns"),
)  # fmt: skip
#: Columns of records that do not name them, as earlier versions of Weft wrote them; their summaries are not read.
_EARLIER: dict[str, Columns] = {
    "partner": ("", "partner", ""), "samples": EARLIER_COLUMNS,
    "forward": ("start_ns", "forward_samples", "forward_ns"), "again": ("", "again_1_ns", "again_2_ns"),
}  # fmt: skip
_PARTNER = re.compile(r"partner\.r(?P<round>\d+)")
NAME = pa.dictionary(pa.int32(), pa.string())


def filled(name: str, kind: Any) -> Any:
    """A column declared as without nulls: Parquet's null flags would double its cost."""
    return pa.field(name, kind, nullable=False)


#: Columns that identify the pair of a row and the way it was measured.
PAIR = [filled("cell", NAME), filled("launch", pa.int16()), filled("source", pa.int32()), filled("target", pa.int32())]
WAY = [filled("bytes", pa.int64()), filled("mode", NAME)]


class Way(NamedTuple):
    """One round measured in one way at one size."""

    round: int
    bytes: int
    mode: str


@dataclass(frozen=True)
class Layout:
    """The segments of a cell by content."""

    partner: dict[int, int]  # row with the partners of each round
    of: dict[str, list[tuple[Way, Segment]]]  # segments by content (``samples`` for cold and warm ones), and their ways
    places: dict[str, list[int]]  # indices of the columns of `HELD` in a row, by content of the segment

    def columns(self, what: str) -> list[int]:
        """Indices of the columns of `HELD` in a row; arbitrary if the cell has no such segment."""
        return self.places.get(what, list(range(len(HELD[what]))))


def is_of_pairs(record: CellRecord) -> bool:
    """Whether the samples of a cell are of pairs: its first segment names partners."""
    return bool(record.segments) and _PARTNER.fullmatch(record.segments[0].op) is not None


def layout_of(record: CellRecord) -> Layout:
    """Sort the segments of a cell by content; DataError if one is not of pairs, or lacks partners or columns."""
    layout = Layout({}, {"samples": [], "summary": [], "forward": [], "again": []}, {})
    for segment in record.segments:
        if partner := _PARTNER.fullmatch(segment.op):
            layout.partner[int(partner["round"])] = segment.first
            _add_places(layout, record, "partner", segment)
            continue
        found = _OP.fullmatch(segment.op)
        if not found or int(found["round"]) not in layout.partner:
            raise _refused(record, f"segment {segment.op!r} is none of pairs")
        way = Way(int(found["round"]), int(found["bytes"]), found["mode"])
        what = found["what"] or "samples"
        layout.of[what].append((way, _add_places(layout, record, what, segment)))
    return layout


def _refused(record: CellRecord, why: str) -> DataError:
    return DataError(f"cell {record.cell}, launch {record.launch_index}: {why}", MEASURE_AGAIN)


def _add_places(layout: Layout, record: CellRecord, what: str, segment: Segment) -> Segment:
    """Note where the columns that are read stand; the segment, with its columns where the record does not name them."""
    if "columns" not in segment.model_fields_set:
        segment = segment.model_copy(update={"columns": _EARLIER.get(what, EARLIER_COLUMNS)})
    if not set(HELD[what]) <= set(segment.columns) or (what == "samples" and not segment.lost_column):
        raise _refused(record, f"segment {segment.op!r} holds {segment.columns}, but {HELD[what]} are read")
    places = [segment.columns.index(name) for name in HELD[what]]
    if layout.places.setdefault(what, places) != places:
        raise _refused(record, f"segment {segment.op!r} has its columns in another order than the one before")
    if what == "summary" and segment.head != SUMMARY:
        raise _refused(record, f"segment {segment.op!r} begins with rows of {segment.head}, but {SUMMARY} are read")
    return segment


PLACE, RUNS = "runs", "weft-pair-runs/1"
_SAME = [*PAIR, *WAY, filled("phase", NAME), filled("batch", pa.int32())]
RUNS_SCHEMA = pa.schema([*_SAME, filled("samples", pa.int64())])
#: Schema of the rows themselves (`weft.store.pairs`).
SCHEMA = pa.schema(
    [*_SAME, filled("iteration", pa.int32()), filled("duration_ns", pa.int64()), filled("lost_ns", pa.int64())]
)


class Met(NamedTuple):
    """The partners of each rank in a launch."""

    ways: list[Way]  # how each run was measured, by rounds
    segments: list[Segment]  # its position in the cell
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
        "cell": names([data.record.cell] * len(ways)), "launch": numbers([data.record.launch_index] * len(ways)),
        "source": source, "target": target[source, way], "bytes": numbers([each.bytes for each in ways]),
        "mode": names([each.mode for each in ways]), "phase": names([segment.phase for segment in segments]),
        "batch": numbers([segment.batch for segment in segments]),
        "samples": numbers([segment.count for segment in segments]),
    }  # fmt: skip
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
