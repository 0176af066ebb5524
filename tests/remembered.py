# SPDX-License-Identifier: BSD-3-Clause
"""SQL of Ibis expressions, remembered from one test to the next."""

import itertools
from collections import OrderedDict
from typing import Any

from ibis.backends.duckdb import Backend

MOST_KEPT = 300  # expressions: each keeps the connection, with its threads, that it was first of


def remember_sql() -> None:
    """Compile equal Ibis expressions once in a process: over half of the time in which tables of small runs are made.

    An expression is equal to that of another connection if its files have the same names there: numbers, one after the
    other. SQL depends on nothing else: a table in memory is equal to itself alone (`weft.analyse.engine.memory_table`).
    """
    sql: OrderedDict[Any, str] = OrderedDict()
    compile_anew, read_under = Backend.compile, Backend.read_parquet

    def compile_once(self: Backend, expression: Any, /, **options: Any) -> str:
        node = expression.op()
        if any(value is not None and value is not False for value in options.values()):
            return compile_anew(self, expression, **options)
        if node not in sql:
            sql[node] = compile_anew(self, expression)
            if len(sql) > MOST_KEPT:
                sql.popitem(last=False)
        sql.move_to_end(node)
        return sql[node]

    def read_numbered(self: Backend, paths: Any, /, *, table_name: str | None = None, **options: Any) -> Any:
        numbers = self.__dict__.setdefault("_weft_numbers", itertools.count())
        return read_under(self, paths, table_name=table_name or f"weft_{next(numbers)}", **options)

    Backend.compile, Backend.read_parquet = compile_once, read_numbered
