# SPDX-License-Identifier: BSD-3-Clause
"""The Arrow schema of a table follows from the TypedDict of its rows."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, TypedDict

import pyarrow as pa

from weft.analyse import tables
from weft.store import rows as store_rows
from weft.store.tables import Long, Short, Single, TableOf


class Inner(TypedDict):
    """A struct in a row."""

    bytes: Long
    name: str


class Row(TypedDict):
    """A row with a column of each kind."""

    number: int
    short: Short
    long: Long | None
    real: float
    single: Single
    text: str | None
    flag: bool
    word: Literal["a", "b"]
    words: list[str]
    inner: list[Inner]
    maybe: Inner | None


INNER = pa.struct([("bytes", pa.int64()), ("name", pa.string())])
COLUMNS = [
    ("number", pa.int32()), ("short", pa.int16()), ("long", pa.int64()), ("real", pa.float64()),
    ("single", pa.float32()), ("text", pa.string()), ("flag", pa.bool_()), ("word", pa.string()),
    ("words", pa.list_(pa.string())), ("inner", pa.list_(INNER)), ("maybe", INNER),
]  # fmt: skip


def every_table() -> list[TableOf[Any]]:
    modules = [import_module(f"{tables.__name__}.{found.name}") for found in iter_modules(tables.__path__)]
    values = [value for module in (*modules, store_rows) for value in vars(module).values()]
    return list({id(value): value for value in values if isinstance(value, TableOf)}.values())  # some import others'


def test_each_kind_of_column_has_its_arrow_type() -> None:
    assert TableOf("t", Row).schema == pa.schema(COLUMNS)


def test_columns_that_come_first_are_put_before_the_others() -> None:
    names = [name for name, _ in COLUMNS]
    assert TableOf("t", Row, "text short").schema.names == [
        "text", "short", *(n for n in names if n not in ("text", "short"))
    ]  # fmt: skip


def test_about_thirty_tables_have_a_schema_each_with_its_own_name() -> None:
    every = every_table()
    assert len(every) == len({table.name for table in every}) >= 28
    assert all(len(table.schema) == len(table.row.__annotations__) for table in every)
