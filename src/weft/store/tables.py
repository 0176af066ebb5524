# SPDX-License-Identifier: BSD-3-Clause
"""A typed table of a run: its file, and the TypedDict of its rows, from which its Arrow schema follows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa

from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.files import UNREADABLE, Schema, Table, check_size, read_parquet, write_parquet

# numbers of a row that are stored in another width than an int's 32 bits or a float's 64
Short = Annotated[int, pa.int16()]
Long = Annotated[int, pa.int64()]
Single = Annotated[float, pa.float32()]
PLAIN: Mapping[Any, Any] = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}


def column_type(hint: Any) -> Any:
    """The Arrow type of a TypedDict's column; every column may have nulls."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return parts[1]
    if NoneType in parts:
        return column_type(next(part for part in parts if part is not NoneType))
    if origin is list:
        return pa.list_(column_type(parts[0]))
    if origin is Literal:
        return PLAIN[type(parts[0])]
    return pa.struct(columns_of(hint)) if is_typeddict(hint) else PLAIN[hint]


def columns_of(row: type) -> list[tuple[str, Any]]:
    """Name and Arrow type of each column of a TypedDict, in its order."""
    return [(name, column_type(hint)) for name, hint in get_type_hints(row, include_extras=True).items()]


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


Row = TypeVar("Row", bound=Mapping[str, Any])
MOST_VALUES = 3 << 22
"""Of a table that is read as rows of Python, where each takes some fifty bytes: a small file may fill the memory."""


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
        write_parquet(self.path(root), [self.table(rows)], self.schema, f"weft-{self.name}/1")

    def is_current(self, root: Path) -> bool:
        """Whether a run has the table with these columns, not torn: an earlier Weft wrote others."""
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(plain_file(self.path(root))).names == self.schema.names
        except UNREADABLE:
            return False

    def table(self, rows: Iterable[Row]) -> Table:
        """Rows as an Arrow table."""
        return pa.Table.from_pylist(list(rows), schema=self.schema)

    def path(self, root: Path) -> Path:
        """The file of the table in a run folder."""
        return root / "tables" / f"{self.name}.parquet"


def read_once(table: TableOf[Row]) -> cached_property[list[Row]]:
    """A property of what has a run folder at ``path``: the rows of its table, read when they are first wanted."""

    def rows(of: Any) -> list[Row]:
        return table.read(of.path)

    return cached_property(rows)  # pyrefly: ignore[bad-return]
