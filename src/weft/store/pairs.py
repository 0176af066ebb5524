# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the kernel ``pairs`` as Parquet: samples by source and target, and what else the kernel found of each pair.

The segments of such a cell (native/measure/pairs.cpp writes them), each with one column of rows for every rank:

``partner.r12``
    One row: the rank met in round 12, in the column of durations; the own one for a bye. So a record is understood
    without the schedule that made it.
``all.r12@262144`` (``isolated``, ``node``)
    Samples of the pings that the rank began, cold and warm.
``summary.all.r12@262144``
    In the place of warm samples: order statistics, then buckets of a histogram (native/measure/pair_summary.hpp).
``forward.all.r12@262144``
    One row: number of samples, and in the column of taints the median of the time one way by the clocks of both ends.
``again.all.r12@262144``
    One row: two more medians, measured alone in the job, where the pair was slow (METHOD 19).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import DataError
from weft.store.cells import DURATION, TAINT, CellData
from weft.store.files import ROW_GROUP, Table, ahead, write_parquet
from weft.store.records import MEASURE_AGAIN, CellRecord, Segment

KERNEL = "pairs"
SAMPLES, FINDINGS, BUCKETS = "weft-pair-samples/1", "weft-pair-findings/1", "weft-pair-buckets/1"
_OP = re.compile(r"(?:(?P<what>summary|forward|again)\.)?(?P<mode>isolated|node|all)\.r(?P<round>\d+)@(?P<bytes>\d+)")
_PARTNER = re.compile(r"partner\.r(?P<round>\d+)")
_NAME = pa.dictionary(pa.int32(), pa.string())
_PAIR = [("cell", _NAME), ("launch", pa.int16()), ("source", pa.int32()), ("target", pa.int32())]
_WAY = [("bytes", pa.int64()), ("mode", _NAME)]

DIFFERENCES = ("duration_ns",)
RUNS = ("launch", "source", "target", "iteration", "batch", "taint")
SCHEMA = pa.schema(
    [
        *_PAIR,
        *_WAY,
        ("phase", _NAME),
        ("iteration", pa.int32()),
        ("duration_ns", pa.int64()),
        ("batch", pa.int32()),
        ("taint", pa.int64()),
    ]
)
#: Rows 0 to 6 of a summary, by their two columns.
SUMMARY = (
    ("samples", "tainted"),
    ("min_ns", "p5_ns"),
    ("p25_ns", "median_ns"),
    ("p75_ns", "p95_ns"),
    ("p99_ns", "max_ns"),
    ("mean_ns", ""),
    ("low_ns", "high_ns"),
)
SUMMARY_COLUMNS = tuple(name for both in SUMMARY for name in both if name)
FINDINGS_SCHEMA = pa.schema(
    [
        *_PAIR,
        *_WAY,
        ("batch", pa.int32()),
        *((name, pa.int64()) for name in ("forward_ns", "forward_samples", "again_1_ns", "again_2_ns")),
        *((name, pa.int64()) for name in SUMMARY_COLUMNS),
    ]
)
BUCKETS_SCHEMA = pa.schema([*_PAIR, *_WAY, ("bucket", pa.int16()), ("count", pa.int64())])

Column = NDArray[np.int64]


class Way(NamedTuple):
    """One round measured in one way at one size."""

    round: int
    bytes: int
    mode: str


def write_cell(path: Path, launches: Iterable[CellData], sources: str) -> None:
    """Write the samples of a cell to ``path``, and beside it ``findings/`` and ``buckets/``.

    Parameters
    ----------
    path
        ``samples/<cell>.parquet``; written last, because it says that all three are up to date.
    launches
        The cell in each launch, verified.
    sources
        What the files are made from, to be remembered.
    """
    read = list(launches)  # mapped, not loaded
    for place, tables, schema, name in (
        ("findings", finding_tables, FINDINGS_SCHEMA, FINDINGS),
        ("buckets", bucket_tables, BUCKETS_SCHEMA, BUCKETS),
    ):
        beside = path.parent / place / path.name
        write_parquet(beside, (table for data in read for table in tables(data)), schema, name)
    tables = (table for data in read for table in sample_tables(data))
    remembered = {"sources": sources}
    write_parquet(path, ahead(tables), SCHEMA, SAMPLES, metadata=remembered, differences=DIFFERENCES, runs=RUNS)


@dataclass(frozen=True)
class Layout:
    """Which segment of a cell holds what.

    Attributes
    ----------
    partner
        Column of the samples that names each round's partners.
    of
        Segments by what they hold (``samples`` for cold and warm ones) and the way they were measured.
    """

    partner: dict[int, int]
    of: dict[str, list[tuple[Way, Segment]]]


def layout_of(record: CellRecord) -> Layout:
    """Sort the segments of a cell.

    Raises
    ------
    DataError
        A segment that is none of pairs, or one of a round whose partners are not named.
    """
    layout = Layout({}, {"samples": [], "summary": [], "forward": [], "again": []})
    for segment in record.segments:
        if partner := _PARTNER.fullmatch(segment.op):
            layout.partner[int(partner["round"])] = segment.first
            continue
        found = _OP.fullmatch(segment.op)
        if not found or int(found["round"]) not in layout.partner:
            raise DataError(
                f"cell {record.cell}, launch {record.launch_index}: segment {segment.op!r} is none of pairs",
                MEASURE_AGAIN,
            )
        way = Way(int(found["round"]), int(found["bytes"]), found["mode"])
        layout.of[found["what"] or "samples"].append((way, segment))
    return layout


def sample_tables(data: CellData) -> Iterator[Table]:
    """Samples of one cell and launch as rows, some ranks at a time; rows of one pair stand together."""
    samples, layout = data.samples, layout_of(data.record)
    ways = sorted(layout.of["samples"], key=lambda each: each[0].round)
    if samples is None or not ways:
        return
    segments = [segment for _, segment in ways]
    lengths = np.array([segment.count for segment in segments])
    columns = np.concatenate([np.arange(segment.first, segment.first + segment.count) for segment in segments])
    partner = np.stack([samples[:, layout.partner[way.round], DURATION] for way, _ in ways], axis=1)
    step = max(1, ROW_GROUP // len(columns))
    constant = _constant_columns(data.record, ways, lengths, min(step, len(samples)))
    for first in range(0, len(samples), step):
        slab = samples[first : first + step]
        rows = len(slab) * len(columns)
        source = np.arange(first, first + len(slab), dtype=np.int32)
        target = partner[first : first + step].astype(np.int32)
        table = pa.Table.from_pydict(
            {name: column.slice(0, rows) for name, column in constant.items()}
            | {
                "source": np.repeat(source, len(columns)),
                "target": np.repeat(target.ravel(), np.tile(lengths, len(slab))),
                "duration_ns": np.take(slab[:, :, DURATION], columns, axis=1).ravel(),
                "taint": np.take(slab[:, :, TAINT], columns, axis=1).ravel(),
            }
        ).select(SCHEMA.names)
        alone = target == source[:, np.newaxis]  # a bye
        yield table.filter(pa.array(np.repeat(~alone.ravel(), np.tile(lengths, len(slab))))) if alone.any() else table


def _constant_columns(
    record: CellRecord, ways: list[tuple[Way, Segment]], lengths: NDArray[np.int64], ranks: int
) -> dict[str, Table]:
    """Columns that are the same for each rank, for so many ranks: made once."""

    def numbers(values: list[int], kind: Any) -> Table:
        return pa.array(np.tile(np.repeat(np.array(values, kind), lengths), ranks))

    def names(values: list[str]) -> Table:
        distinct = sorted(set(values))
        codes = np.repeat(np.array([distinct.index(value) for value in values], np.int32), lengths)
        return pa.DictionaryArray.from_arrays(np.tile(codes, ranks), pa.array(distinct, pa.string()))

    iteration = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    return {
        "cell": names([record.cell] * len(ways)),
        "launch": numbers([record.launch_index] * len(ways), np.int16),
        "bytes": numbers([way.bytes for way, _ in ways], np.int64),
        "mode": names([way.mode for way, _ in ways]),
        "phase": names([segment.phase for _, segment in ways]),
        "iteration": pa.array(np.tile(iteration, ranks)),
        "batch": numbers([segment.batch for _, segment in ways], np.int32),
    }


def finding_tables(data: CellData) -> Iterator[Table]:
    """What the kernel found of each pair beside its samples: a row for each ordered pair, size and way of measuring."""
    samples, layout = data.samples, layout_of(data.record)
    if samples is None:
        return
    summaries, again = dict(layout.of["summary"]), dict(layout.of["again"])
    warm = {way: segment for way, segment in layout.of["samples"] if segment.phase == "warm"}
    for way, forward in layout.of["forward"]:
        ends = _ends(samples, layout, way)
        look = samples[ends.source, again[way].first] if way in again else np.zeros((len(ends.source), 3), np.int64)
        there = samples[ends.source, forward.first]
        columns: dict[str, Table] = {
            "forward_ns": there[:, TAINT],
            "forward_samples": there[:, DURATION],
            "again_1_ns": _but_zero(look[:, DURATION]),
            "again_2_ns": _but_zero(look[:, TAINT]),
        }
        summary = summaries.get(way)
        if summary:
            rows = samples[ends.source, summary.first : summary.first + len(SUMMARY)]
            for row, both in enumerate(SUMMARY):
                columns |= {name: rows[:, row, DURATION + i] for i, name in enumerate(both) if name}
        measured = summary or warm[way]
        yield _pair_rows(data.record, way, ends, columns | {"batch": measured.batch}, FINDINGS_SCHEMA)


def bucket_tables(data: CellData) -> Iterator[Table]:
    """Histograms of summarised pairs: a row for each ordered pair, size, way of measuring and bucket in use."""
    samples, layout = data.samples, layout_of(data.record)
    if samples is None:
        return
    for way, summary in layout.of["summary"]:
        ends = _ends(samples, layout, way)
        rows = samples[ends.source, summary.first + len(SUMMARY) : summary.first + summary.count]
        pair, place = np.nonzero(rows[:, :, TAINT])
        held = rows[pair, place]
        both = Ends(ends.source[pair], ends.target[pair])
        yield _pair_rows(data.record, way, both, {"bucket": held[:, DURATION], "count": held[:, TAINT]}, BUCKETS_SCHEMA)


class Ends(NamedTuple):
    """Source and target of some pairs, shape (pairs,) each."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]


def _ends(samples: Column, layout: Layout, way: Way) -> Ends:
    """Who began pings in a round, and who answered; without those that had a bye."""
    partner = np.asarray(samples[:, layout.partner[way.round], DURATION])
    source = np.flatnonzero(partner != np.arange(len(partner)))
    return Ends(source, partner[source])


def _but_zero(values: Column) -> Table:
    """Zero stands for what was not measured."""
    return pa.array(values, mask=values == 0)


def _pair_rows(record: CellRecord, way: Way, ends: Ends, columns: dict[str, Any], schema: Any) -> Table:
    """Rows of one way of measuring; columns that are not given are null, single values are the same for all pairs."""
    count = len(ends.source)
    single = {"cell": record.cell, "launch": record.launch_index, "bytes": way.bytes, "mode": way.mode}
    given = single | {"source": ends.source, "target": ends.target} | columns

    def column(name: str, kind: Any) -> Table:
        value = given.get(name)
        if value is None:
            return pa.nulls(count, kind)
        if isinstance(value, str | int):
            return pa.repeat(pa.scalar(value), count).cast(kind)
        array: Table = value if isinstance(value, pa.Array) else pa.array(value)
        return array.cast(kind)

    return pa.Table.from_arrays([column(field.name, field.type) for field in schema], schema=schema)
