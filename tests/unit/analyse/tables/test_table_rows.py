# SPDX-License-Identifier: BSD-3-Clause
"""Each table's TypedDict has the columns of its Arrow schema, with the same types."""

from importlib import import_module
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa
import pytest

from weft.analyse import tables
from weft.store import rows as store_rows
from weft.store.tables import TableOf

PLAIN = {str: pa.types.is_string, int: pa.types.is_integer, float: pa.types.is_floating, bool: pa.types.is_boolean}


def every_table() -> list[TableOf[Any]]:
    modules = [import_module(f"{tables.__name__}.{found.name}") for found in iter_modules(tables.__path__)]
    values = [value for module in (*modules, store_rows) for value in vars(module).values()]
    return list({id(value): value for value in values if isinstance(value, TableOf)}.values())  # some import others'


def disagreements(row: Any, columns: dict[str, pa.DataType], where: str) -> list[str]:
    """What differs between a TypedDict and columns."""
    hints = get_type_hints(row)
    found = [f"{where}.{name} is on one side alone" for name in sorted(hints.keys() ^ columns.keys())]
    for name in hints.keys() & columns.keys():
        found += mismatch(hints[name], columns[name], f"{where}.{name}")
    return found


def mismatch(hint: Any, column: pa.DataType, where: str) -> list[str]:
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is Literal:
        hint = type(get_args(hint)[0])
    if is_typeddict(hint):
        if not pa.types.is_struct(column):
            return [f"{where}: {column} is no struct"]
        return disagreements(hint, {field.name: field.type for field in column}, where)
    if get_origin(hint) is list:
        return mismatch(get_args(hint)[0], column.value_type, where) if pa.types.is_list(column) else [where]
    return [] if PLAIN[hint](column) else [f"{where}: {column} is no {hint.__name__}"]


@pytest.mark.parametrize("table", every_table(), ids=lambda table: table.name)
def test_the_type_of_a_row_is_that_of_the_schema(table: TableOf[Any]) -> None:
    assert disagreements(table.row, {field.name: field.type for field in table.schema}, table.name) == []


def test_about_thirty_tables_have_a_type() -> None:
    names = [table.name for table in every_table()]
    assert len(names) == len(set(names)) >= 28


class Wrong(TypedDict):
    """A row that does not agree with `COLUMNS`."""

    number: float
    text: str | None
    more: int


def test_a_difference_is_seen() -> None:
    columns = {"number": pa.int64(), "text": pa.string(), "less": pa.int64()}
    found = disagreements(Wrong, columns, "t")
    assert found == ["t.less is on one side alone", "t.more is on one side alone", "t.number: int64 is no float"]
