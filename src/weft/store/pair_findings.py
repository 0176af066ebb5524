# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel ``pairs`` found of each pair beside its samples: summaries, forward times, second looks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.store.cells import DURATION, TAINT, CellData
from weft.store.files import Table
from weft.store.pair_layout import PAIR, WAY, Layout, Way, layout_of
from weft.store.records import CellRecord

FINDINGS, BUCKETS = "weft-pair-findings/1", "weft-pair-buckets/1"
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
        *PAIR,
        *WAY,
        ("batch", pa.int32()),
        *((name, pa.int64()) for name in ("forward_ns", "forward_samples", "again_1_ns", "again_2_ns")),
        *((name, pa.int64()) for name in SUMMARY_COLUMNS),
    ]
)
BUCKETS_SCHEMA = pa.schema([*PAIR, *WAY, ("bucket", pa.int16()), ("count", pa.int64())])

Column = NDArray[np.int64]


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
