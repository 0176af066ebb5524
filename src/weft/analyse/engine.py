# SPDX-License-Identifier: BSD-3-Clause
"""The engine that evaluates the Ibis expressions, chosen by URL; all engines evaluate the same expressions."""

import glob
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from weft.errors import DataError
from weft.extras import pip_install
from weft.files.atomic import explain, file_errors
from weft.files.beneath import plain_file
from weft.host import usable_threads
from weft.store.files import check_size

#: Ibis expressions and backends; their types depend on columns, which a type checker cannot see.
Expression: TypeAlias = Any
Backend: TypeAlias = Any
LOOK_S = 0.1
"""How often the main thread looks whether a signal has come."""
CANCEL_S = 0.5
"""What an interrupted query has to end in order."""
MASTER_S = 5.0
"""How long a Spark master may take to answer."""


def connect(engine: str = "duckdb://", folder: Path | None = None) -> Backend:
    """Open an engine; ``folder``: what the workers of a cluster have to see.

    Raises DataError: The engine is unknown or not installed, or its cluster does not answer or see the folder.
    """
    scheme, _, rest = engine.partition("://")
    if scheme == "duckdb":
        import ibis

        # DuckDB counts the whole machine's cores, inside a job and under an affinity mask too
        backend: Any = ibis.duckdb.connect(rest or ":memory:", threads=usable_threads())
        backend.con = Interruptible(backend.con)
        backend.raw_sql("SET enable_progress_bar = false")  # it is drawn on stdout, between the lines of JSON or CSV
        return backend
    if scheme == "spark":
        return _spark(rest, folder)
    raise DataError(
        f"there is no engine {engine!r}", "use duckdb:// (the default), spark://local[2] or spark://HOST:7077"
    )


class Interruptible:
    """A connection of DuckDB, or one of its results, whose calls end when a signal raises in the main thread.

    DuckDB looks at signals only between two of its tasks, drops the exception of their handler, and its own cancelling
    can wait for ever for a task that has ended (2.0.0, all threads asleep in `CancelTasks`). So it runs in a thread of
    its own, is asked to end, and is left behind where it does not.
    """

    def __init__(self, thing: Any, connection: Any = None) -> None:
        self._thing = thing
        self._connection = thing if type(thing).__name__ == "DuckDBPyConnection" else connection

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        if not callable(value):
            return value

        @wraps(value)
        def run(*arguments: Any, **options: Any) -> Any:
            found = self._ended(partial(value, *arguments, **options))
            of_duckdb = type(found).__module__.partition(".")[0] in ("_duckdb", "duckdb")
            return Interruptible(found, self._connection) if of_duckdb else found

        return run

    def _ended(self, call: Callable[[], Any]) -> Any:
        """What the call returns, or raises."""
        if threading.current_thread() is not threading.main_thread():
            return call()  # no handler of a signal raises there
        outcome: Future[Any] = Future()
        try:
            threading.Thread(target=_settle, args=(outcome, call), daemon=True).start()
            while not wait([outcome], LOOK_S).done:
                continue  # a signal that another thread took does not end a wait
            return outcome.result()
        except BaseException:
            if not outcome.done():
                self._connection.interrupt()
                wait([outcome], CANCEL_S)
            raise


def _settle(outcome: Future[Any], call: Callable[[], Any]) -> None:
    try:
        outcome.set_result(call())
    except BaseException as problem:
        outcome.set_exception(problem)


def memory_table(columns: Mapping[str, Sequence[Any]], schema: Mapping[str, str]) -> Expression:
    """A table of values in memory, by Arrow: Ibis would import pandas for it, 0.4 s."""
    import ibis

    return ibis.memtable(pa.Table.from_pydict(columns, schema=ibis.schema(schema).to_pyarrow()))


def _spark(place: str, folder: Path | None) -> Backend:
    """A session on this host (``local[2]``) or on a standalone cluster (``host:7077``)."""
    import ibis

    try:
        from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DataError(
            "the engine spark:// needs PySpark", f"{pip_install('spark')}; it needs Java 17 or later"
        ) from None
    here = place.startswith("local")
    # before Java starts, which would otherwise look up this host's other addresses and print warnings
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if here else _address_towards(place))
    builder: Any = SparkSession.builder.master(place if here else f"spark://{place}")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    # a run is a folder that all workers see, whatever file system the site's Spark takes otherwise
    builder = builder.config("spark.hadoop.fs.defaultFS", "file:///")
    if here:  # loopback only; and the default of 200 shuffle partitions would cost a task each
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.sql.shuffle.partitions", "4")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if not here and folder is not None:
        _check_shared(session, place, folder)
    return ibis.pyspark.connect(session)


def _address_towards(place: str) -> str:
    """Address of this host towards a Spark master, for its workers to answer; DataError if nobody listens there."""
    host, _, port = place.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=MASTER_S) as connection:
            return str(connection.getsockname()[0])
    except (OSError, ValueError) as error:  # Spark itself tries for three minutes
        raise DataError(
            f"no Spark master answers at {place}: {error}",
            "name it as its log does, spark://HOST:7077; without --engine, this host makes the tables",
        ) from None


def _check_shared(session: Any, place: str, folder: Path) -> None:
    """Let the workers read a small file of the folder, one task a core; DataError if one of them does not find it."""
    files = [path for path in sorted(folder.glob("*.json")) if path.is_file()][:1]
    try:
        session.read.text([str(path) for path in files] * session.sparkContext.defaultParallelism).count()
    except Exception as error:  # Py4J's, with Java's text
        said = next((line for line in str(error).splitlines() if "FileNotFound" in line or "Permission" in line), "")
        if not said:
            raise
        raise DataError(
            f"workers of the Spark cluster {place} do not see {folder}: {said.strip()[:200]}",
            "move the run to a file system that all workers share; without --engine, this host makes the tables",
        ) from None


def bound_memory(backend: Backend, most: str, spill: Path) -> None:
    """Let DuckDB keep no more than that in memory, and the rest on disk; Spark has its own limits."""
    if backend.name != "duckdb":
        return
    where = str(spill).replace("'", "''")
    backend.raw_sql(f"SET memory_limit = '{most}'")
    backend.raw_sql(f"SET temp_directory = '{where}'")
    # else a result that is written to a file waits in memory for the rows before it
    backend.raw_sql("SET preserve_insertion_order = false")


def read(backend: Backend, paths: Sequence[Path]) -> Expression:
    """Parquet files as one table of the engine; file names are literal, even with ``[`` in them.

    Raises DataError: A file is missing, or a pipe or device, which the engine would read for ever.
    """
    names = [glob.escape(str(_readable(path))) for path in paths]
    for path in paths:
        _check_size(path)
    if backend.name == "pyspark":  # Ibis's reader takes one path, Spark's own takes several
        name = f"weft_{secrets.token_hex(8)}"
        backend._session.read.parquet(*names).createOrReplaceTempView(name)
        return backend.table(name)
    return backend.read_parquet(names)


def _check_size(path: Path) -> None:
    """Refuse a small file that would keep the engine busy for hours; it streams, so more fits than in memory."""
    if path.is_file():
        try:
            check_size(path, 1 << 33, 1 << 12)
        except ValueError:
            return  # pyarrow's errors derive from it; the engine reports what is no Parquet
        except OSError as error:
            raise explain(path, error) from None


def _readable(path: Path) -> Path:
    """The path itself, if it is of a plain file, or of a folder: Spark writes a table as one of many files."""
    with file_errors(path):
        return path if path.is_dir() else plain_file(path)
