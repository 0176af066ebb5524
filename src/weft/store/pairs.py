# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the kernel ``pairs`` as Parquet: samples by source and target, and what else was found of each pair."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.store.cells import DURATION, TAINT, CellData
from weft.store.files import ROW_GROUP, Table, ahead, write_parquet
from weft.store.pair_findings import (
    BUCKETS,
    BUCKETS_SCHEMA,
    FINDINGS,
    FINDINGS_SCHEMA,
    bucket_tables,
    finding_tables,
)
from weft.store.pair_layout import NAME, PAIR, WAY, Way, layout_of
from weft.store.records import CellRecord, Segment

KERNEL = "pairs"
SAMPLES = "weft-pair-samples/1"
DIFFERENCES = ("duration_ns",)
RUNS = ("launch", "source", "target", "iteration", "batch", "taint")
SCHEMA = pa.schema(
    [
        *PAIR,
        *WAY,
        ("phase", NAME),
        ("iteration", pa.int32()),
        ("duration_ns", pa.int64()),
        ("batch", pa.int32()),
        ("taint", pa.int64()),
    ]
)


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
        # one table a launch: hundreds of rounds would become as many row groups
        whole = (pa.concat_tables(found) for data in read if (found := list(tables(data))))
        write_parquet(beside, whole, schema, name)
    tables = (table for data in read for table in sample_tables(data))
    remembered = {"sources": sources}
    write_parquet(path, ahead(tables), SCHEMA, SAMPLES, metadata=remembered, differences=DIFFERENCES, runs=RUNS)


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
