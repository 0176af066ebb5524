# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the raw samples of pairs: histograms by nodes, and each pair's count, extremes and sum.

The only summary that is not an Ibis expression; used with the embedded engine. An engine would hash the key of every
row; here it is looked up once per run: the store keeps the runs beside the samples (`weft.store.pair_runs`), so only
the durations of the rows are read (bench/pairs_analysis.py measures both ways, a test compares them). The summary is
mergeable, and exact except for the buckets.
"""

import os
from collections.abc import Sequence
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
from weft.files.plain import plain_file
from weft.store.files import Schema, Table
from weft.store.pair_runs import read_runs
from weft.store.pair_tally import MOST_BUCKETS, NodesOfRanks, Tally, known_buckets, merged

#: Rows at a time: the intermediate results, some numbers of 8 bytes per row, fit a core's cache.
BLOCK = 1 << 17

_WAY = [("bytes", pa.int64()), ("mode", pa.string())]
_NODES = [("source_node", pa.int32()), ("target_node", pa.int32())]
HISTOGRAM = pa.schema([*_WAY, *_NODES, ("bucket", pa.int16()), ("count", pa.int64())])
_TIMES = [(name, pa.float64()) for name in ("min_ns", "max_ns", "sum_ns")]
_PAIRS = pa.schema([*_WAY, ("source", pa.int32()), ("target", pa.int32()), ("samples", pa.int64()), *_TIMES])


@dataclass(frozen=True)
class Scan:
    """The result of one pass.

    Attributes
    ----------
    histogram
        bytes, mode, source_node, target_node, bucket, count.
    pairs
        bytes, mode, source, target, samples, min_ns, max_ns, sum_ns: a row for each ordered pair and way.
    """

    histogram: Table
    pairs: Table


def scan(paths: Sequence[Path], nodes_of: NodesOfRanks) -> Scan:
    """Read the warm samples of pairs once.

    Parameters
    ----------
    nodes_of
        Node of each rank, shape (ranks,), by cell and launch; samples of other cells and launches are left out.

    Raises
    ------
    DataError
        A file cannot be read, has no runs, or a rank has no node.
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        files = list(pool.map(partial(_tallied, nodes_of=nodes_of, known=known_buckets()), paths))
    histograms, pairs = [file.histogram() for file in files], [file.pairs() for file in files]
    nodes, ranks = (
        max((int(each.max()) + 1 for own in found for each in own[1:3] if len(each)), default=1)
        for found in (histograms, pairs)
    )
    return Scan(
        _table(files, histograms, (nodes, nodes, MOST_BUCKETS), [np.add], HISTOGRAM),
        _table(files, pairs, (ranks, ranks), [np.add, np.minimum, np.maximum, np.add], _PAIRS),
    )


def _table(files: list[Tally], found: list[Any], shape: tuple[int, ...], how: list[np.ufunc], schema: Schema) -> Table:
    """Columns that were found in each file as one table; rows alike in the way and in the next columns made one.

    ``shape`` is the number of values of each of these next columns.
    """
    ways = sorted({way for file in files for way in file.ways})
    if not ways:
        return schema.empty_table()
    columns = [np.concatenate(each) for each in zip(*found, strict=True)]
    columns[0] = np.concatenate(
        [
            np.array([ways.index(each) for each in file.ways], int)[own[0]]
            for file, own in zip(files, found, strict=True)
        ]
    )
    shape = (len(ways), *shape)
    code, values = merged(np.ravel_multi_index(columns[: len(shape)], shape), *columns[len(shape) :], how=how)
    way, *key = np.unravel_index(code, shape)
    sizes, modes = zip(*ways, strict=True)
    mode = pa.DictionaryArray.from_arrays(way.astype(np.int32), pa.array(modes))
    arrays = [pa.array(each) for each in (np.array(sizes)[way], mode, *key, *values)]
    return pa.Table.from_arrays(
        [each.cast(field.type) for each, field in zip(arrays, schema, strict=True)], schema=schema
    )


def _tallied(path: Path, nodes_of: NodesOfRanks, known: NDArray[np.uint16]) -> Tally:
    """The summary of one file, block by block: memory does not grow with the rows."""
    try:
        with pq.ParquetFile(plain_file(path)) as file:
            found = Tally(read_runs(path, file.metadata.num_rows), nodes_of, known)
            for block in file.iter_batches(BLOCK, columns=["duration_ns"], use_threads=False):
                found.add(block.column(0).to_numpy())
    except (OSError, ValueError, KeyError) as error:  # pyarrow's own errors derive from the first two
        raise DataError(
            f"{path}: cannot be read: {error}", f"`weft show {path.parents[1]}` makes it again from the cells"
        ) from None
    return found
