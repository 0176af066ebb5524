# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the raw samples of pairs: histograms by nodes, and each pair's count, extremes and sum.

The one summary that is not an Ibis expression. Samples lie in runs of one pair and size, so what an engine has to hash
for every row is looked up once a run here (bench/pairs_analysis.py measures both ways, a test compares them). It is
mergeable, and exact but for the buckets.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.store.files import Table

Ints = NDArray[np.int64]

#: Buckets a factor of two; a bucket is floor(log2(ns) * BUCKETS).
BUCKETS = 32
MOST_BUCKETS = 63 * BUCKETS
#: Buckets of the first whole numbers of nanoseconds are looked up: a logarithm of each sample would cost more.
KNOWN_NS = 1 << 21
COLUMNS = ("source", "target", "bytes", "mode", "phase", "batch", "duration_ns")


def bucket_of(ns: NDArray[Any]) -> Ints:
    """Bucket of each duration: floor(log2(ns) * 32), 0 up to 1 ns."""
    return np.floor(np.log2(np.maximum(ns, 1.0)) * BUCKETS).astype(np.int64)


@dataclass(frozen=True)
class Scan:
    """What one pass found.

    Attributes
    ----------
    histogram
        bytes, mode, source_node, target_node, bucket, count.
    pairs
        bytes, mode, source, target, samples, min_ns, max_ns, sum_ns: a row for each ordered pair and way.
    """

    histogram: Table
    pairs: Table


def scan(paths: Sequence[Path], node_of: NDArray[np.integer]) -> Scan:
    """Read the warm samples of pairs once.

    Parameters
    ----------
    paths
        Sample files (`weft.store.pairs.SCHEMA`).
    node_of
        Node of each rank, shape (ranks,).

    Raises
    ------
    DataError
        A file cannot be read, or a rank has no node.
    """
    table = bucket_of(np.arange(KNOWN_NS)).astype(np.uint16)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(partial(_file, node_of=np.asarray(node_of, np.int64), table=table), paths))
    histogram = _summed([each for each, _ in found])
    pairs = pa.concat_tables([each for _, each in found]) if found else _PAIRS.empty_table()
    merged = pairs.group_by(["bytes", "mode", "source", "target"]).aggregate(
        [("samples", "sum"), ("min_ns", "min"), ("max_ns", "max"), ("sum_ns", "sum")]
    )
    return Scan(histogram, merged.rename_columns(["bytes", "mode", "source", "target", *_PAIRS.names[4:]]))


_WHERE = [("bytes", pa.int64()), ("mode", pa.string())]
_HISTOGRAM = pa.schema(
    [*_WHERE, ("source_node", pa.int32()), ("target_node", pa.int32()), ("bucket", pa.int16()), ("count", pa.int64())]
)
_PAIRS = pa.schema(
    [*_WHERE, ("source", pa.int32()), ("target", pa.int32()), ("samples", pa.int64())]
    + [(name, pa.float64()) for name in ("min_ns", "max_ns", "sum_ns")]
)


def _summed(tables: Sequence[Table]) -> Table:
    """Histograms added up."""
    if not tables:
        return _HISTOGRAM.empty_table()
    key = _HISTOGRAM.names[:-1]
    counted = pa.concat_tables(tables).group_by(key).aggregate([("count", "sum")])
    return counted.rename_columns([*key, "count"]).cast(_HISTOGRAM)


def _file(path: Path, node_of: Ints, table: NDArray[np.uint16]) -> tuple[Table, Table]:
    """Histogram and pairs of one file, row group by row group: memory does not grow with the file."""
    histograms: list[Table] = []
    pairs: list[Table] = []
    for rows in _row_groups(path):
        runs = _runs(rows)
        if not len(runs):
            continue
        histogram, own = _counted(rows, runs, node_of, table)
        histograms.append(histogram)
        pairs.append(own)
    return _summed(histograms), pa.concat_tables(pairs) if pairs else _PAIRS.empty_table()


def _row_groups(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with pq.ParquetFile(path, read_dictionary=["mode", "phase"]) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=list(COLUMNS), use_threads=False).combine_chunks()
                yield {name: rows[name].combine_chunks() for name in COLUMNS}
    except (OSError, ValueError, KeyError) as error:  # pyarrow's own errors derive from the first two
        raise DataError(f"{path}: cannot be read: {error}", "`weft show RUN` makes it again from the cells") from None


def _codes(column: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Indices and names of a dictionary column, however many chunks it came in."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    return column.indices.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()


@dataclass(frozen=True)
class _Runs:
    """Stretches of rows of one pair, size and way, all of the warm phase."""

    start: Ints
    length: Ints
    source: Ints
    target: Ints
    bytes: Ints
    mode: list[str]
    batch: Ints

    def __len__(self) -> int:
        return len(self.start)


def _runs(rows: dict[str, Any]) -> _Runs:
    columns = [rows[name].to_numpy(zero_copy_only=False) for name in ("source", "target", "bytes", "batch")]
    (mode, modes), (phase, phases) = _codes(rows["mode"]), _codes(rows["phase"])
    count = len(phase)
    changes = np.zeros(count, bool)
    changes[:1] = True
    for column in (*columns, mode, phase):
        changes[1:] |= column[1:] != column[:-1]
    start = np.flatnonzero(changes)
    length = np.diff(np.append(start, count))
    warm = np.array([name == "warm" for name in phases], bool)[phase[start]] if count else np.zeros(0, bool)
    start, length = start[warm], length[warm]
    source, target, size, batch = (column[start].astype(np.int64) for column in columns)
    return _Runs(start, length, source, target, size, [modes[code] for code in mode[start]], batch)


def _counted(rows: dict[str, Any], runs: _Runs, node_of: Ints, table: NDArray[np.uint16]) -> tuple[Table, Table]:
    if max(int(runs.source.max()), int(runs.target.max())) >= len(node_of):
        raise DataError(
            f"rank {max(runs.source.max(), runs.target.max())} has no node", "start the same `weft run` again"
        )
    duration = rows["duration_ns"].to_numpy(zero_copy_only=False)
    taken = int(runs.length.sum())
    if taken != len(duration):  # cold samples lie between: leave them out
        duration = duration[np.repeat(runs.start - _before(runs.length), runs.length) + np.arange(taken)]
    begin = _before(runs.length)
    if (runs.batch != 1).any():
        duration = duration / np.repeat(runs.batch, runs.length)
    bucket = table[duration] if _looked_up(duration) else bucket_of(duration)
    names = sorted(set(runs.mode))
    mode = np.array([names.index(name) for name in runs.mode])
    way = np.stack([runs.bytes, mode, node_of[runs.source], node_of[runs.target]], axis=1)
    keys, index = np.unique(way, axis=0, return_inverse=True)
    low = int(bucket.min())
    width = int(bucket.max()) - low + 1
    cell = np.repeat(index.ravel() * width - low, runs.length) + bucket
    counts = np.bincount(cell, minlength=len(keys) * width).reshape(len(keys), width)
    key, place = np.nonzero(counts)
    histogram = [
        keys[key, 0],
        pa.array(names).take(pa.array(keys[key, 1])),
        *(keys[key, column].astype(np.int32) for column in (2, 3)),
        (place + low).astype(np.int16),
        counts[key, place],
    ]
    reduced = (operation.reduceat(duration, begin).astype(float) for operation in (np.minimum, np.maximum, np.add))
    pairs = [runs.bytes, pa.array(runs.mode), runs.source.astype(np.int32), runs.target.astype(np.int32), runs.length]
    return pa.table(histogram, schema=_HISTOGRAM), pa.table([*pairs, *reduced], schema=_PAIRS)


def _looked_up(duration: NDArray[Any]) -> bool:
    return duration.dtype.kind == "i" and int(duration.max()) < KNOWN_NS and int(duration.min()) >= 0


def _before(lengths: Ints) -> Ints:
    """Where each run begins when they stand one after the other."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
