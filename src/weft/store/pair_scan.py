# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the raw samples of pairs: histograms by nodes.

The only summary that is not an Ibis expression; used with the embedded engine. An engine would hash the key of every
row; here it is looked up once per run: the store keeps the runs beside the samples (`weft.store.pair_layout`), so only
the durations of the rows are read (bench/pairs_analysis.py measures both ways, a test compares them). The summary is
mergeable, and exact except for the buckets.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.cells import CellData
from weft.store.files import UNREADABLE, Schema, Table
from weft.store.pair_layout import HELD, PAIR, SUMMARY, WAY, Layout, Way, read_runs
from weft.store.pair_tally import NodesOfRanks, Tally, known_buckets
from weft.store.records import CellRecord, Segment

FINDINGS, BUCKETS = "weft-pair-findings/2", "weft-pair-buckets/1"
SUMMARY_COLUMNS = tuple(name for row in SUMMARY for name in row if name)
FOUND = (*HELD["forward"], *HELD["again"])
FINDINGS_SCHEMA = pa.schema(
    [*PAIR, *WAY, ("batch", pa.int32()), *((name, pa.int64()) for name in (*FOUND, *SUMMARY_COLUMNS))]
)
BUCKETS_SCHEMA = pa.schema([*PAIR, *WAY, ("bucket", pa.int16()), ("count", pa.int64())])

Column = NDArray[np.int64]


class Ends(NamedTuple):
    """Ordered pairs, by the way they were measured (an index into a list of ways); shape (pairs,) each."""

    way: Column
    source: Column
    target: Column


def finding_tables(data: CellData, layout: Layout) -> Iterator[Table]:
    """What the kernel found of each pair beside its samples: a row for each ordered pair, size and way of measuring."""
    samples = data.samples
    assert samples is not None
    forward, again, summaries = (dict(layout.of[what]) for what in ("forward", "again", "summary"))
    measured = {way: each for way, each in layout.of["samples"] if each.phase == "warm"} | summaries
    ways = list(forward)
    ends = _ends(samples, layout, ways)
    columns: dict[str, Any] = {}
    for what, of in (("forward", forward), ("again", again)):
        found = _rows(samples, ends, [of.get(way) for way in ways], 1, layout.columns(what))
        columns |= zip(HELD[what], found[:, 0].T, strict=True)
    for name in ("again_1_ns", "again_2_ns"):
        columns[name] = pa.array(columns[name], mask=columns[name] == 0)  # zero means not measured
    rows = _rows(samples, ends, [summaries.get(way) for way in ways], len(SUMMARY), [0, 1, 2])
    columns |= _summary_columns(rows)
    columns["batch"] = np.array([measured[way].batch for way in ways], np.int64)[ends.way]
    yield _table_pair_findings(data.record, ways, ends, columns, FINDINGS_SCHEMA)


def bucket_tables(data: CellData, layout: Layout) -> Iterator[Table]:
    """Histograms of summarised pairs: a row for each ordered pair, size, way of measuring and bucket in use."""
    samples = data.samples
    if samples is None or not layout.of["summary"]:
        return
    ways, summaries = zip(*layout.of["summary"], strict=True)
    ends = _ends(samples, layout, ways)
    most = max(summary.count for summary in summaries)
    rows = _rows(samples, ends, summaries, most, layout.columns("summary"))[:, len(SUMMARY) :]
    pair, place = np.nonzero(rows[:, :, 1])
    columns: dict[str, Any] = dict(zip(HELD["summary"], rows[pair, place].T, strict=True))
    yield _table_pair_findings(data.record, ways, Ends(*(each[pair] for each in ends)), columns, BUCKETS_SCHEMA)


def _summary_columns(rows: Column) -> dict[str, Any]:
    """The order statistics by their names, from rows of shape (pairs, len(SUMMARY), 3); null where there is none."""
    named = {name: rows[:, row, place] for row, names in enumerate(SUMMARY) for place, name in enumerate(names) if name}
    return {name: pa.array(values, mask=named["samples"] == 0) for name, values in named.items()}


def _ends(samples: Column, layout: Layout, ways: Sequence[Way]) -> Ends:
    """Initiators and targets of pings, without ranks that had a bye."""
    target = samples[:, [layout.partner[way.round] for way in ways], layout.columns("partner")[0]].T
    way, source = np.nonzero(target != np.arange(len(samples)))
    return Ends(way, source, target[way, source])


def _rows(samples: Column, ends: Ends, segments: Sequence[Segment | None], count: int, places: Sequence[int]) -> Column:
    """Some columns of the first rows of a segment, shape (pairs, count, places); zeros if it has none."""
    first, held = np.array([(each.first, each.count) if each else (0, 0) for each in segments], np.int64)[ends.way].T
    pair, place = np.nonzero(np.arange(count) < held[:, np.newaxis])
    found = np.zeros((len(first), count, len(places)), np.int64)
    found[pair, place] = samples[ends.source[pair], first[pair] + place][:, places]
    return found


def _table_pair_findings(
    record: CellRecord, ways: Sequence[Way], ends: Ends, columns: dict[str, Any], schema: Schema
) -> Table:
    modes = pa.array([way.mode for way in ways], pa.string()).dictionary_encode()
    columns |= {
        "cell": pa.repeat(pa.scalar(record.cell), len(ends.way)),
        "launch": np.full(len(ends.way), record.launch_index),
        "source": ends.source,
        "target": ends.target,
        "bytes": np.array([way.bytes for way in ways], np.int64)[ends.way],
        "mode": modes.take(pa.array(ends.way)),
    }
    return pa.Table.from_arrays([pa.array(columns[field.name]).cast(field.type) for field in schema], schema=schema)


BLOCK = 1 << 18  # rows at a time: in smaller blocks the calls cost more, larger ones leave a core's cache

_WAY = [("bytes", pa.int64()), ("mode", pa.string())]
_NODES = [("source_node", pa.int32()), ("target_node", pa.int32())]
HISTOGRAM = pa.schema([*_WAY, *_NODES, ("bucket", pa.int16()), ("count", pa.int64())])


class Tallied(NamedTuple):
    """What is kept of one file: its ways, and the columns of its histogram, of which the first is an index of them."""

    ways: list[tuple[int, str]]
    columns: list[NDArray[Any]]


def scan(paths: Sequence[Path], nodes_of: NodesOfRanks) -> Table:
    """Histogram by nodes of the warm samples of pairs, of the cells and launches in ``nodes_of``; DataError.

    Returns bytes, mode, source_node, target_node, bucket, count.
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        files = list(pool.map(partial(_tallied, nodes_of=nodes_of, known=known_buckets()), paths))
    ways = sorted({way for file in files for way in file.ways})
    if not ways:
        return HISTOGRAM.empty_table()
    for file in files:
        file.columns[0] = np.array([ways.index(each) for each in file.ways], np.int32)[file.columns[0]]
    *keys, count = (np.concatenate(column) for column in zip(*(file.columns for file in files), strict=True))
    shape = [int(key.max(initial=0)) + 1 for key in keys]
    code, count = _summed(np.ravel_multi_index(keys, shape), count)
    keys.clear()
    for size in reversed(shape):  # as np.unravel_index, in half of its memory
        keys.append((code % size).astype(np.int32))
        code //= size
    way, *rest = reversed(keys)
    sizes, modes = zip(*ways, strict=True)
    mode = pa.DictionaryArray.from_arrays(way, pa.array(modes))
    arrays = [pa.array(each) for each in (np.array(sizes)[way], mode, *rest, count)]
    return pa.Table.from_arrays(
        [each.cast(field.type) for each, field in zip(arrays, HISTOGRAM, strict=True)], schema=HISTOGRAM
    )


def _summed(code: Column, count: Column) -> tuple[Column, Column]:
    """Each code once, in order, with the sum of its counts."""
    order = np.argsort(code)
    code = code[order]
    begin = np.flatnonzero(np.diff(code, prepend=-1))
    return code[begin], np.add.reduceat(count[order], begin) if len(begin) else count


def _tallied(path: Path, nodes_of: NodesOfRanks, known: NDArray[np.uint16]) -> Tallied:
    """The summary of one file, block by block: memory does not grow with the rows."""
    try:
        # a buffer, or a column of a whole row group is read at once
        with pq.ParquetFile(plain_file(path), buffer_size=1 << 18) as file:
            found = Tally(read_runs(path, file.metadata.num_rows), nodes_of, known)
            for block in file.iter_batches(BLOCK, columns=["duration_ns"], use_threads=False):
                found.add(block.column(0).to_numpy())
    except UNREADABLE as error:
        raise DataError(
            f"{path}: cannot be read: {error}", f"`weft show {path.parents[1]}` makes it again from the cells"
        ) from None
    return Tallied(found.ways, found.histogram())
