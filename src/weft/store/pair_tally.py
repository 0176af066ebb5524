# SPDX-License-Identifier: BSD-3-Clause
"""Summary of the durations in a sample file of pairs: histograms by nodes."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import DataError
from weft.store.files import Table

Ints: TypeAlias = NDArray[np.int64]
Way: TypeAlias = tuple[int, str]  # Bytes, and mode
#: Node of each rank, shape (ranks,), by cell and launch.
NodesOfRanks: TypeAlias = Mapping[tuple[str, int], NDArray[np.integer]]

BUCKETS = 32  # buckets a factor of two; a bucket is floor(log2(ns) * BUCKETS)
MOST_BUCKETS = 63 * BUCKETS
#: Buckets of the first whole numbers of nanoseconds are looked up: a logarithm of each sample would cost more.
KNOWN_NS = 1 << 21


def bucket_of(ns: NDArray[Any]) -> Ints:
    """Bucket of each duration, any shape such as (rows,): floor(log2(ns) * 32), 0 up to 1 ns."""
    return np.floor(np.log2(np.maximum(ns, 1.0)) * BUCKETS).astype(np.int64)


def known_buckets() -> NDArray[np.uint16]:
    """Bucket index of each integer duration in ns below `KNOWN_NS`, shape (KNOWN_NS,)."""
    found = np.empty(KNOWN_NS, np.uint16)
    for part in np.split(np.arange(KNOWN_NS, dtype=np.int32), 32):  # all at once takes 50 MB for a table of 4
        found[part] = bucket_of(part)
    return found


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
        self.ways: list[Way] = [(each, name) for each in sizes for name in modes]
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

    def add(self, duration: Ints) -> None:
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
        codes = (used // width + low_key) * MOST_BUCKETS + used % width
        self.counted.append(np.stack([codes, counts[used]]))

    def _buckets(self, duration: Ints, batch: Ints, length: Ints) -> NDArray[Any]:
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
