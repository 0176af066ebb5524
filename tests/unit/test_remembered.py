# SPDX-License-Identifier: BSD-3-Clause
"""SQL that tests remember is that of an equal expression, and of no other."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.analyse.engine import Expression, connect, read


@pytest.fixture
def table(tmp_path: Path) -> Expression:
    pq.write_table(pa.table({"a": [1, 2, -1]}), tmp_path / "a.parquet")
    return read(connect(), [tmp_path / "a.parquet"])


def test_expressions_that_differ_in_a_value_alone_have_sql_of_their_own(table: Expression, tmp_path: Path) -> None:
    """Python gives -1 and -2 the same hash."""
    assert [table.filter(table.a > least).count().to_pyarrow().as_py() for least in (-1, -2, -1)] == [2, 3, 2]


def test_a_file_of_the_same_columns_is_read_by_the_same_sql_and_another_is_not(
    table: Expression, tmp_path: Path
) -> None:
    assert table.a.sum().to_pyarrow().as_py() == 2
    for values in ([5, 6], [0.5, 0.25]):
        pq.write_table(pa.table({"a": values}), tmp_path / "b.parquet")
        other = read(connect(), [tmp_path / "b.parquet"])
        assert other.a.sum().to_pyarrow().as_py() == sum(values)
        assert (other.get_name() == table.get_name()) and (other.op() == table.op()) == isinstance(values[0], int)
