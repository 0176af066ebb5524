# SPDX-License-Identifier: BSD-3-Clause
"""Parquet files, whole or not at all; typed tables of a run, whose Arrow schema follows from the rows' TypedDict."""

import errno
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from weft import __version__
from weft.errors import DataError
from weft.files.atomic import explain, make_folder, own_file, replace, try_remove
from weft.files.beneath import TooLargeError, plain_file

UNREADABLE = (OSError, ValueError, NotImplementedError, TypeError, LookupError)
"""What pyarrow raises for a damaged file: a flipped bit makes an integer of 72 bits, which is not implemented."""
ROW_GROUP = 1 << 20
MOST_UNPACKED = 1 << 29  # bytes of any table in memory; a large file more, but not as many times its size as a bomb
Item = TypeVar("Item")
Key = TypeVar("Key")
Table: TypeAlias = pa.Table
Batch: TypeAlias = pa.RecordBatch
Column: TypeAlias = pa.Array
Schema: TypeAlias = pa.Schema
# numbers of a row that are stored in another width than an int's 32 bits or a float's 64
Short = Annotated[int, pa.int16()]
Long = Annotated[int, pa.int64()]
Single = Annotated[float, pa.float32()]
PLAIN: Mapping[Any, Any] = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}
Row = TypeVar("Row", bound=Mapping[str, Any])
MOST_VALUES = 3 << 22  # read as rows of Python, where each takes some fifty bytes: a small file may fill the memory


def write_parquet(
    path: Path, batches: Iterable[Table | Batch], schema: Schema, name: str, *, metadata: Mapping[str, str] = {},
    differences: tuple[str, ...] = (), runs: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Write tables one after the other into one Parquet file, atomically; DataError if that is impossible."""
    keys = {"schema": name, "version": __version__, **metadata}
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
    """How each column is stored. Mostly distinct integers are stored as differences (DELTA_BINARY_PACKED): a dictionary
    would only grow and be discarded, at three times the cost. Nor are they compressed: that would save 2 % of the size
    for a third of the reading time. Runs are stored plainly: the compressor handles them at half a dictionary's cost.
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
    with pq.ParquetFile(plain_file(path)) as file:  # `pq.read_table` would bring in pandas, 0.4 s of every command
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


def column_type(hint: Any) -> Any:
    """The Arrow type of a TypedDict's column; every column may have nulls."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return parts[1]
    if NoneType in parts:
        return column_type(next(part for part in parts if part is not NoneType))
    if origin is list:
        return pa.list_(column_type(parts[0]))
    if origin is Literal:
        return PLAIN[type(parts[0])]
    return pa.struct(columns_of(hint)) if typing.is_typeddict(hint) else PLAIN[hint]


def columns_of(row: type) -> list[tuple[str, Any]]:
    """Name and Arrow type of each column of a TypedDict, in its order."""
    return [(name, column_type(hint)) for name, hint in typing.get_type_hints(row, include_extras=True).items()]


def read_table(root: Path, name: str, most_values: int | None = None) -> Table:
    """Read ``tables/<name>.parquet``. Raises DataError: the table is missing, incomplete, or would fill the memory."""
    path = root / "tables" / f"{name}.parquet"
    try:
        check_size(path, most_values=most_values)
        return read_parquet(path)
    except UNREADABLE as error:
        raise unreadable(root, path, error) from None


def unreadable(root: Path, path: Path, error: Exception) -> DataError:
    """That a table of a run is missing, or cannot be read."""
    reason = getattr(error, "strerror", None) or error
    why = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {reason}"
    return DataError(f"{path}: {why}", f"`weft show {root}` makes the tables again from the cells")


@dataclass(frozen=True)
class TableOf(Generic[Row]):
    """One table of a run folder."""

    name: str  # name of its file: ``tables/<name>.parquet``
    row: type[Row]  # TypedDict of a row
    first: str = ""  # the columns that come first in the file, where the order is not that of the TypedDict

    @cached_property
    def schema(self) -> Schema:
        """Its Arrow columns."""
        columns = dict(columns_of(self.row))
        return pa.schema([(name, columns[name]) for name in dict.fromkeys([*self.first.split(), *columns])])

    def read(self, root: Path) -> list[Row]:
        """Read every row of a run; DataError if the table is missing, incomplete, or too large."""
        return cast(list[Row], read_table(root, self.name, MOST_VALUES).to_pylist())

    def write(self, root: Path, rows: Iterable[Row]) -> None:
        """Write the table of a run, whole or not at all; columns left out are null. DataError if impossible."""
        self.write_tables(root, [pa.Table.from_pylist(list(rows), schema=self.schema)])

    def write_tables(self, root: Path, tables: Iterable[Table]) -> None:
        """The same of rows that are tables already, one after the other."""
        write_parquet(self.path(root), tables, self.schema, f"weft-{self.name}/1")

    def is_current(self, root: Path) -> bool:
        """Whether a run has the table with these columns, not torn: an earlier Weft wrote others."""
        try:
            return pq.read_schema(plain_file(self.path(root))).names == self.schema.names
        except UNREADABLE:
            return False

    def path(self, root: Path) -> Path:
        """The file of the table in a run folder."""
        return root / "tables" / f"{self.name}.parquet"


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Rows, or other items, by a key of each, in their order."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def read_once(table: TableOf[Row]) -> cached_property[list[Row]]:
    """A property of what has a run folder at ``path``: the rows of its table, read when they are first wanted."""

    def rows(of: Any) -> list[Row]:
        return table.read(of.path)

    return cached_property(rows)  # pyrefly: ignore[bad-return]
