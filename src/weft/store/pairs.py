# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the kernel ``pairs`` as Parquet: samples by source and target, and the other findings on each pair."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.store.cells import CellData
from weft.store.files import ROW_GROUP, Batch, ahead, write_parquet
from weft.store.pair_layout import Layout, layout_of
from weft.store.pair_runs import PLACE, RUNS, RUNS_SCHEMA, SCHEMA, met, rows_of, run_batches
from weft.store.pair_scan import BUCKETS, BUCKETS_SCHEMA, FINDINGS, FINDINGS_SCHEMA, bucket_tables, finding_tables
from weft.store.records import Segment
from weft.store.samples import unpack_lost

SAMPLES = "weft-pair-samples/3"
DIFFERENCES = ("duration_ns",)
REPEATED = ("launch", "source", "target", "iteration", "batch", "lost_ns")
BESIDE = (
    (PLACE, run_batches, RUNS_SCHEMA, RUNS),
    ("findings", finding_tables, FINDINGS_SCHEMA, FINDINGS),
    ("buckets", bucket_tables, BUCKETS_SCHEMA, BUCKETS),
)


def write_cell(path: Path, launches: Iterable[CellData], sources: str) -> None:
    """Write the samples of a cell to ``path``, and its ``runs/``, ``findings/`` and ``buckets/`` beside it."""
    read = [(data, layout_of(data.record)) for data in launches if data.samples is not None]  # mapped, not loaded
    for place, batches, schema, name in BESIDE:
        whole = (batch for data, layout in read for batch in batches(data, layout))
        write_parquet(path.parent / place / path.name, whole, schema, name)
    write_samples(path, (rows for data, layout in read for rows in sample_batches(data, layout)), sources)


def write_samples(path: Path, batches: Iterator[Batch], sources: str = "") -> None:
    """Write rows of samples, which are made while the ones before are written."""
    remembered = {"sources": sources}
    write_parquet(path, ahead(batches), SCHEMA, SAMPLES, metadata=remembered, differences=DIFFERENCES, runs=REPEATED)


def sample_batches(data: CellData, layout: Layout) -> Iterator[Batch]:
    """Samples of one cell and launch as rows, some ranks at a time; rows of one pair stand together."""
    samples, joined = data.samples, met(data, layout)
    assert samples is not None
    lengths = [segment.count for segment in joined.segments]
    begin = 0
    for runs in run_batches(data, layout):
        step = max(1, ROW_GROUP // sum(lengths))
        for first in range(0, len(samples), step):
            slab, own = samples[first : first + step], joined.paired[first : first + step]
            there = slice(None) if own.all() else np.repeat(own, lengths, axis=1)  # a bye has no samples
            rows = [_times(slab, segment) for segment in joined.segments]
            duration, lost = (np.concatenate(each, axis=1)[there].ravel() for each in zip(*rows, strict=True))
            count = int(own.sum())
            yield rows_of(runs.slice(begin, count), duration, lost)
            begin += count


def _times(slab: NDArray[np.int64], segment: Segment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, lost = slab[:, segment.first : segment.first + segment.count], segment.lost_column
    duration, packed = (rows[:, :, segment.columns.index(name)] for name in ("duration_ns", lost))
    return duration, unpack_lost(packed, duration, lost)[0]
