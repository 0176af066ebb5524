# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the raw samples of pairs: histograms by nodes. The only summary that is not an Ibis expression: an
engine would hash the key of every row, here it is looked up once a run of rows (`weft.store.pair_layout`), and only
durations are read (bench/pairs_analysis.py measures both ways).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.cells import CellData
from weft.store.pair_layout import HELD, PAIR, SUMMARY, WAY, Layout, Way, read_runs
from weft.store.records import CellRecord, Segment
from weft.store.tables import UNREADABLE, Schema, Table

SUMMARY_COLUMNS = tuple(name for row in SUMMARY for name in row if name)
FOUND = (*HELD["forward"], *HELD["again"])
FINDINGS_SCHEMA = pa.schema(
    [*PAIR, *WAY, ("batch", pa.int32()), *((name, pa.int64()) for name in (*FOUND, *SUMMARY_COLUMNS))]
)
BUCKETS_SCHEMA = pa.schema([*PAIR, *WAY, ("bucket", pa.int16()), ("count", pa.int64())])
Column: TypeAlias = NDArray[np.int64]
#: Node of each rank, shape (ranks,), by cell and launch.
NodesOfRanks: TypeAlias = Mapping[tuple[str, int], NDArray[np.integer]]
BUCKETS = 32  # buckets a factor of two; a bucket is floor(log2(ns) * BUCKETS)
MOST_BUCKETS = 63 * BUCKETS
KNOWN_NS = 1 << 21  # buckets of so many first ns are looked up: a logarithm of each sample would cost more
BLOCK = 1 << 18  # rows at a time: in smaller blocks the calls cost more, larger ones leave a core's cache
HISTOGRAM = pa.schema(
    [
        ("bytes", pa.int64()), ("mode", pa.string()), ("source_node", pa.int32()), ("target_node", pa.int32()),
        ("bucket", pa.int16()), ("count", pa.int64()),
    ]
)  # fmt: skip


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
    # the order statistics by their names; null where there are none
    rows = _rows(samples, ends, [summaries.get(way) for way in ways], len(SUMMARY), [0, 1, 2])
    named = {name: rows[:, row, place] for row, names in enumerate(SUMMARY) for place, name in enumerate(names) if name}
    columns |= {name: pa.array(values, mask=named["samples"] == 0) for name, values in named.items()}
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


def _ends(samples: Column, layout: Layout, ways: Sequence[Way]) -> Ends:
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
        "cell": pa.repeat(pa.scalar(record.cell), len(ends.way)), "mode": modes.take(pa.array(ends.way)),
        "launch": np.full(len(ends.way), record.launch_index), "source": ends.source, "target": ends.target,
        "bytes": np.array([way.bytes for way in ways], np.int64)[ends.way],
    }  # fmt: skip
    return pa.Table.from_arrays([pa.array(columns[field.name]).cast(field.type) for field in schema], schema=schema)


def bucket_of(ns: NDArray[Any]) -> Column:
    """Bucket of each duration, any shape such as (rows,): floor(log2(ns) * 32), 0 up to 1 ns."""
    return np.floor(np.log2(np.maximum(ns, 1.0)) * BUCKETS).astype(np.int64)


class Tally:
    """Counts of one file's runs, to which rows are added in order; DataError if a rank has no node."""

    def __init__(self, runs: Table, nodes_of: NodesOfRanks, known: NDArray[np.uint16]) -> None:
        self.length, self.source, self.target, self.batch = (
            runs[name].to_numpy().astype(np.int64) for name in ("samples", "source", "target", "batch")
        )
        self.end, self.rows = np.cumsum(self.length), 0
        (size, sizes), (mode, modes), (phase, phases) = (_coded(runs[name]) for name in ("bytes", "mode", "phase"))
        self.source_node, self.target_node = np.full((2, len(runs)), -1)
        self._place(runs, nodes_of)
        self.wanted = np.array([name == "warm" for name in phases], bool)[phase] & (self.source_node >= 0)
        self.ways: list[tuple[int, str]] = [(each, name) for each in sizes for name in modes]
        self.way = size * len(modes) + mode
        # runs of one histogram have one key; consecutive runs of one source have keys close to each other
        ends = [np.maximum(node, 0) for node in (self.source_node, self.target_node)]
        self.shape = (*(int(node.max(initial=0)) + 1 for node in ends), len(self.ways), 2)
        shared = (*ends, self.way, self.wanted)
        self.keys, self.key = np.unique(np.ravel_multi_index(shared, self.shape), return_inverse=True)
        self.known, self.counted = known, [np.empty((2, 0), np.int64)]

    def _place(self, runs: Table, nodes_of: NodesOfRanks) -> None:
        (cell, cells), launch = _coded(runs["cell"]), runs["launch"].to_numpy()
        for (name, number), node_of in nodes_of.items():
            own = (launch == number) & (cell == cells.index(name)) if name in cells else np.zeros(len(runs), bool)
            highest = max(self.source[own].max(initial=-1), self.target[own].max(initial=-1))
            if highest >= len(node_of):
                remedy = "bring launches/*.json back; if they are lost, measure anew with --into DIR"
                raise DataError(f"rank {highest} of cell {name} has no node", remedy)
            self.source_node[own], self.target_node[own] = node_of[self.source[own]], node_of[self.target[own]]

    def add(self, duration: Column) -> None:
        """Add the next rows, durations in ns of shape (rows,); their first and last runs may span several blocks."""
        first, last = np.searchsorted(self.end, (self.rows, self.rows + len(duration) - 1), side="right")
        own = slice(first, last + 1)
        begin = np.maximum(self.end[own] - self.length[own] - self.rows, 0)
        length = np.minimum(self.end[own] - self.rows, len(duration)) - begin
        self.rows += len(duration)
        bucket, key = self._buckets(duration, self.batch[own], length), self.key[own]
        low_key, width = int(key.min()), int(bucket.max()) + 1
        keys = int(key.max()) - low_key + 1
        narrow = np.uint16 if bucket.dtype == np.uint16 and keys * width < 1 << 16 else np.int64
        cell = np.repeat(((key - low_key) * width).astype(narrow), length)
        cell += bucket  # twice as fast without a change of type
        counts = np.bincount(cell)
        used = np.flatnonzero(counts)
        self.counted.append(np.stack([(used // width + low_key) * MOST_BUCKETS + used % width, counts[used]]))

    def _buckets(self, duration: Column, batch: Column, length: Column) -> NDArray[Any]:
        if (batch != 1).any():
            return bucket_of(duration / np.repeat(batch, length))
        bucket = self.known.take(duration, mode="clip")
        if bucket.max() >= self.known[-1]:  # of clipped durations, too
            beyond = np.flatnonzero(duration >= KNOWN_NS)
            bucket[beyond] = bucket_of(duration[beyond])
        return bucket

    def histogram(self) -> list[NDArray[Any]]:
        """Way, node of the source and of the target, bucket and count of warm samples, shape (buckets,) each."""
        code, count = np.concatenate(self.counted, axis=1)
        code, inverse = np.unique(code, return_inverse=True)
        count = np.bincount(inverse, weights=count, minlength=len(code)).astype(np.int64)
        source, target, way, wanted = np.unravel_index(self.keys[code // MOST_BUCKETS], self.shape)
        keys = (column[wanted == 1].astype(np.int32) for column in (way, source, target, code % MOST_BUCKETS))
        return [*keys, count[wanted == 1]]


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[Any]]:
    codes = column.dictionary_encode().unify_dictionaries().combine_chunks()
    return codes.indices.to_numpy(), codes.dictionary.to_pylist()


def scan(paths: Sequence[Path], nodes_of: NodesOfRanks) -> Table:
    """Warm samples of the cells and launches in ``nodes_of``, by way, nodes and bucket (`HISTOGRAM`); DataError."""
    known = np.empty(KNOWN_NS, np.uint16)  # bucket of each whole number of ns
    for part in np.split(np.arange(KNOWN_NS, dtype=np.int32), 32):  # all at once takes 50 MB for a table of 4
        known[part] = bucket_of(part)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        files = list(pool.map(partial(_tallied, nodes_of=nodes_of, known=known), paths))
    ways = sorted({way for own, _ in files for way in own})
    if not ways:
        return HISTOGRAM.empty_table()
    for own, columns in files:
        columns[0] = np.array([ways.index(each) for each in own], np.int32)[columns[0]]
    *keys, count = (np.concatenate(column) for column in zip(*(columns for _, columns in files), strict=True))
    shape = [int(key.max(initial=0)) + 1 for key in keys]
    code = np.ravel_multi_index(keys, shape)
    order = np.argsort(code)
    code = code[order]
    begin = np.flatnonzero(np.diff(code, prepend=-1))  # each code once, with the sum of its counts
    code, count = code[begin], np.add.reduceat(count[order], begin) if len(begin) else count
    keys.clear()
    for size in reversed(shape):  # as np.unravel_index, in half of its memory
        keys.append((code % size).astype(np.int32))
        code //= size
    way, *rest = reversed(keys)
    sizes, modes = zip(*ways, strict=True)
    mode = pa.DictionaryArray.from_arrays(way, pa.array(modes))
    arrays = zip((np.array(sizes)[way], mode, *rest, count), HISTOGRAM, strict=True)
    return pa.Table.from_arrays([pa.array(each).cast(field.type) for each, field in arrays], schema=HISTOGRAM)


def _tallied(path: Path, nodes_of: NodesOfRanks, known: NDArray[np.uint16]) -> tuple[list[Any], list[NDArray[Any]]]:
    """The ways of one file, and the columns of its histogram, the first an index of these; read block by block."""
    try:
        # a buffer, or a column of a whole row group is read at once
        with pq.ParquetFile(plain_file(path), buffer_size=1 << 18) as file:
            found = Tally(read_runs(path, file.metadata.num_rows), nodes_of, known)
            for block in file.iter_batches(BLOCK, columns=["duration_ns"], use_threads=False):
                found.add(block.column(0).to_numpy())
    except UNREADABLE as error:
        remedy = f"`weft show {path.parents[1]}` makes it again from the cells"
        raise DataError(f"{path}: cannot be read: {error}", remedy) from None
    return found.ways, found.histogram()
