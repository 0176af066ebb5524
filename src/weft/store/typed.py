# SPDX-License-Identifier: BSD-3-Clause
"""A typed table of a run: its file, its Arrow schema, and the TypedDict of its rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from weft.files.plain import plain_file
from weft.store.files import Schema, Table, write_parquet
from weft.store.tables import read_table

Row = TypeVar("Row", bound=Mapping[str, Any])
MOST_VALUES = 1 << 24
"""Of a table that is read as rows of Python, where each takes some fifty bytes: a small file may fill the memory."""


@dataclass(frozen=True)
class TableOf(Generic[Row]):
    """One table of a run folder.

    Attributes
    ----------
    name
        Name of its file: ``tables/<name>.parquet``.
    row
        TypedDict of a row. A test checks that it agrees with the schema.
    schema
        Arrow columns.
    """

    name: str
    row: type[Row]
    schema: Schema

    def read(self, root: Path) -> list[Row]:
        """Read every row of a run.

        Raises
        ------
        DataError
            The table is missing, incomplete, or too large for rows of Python.
        """
        return cast(list[Row], read_table(root, self.name, MOST_VALUES).to_pylist())

    def write(self, root: Path, rows: Iterable[Row]) -> None:
        """Write the table of a run, whole or not at all; a column that a row leaves out is null.

        Raises
        ------
        DataError
            The disk is full, or the folder cannot be written.
        """
        write_parquet(self.path(root), [self.table(rows)], self.schema, f"weft-{self.name}/1")

    def is_current(self, root: Path) -> bool:
        """Whether a run has the table with these columns, not torn: an earlier Weft wrote others."""
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(plain_file(self.path(root))).names == self.schema.names
        except (OSError, ValueError):  # pyarrow's own errors derive from these two
            return False

    def table(self, rows: Iterable[Row]) -> Table:
        """Rows as an Arrow table."""
        return pa.Table.from_pylist(list(rows), schema=self.schema)

    def path(self, root: Path) -> Path:
        """The file of the table in a run folder."""
        return root / "tables" / f"{self.name}.parquet"
