# SPDX-License-Identifier: BSD-3-Clause
"""Writing Parquet atomically, with the schema's name inside the file."""

import errno
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from weft import __version__
from weft.files.atomic import explain, make_folder, own_file, replace, try_remove
from weft.files.beneath import TooLargeError, plain_file

UNREADABLE = (OSError, ValueError, NotImplementedError, TypeError, LookupError)
"""What pyarrow raises for a damaged file: a flipped bit makes an integer of 72 bits, which is not implemented."""
ROW_GROUP = 1 << 20
MOST_UNPACKED = 1 << 29
"""Bytes that any table may have in memory; a large file more, but not as many times its own size as a bomb has."""
Item = TypeVar("Item")

Table: TypeAlias = pa.Table
Batch: TypeAlias = pa.RecordBatch
Column: TypeAlias = pa.Array
Schema: TypeAlias = pa.Schema


def write_parquet(
    path: Path,
    batches: Iterable[Table | Batch],
    schema: Schema,
    name: str,
    *,
    metadata: Mapping[str, str] | None = None,
    differences: tuple[str, ...] = (),
    runs: tuple[str, ...] = (),
) -> None:
    """Write tables one after the other into one Parquet file, atomically; DataError if that is impossible."""
    keys = {"schema": name, "version": __version__, **(metadata or {})}
    schema = schema.with_metadata({f"weft.{key}": value for key, value in keys.items()})
    part = path.with_name(path.name + ".part")
    try:
        make_folder(path.parent)
        with own_file(part) as file, pq.ParquetWriter(file, schema, **_options(schema, differences, runs)) as writer:
            for batch in batches:
                table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
                writer.write_table(table.cast(schema), row_group_size=ROW_GROUP)
        replace(part, path)
    except OSError as error:
        raise explain(path, error) from None
    finally:  # also if a table could not be made: no incomplete file stays
        try_remove(part)


def _options(schema: Schema, differences: tuple[str, ...], runs: tuple[str, ...]) -> dict[str, Any]:
    """How each column is stored.

    Mostly distinct integers are stored as differences (DELTA_BINARY_PACKED): a dictionary would only grow and be
    discarded, at three times the cost. They are not compressed either: that would save 2 % of the size and cost a third
    of the reading time. Runs are stored plainly, because the compressor handles them at half the cost of a dictionary.
    """
    # BYTE_STREAM_SPLIT would be smaller for some columns, but Spark 4 cannot read it. Smallest and largest of each
    # column would cost a quarter of the writing, and no query here skips rows by them.
    return {
        "compression": {column: "none" if column in differences else "zstd" for column in schema.names},
        "compression_level": {column: 1 for column in schema.names if column not in differences},
        "use_dictionary": [column for column in schema.names if column not in {*differences, *runs}],
        "column_encoding": dict.fromkeys(differences, "DELTA_BINARY_PACKED") or None,
        "write_statistics": False,
        "data_page_size": 1 << 17,  # fits a core's cache: a fifth faster than the usual 1 MiB
        "write_batch_size": 1 << 14,
    }


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Table:
    """All of a Parquet file, or some of its columns; OSError or ArrowInvalid if it cannot be read."""
    # `pq.read_table` would bring in pandas, 0.4 s of every command
    with pq.ParquetFile(plain_file(path)) as file:
        return file.read(columns)


def count_rows(path: Path) -> int:
    """Rows of a Parquet file, by its head; 0 if it is damaged."""
    try:
        return pq.read_metadata(plain_file(path)).num_rows
    except UNREADABLE:
        return 0


def check_size(path: Path, least: int = MOST_UNPACKED, times: int = 32, most_values: int | None = None) -> None:
    """Look at the sizes in a Parquet file's head before reading it; OSError (EFBIG if too large) or ArrowInvalid.

    `least`: bytes that any file may have unpacked. `most_values`: of one read as rows of Python, which take four each.
    """
    most = max(least, times * path.stat().st_size)
    with pq.ParquetFile(plain_file(path)) as file:
        head = file.metadata
    groups = (head.row_group(at) for at in range(head.num_row_groups))
    values, of_rows = head.num_rows * head.num_columns, head.num_rows * (head.num_columns + 4)
    # repeated numbers take no bytes in the file, and eight each in memory
    size = sum(group.total_byte_size for group in groups) + 8 * values
    if size <= most and (most_values is None or of_rows <= most_values):
        size += _text_bytes(path, head, most - size)
        if size <= most:
            return
    what = f"{head.num_rows:,} rows of {head.num_columns} columns, at least {size:,} bytes; at most {most:,} bytes"
    what += f" and {most_values:,} values are read" if most_values else " are read"
    raise TooLargeError(errno.EFBIG, what, str(path))


def _text_bytes(path: Path, head: pq.FileMetaData, room: int) -> int:
    """Bytes of all texts once each has its own, where a dictionary holds one for many rows; 0 if there is room."""
    columns = [each for each in range(head.num_columns) if head.schema.column(each).physical_type == "BYTE_ARRAY"]
    chunks = [head.row_group(at).column(each) for at in range(head.num_row_groups) for each in columns]
    if sum(chunk.num_values * chunk.total_uncompressed_size for chunk in chunks) <= room:
        return 0
    names = [head.schema.column(each).path for each in columns]
    import pyarrow.compute as pc  # as long as the rest of pyarrow to import, and few tables get here

    total = 0
    with pq.ParquetFile(path, read_dictionary=names) as file:
        for batch in file.iter_batches(1 << 16, columns=names):
            for name in batch.column_names:
                values: Any = batch.column(name)
                values = values if hasattr(values, "dictionary") else values.flatten()  # of a list of texts
                lengths = pc.binary_length(values.dictionary).to_numpy()
                total += int(lengths[values.indices.drop_null().to_numpy()].sum())
            if total > room:
                break
    return total


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread while the present one is used (reading and writing release the GIL)."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, items, None)
        while (item := following.result()) is not None:
            following = pool.submit(next, items, None)
            yield item
