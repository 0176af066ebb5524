# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the kernel ``pairs``: their samples as Parquet, and from these the final time of each ordered pair."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.store import pair_layout
from weft.store.cells import CellData, finished_cells, folder_path, read_cell, unpack_lost
from weft.store.pair_layout import SCHEMA, Layout, is_of_pairs, layout_of, met, run_batches
from weft.store.pair_scan import BUCKETS_SCHEMA, FINDINGS_SCHEMA, bucket_tables, finding_tables
from weft.store.records import Segment
from weft.store.tables import ROW_GROUP, Batch, ahead, write_parquet

Floats = NDArray[np.float64]
TRUSTED = 10  # a forward time is trusted if it is so many times the residual of the clocks (METHOD 2)
SAMPLES = "weft-pair-samples/3"
REPEATED = ("launch", "source", "target", "iteration", "batch", "lost_ns")
BESIDE = (
    (pair_layout.PLACE, run_batches, pair_layout.RUNS_SCHEMA, pair_layout.RUNS),
    ("findings", finding_tables, FINDINGS_SCHEMA, "weft-pair-findings/2"),
    ("buckets", bucket_tables, BUCKETS_SCHEMA, "weft-pair-buckets/1"),
)


class PairMedians(NamedTuple):
    """Ordered pairs of ranks at each size, with their times in s; shape (pairs,) each."""

    bytes: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    time_s: Floats  # half a round trip, or a message each way at once: the median, or that of three (METHOD 19)
    forward_s: Floats  # one way; nan where the clocks do not tell


def read_pair_medians(folder: object, cell: str, launches: Sequence[str] = ()) -> list[PairMedians]:
    """The times of a cell in each finished launch, or in those named."""
    numbers = (launch for name, launch in finished_cells(folder_path(folder)) if name == cell)
    read = (read_cell(folder, cell, number, checksums=False) for number in numbers)
    wanted = (data for data in read if not launches or data.record.launch in launches)
    measured = (data for data in wanted if data.samples is not None and is_of_pairs(data.record))
    return [_of_cell(data, layout_of(data.record)) for data in measured]


def _of_cell(data: CellData, layout: Layout) -> PairMedians:
    samples, clock, joined = data.samples, data.record.clock, met(data, layout)
    assert samples is not None
    forward, again, column = dict(layout.of["forward"]), dict(layout.of["again"]), layout.columns("samples")[0]
    rows: list[PairMedians] = []
    for way, warm, target in zip(joined.ways, joined.segments, joined.target.T, strict=True):
        if warm.phase != "warm":
            continue
        source = np.flatnonzero(target != np.arange(len(target)))
        time_ns = np.median(samples[source, warm.first : warm.first + warm.count, column], axis=1) / warm.batch
        if way in again:
            more = samples[source, again[way].first][:, layout.columns("again")] / warm.batch
            seen = (more > 0).all(axis=1)
            time_ns[seen] = np.median(np.column_stack([time_ns, more])[seen], axis=1)
        one_way = np.full(len(source), np.nan)
        if way in forward:
            count, ns = samples[source, forward[way].first][:, layout.columns("forward")].T
            trusted = (count > 0) & (ns > 0) & ((clock.method == "shared") | (TRUSTED * clock.residual_ns < ns))
            one_way[trusted] = ns[trusted] / 1e9
        rows.append(PairMedians(np.full(len(source), way.bytes), source, target[source], time_ns / 1e9, one_way))
    return PairMedians(*(np.concatenate(each) for each in zip(*rows, strict=True)))


def write_cell(path: Path, launches: Iterable[CellData], sources: str) -> None:
    """Write the samples of a cell to ``path``, and its ``runs/``, ``findings/`` and ``buckets/`` beside it."""
    read = [(data, layout_of(data.record)) for data in launches if data.samples is not None]  # mapped, not loaded
    for place, batches, schema, name in BESIDE:
        whole = (batch for data, layout in read for batch in batches(data, layout))
        write_parquet(path.parent / place / path.name, whole, schema, name)
    write_samples(path, (rows for data, layout in read for rows in sample_batches(data, layout)), sources)


def write_samples(path: Path, batches: Iterator[Batch], sources: str = "") -> None:
    """Write rows of samples, which are made while the ones before are written."""
    made = {"sources": sources}
    write_parquet(path, ahead(batches), SCHEMA, SAMPLES, metadata=made, differences=("duration_ns",), runs=REPEATED)


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
            yield pair_layout.rows_of(runs.slice(begin, count), duration, lost)
            begin += count


def _times(slab: NDArray[np.int64], segment: Segment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, lost = slab[:, segment.first : segment.first + segment.count], segment.lost_column
    duration, packed = (rows[:, :, segment.columns.index(name)] for name in ("duration_ns", lost))
    return duration, unpack_lost(packed, duration, lost)[0]
