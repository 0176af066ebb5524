# SPDX-License-Identifier: BSD-3-Clause
"""The engine that evaluates the Ibis expressions, chosen by URL, and its scratch folder."""

import fcntl
import glob
import os
import secrets
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow as pa

from weft.errors import DataError, WeftError
from weft.extras import leave_out_pandas, pip_install
from weft.files.atomic import file_errors, free_space
from weft.files.beneath import plain_file
from weft.host import usable_threads
from weft.store.tables import check_size

#: Ibis expressions and backends; their types depend on columns, which a type checker cannot see.
Expression: TypeAlias = Any
Backend: TypeAlias = Any
LOOK_S = 0.1  # how often the main thread looks whether a signal has come
CANCEL_S = 0.5  # what an interrupted query has to end in order
MASTER_S = 5.0  # how long a Spark master may take to answer
PREFIX = ".analysis-"
MARK = "of-weft"  # a file in each scratch folder: one without it is somebody else's, whatever its name, and stays
FULL = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")
"""In what engines say when a result or a spilled piece cannot be written; DuckDB leaves a tenth of the disk free."""
IN_USE_S = 3600.0
"""A folder that something was made in this short a while ago is left alone: a lock may not be seen on other hosts."""


def connect(engine: str = "duckdb://", folder: Path | None = None) -> Backend:
    """Open an engine whose workers see ``folder``; DataError: unknown, not installed, its cluster does not answer."""
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
    known = "use duckdb:// (the default), spark://local[2] or spark://HOST:7077"
    raise DataError(f"there is no engine {engine!r}", known)


class Interruptible:
    """A connection of DuckDB, or one of its results, whose calls end when a signal raises in the main thread. DuckDB
    looks at signals only between two of its tasks, drops the exception of their handler, and its own cancelling can
    wait for ever for a task that has ended (2.0.0, all threads asleep in `CancelTasks`). So it runs in a thread of its
    own, is asked to end, and is left behind where it does not.
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
        if threading.current_thread() is not threading.main_thread():
            return call()  # no handler of a signal raises there
        outcome: Future[Any] = Future()

        def settle() -> None:
            try:
                outcome.set_result(call())
            except BaseException as problem:
                outcome.set_exception(problem)

        try:
            threading.Thread(target=settle, daemon=True).start()
            while not wait([outcome], LOOK_S).done:
                continue  # a signal that another thread took does not end a wait
            return outcome.result()
        except BaseException:
            if not outcome.done():
                self._connection.interrupt()
                wait([outcome], CANCEL_S)
            raise


def memory_table(columns: Mapping[str, Sequence[Any]], schema: Mapping[str, str]) -> Expression:
    """A table of values in memory: the same one for equal values, so that expressions of it are equal, too."""
    return _memory_table(tuple((name, kind, tuple(columns[name])) for name, kind in schema.items()))


@lru_cache(maxsize=64)
def _memory_table(columns: tuple[tuple[str, str, tuple[Any, ...]], ...]) -> Expression:
    import ibis

    schema = ibis.schema({name: kind for name, kind, _ in columns}).to_pyarrow()
    # by Arrow: Ibis would import pandas for values, 0.4 s
    return ibis.memtable(pa.Table.from_arrays([pa.array(each) for _, _, each in columns], schema=schema))


def _spark(place: str, folder: Path | None) -> Backend:
    """A session on this host (``local[2]``) or on a standalone cluster (``host:7077``)."""
    import ibis

    leave_out_pandas(False)
    try:
        from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]
    except ImportError:
        needed = f"{pip_install('spark')}; it needs Java 17 or later"
        raise DataError("the engine spark:// needs PySpark", needed) from None
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
    backend.raw_sql(f"SET memory_limit = '{most}'")
    backend.raw_sql("SET temp_directory = '{}'".format(str(spill).replace("'", "''")))
    # else a result that is written to a file waits in memory for the rows before it
    backend.raw_sql("SET preserve_insertion_order = false")


def read(backend: Backend, paths: Sequence[Path]) -> Expression:
    """Parquet files as one table of the engine; file names are literal, even with ``[`` in them."""
    names = [glob.escape(str(path)) for path in paths]
    for path in paths:
        # pyarrow's errors derive from ValueError: the engine reports what is no Parquet
        with file_errors(path), suppress(ValueError):
            if not path.is_dir():  # Spark writes a table as one of many files
                # a small file could keep the engine busy for hours; it streams, so more fits than in memory
                check_size(plain_file(path), 1 << 33, 1 << 12)
    if backend.name == "pyspark":  # Ibis's reader takes one path, Spark's own takes several
        name = f"weft_{secrets.token_hex(8)}"
        backend._session.read.parquet(*names).createOrReplaceTempView(name)
        return backend.table(name)
    return backend.read_parquet(names)


@dataclass(frozen=True)
class Scratch:
    """A folder that is deleted when the analysis is done. Files instead of the engine's cache: the 16 million pairs of
    4,096 ranks would fill the memory, and Ibis 12 cannot drop a cached table of DuckDB 2.0.
    """

    backend: Backend
    folder: Path

    def keep(self, name: str, rows: Expression) -> Expression:
        """Evaluate ``rows``, store them under a name, and return them as a table."""
        path = self.folder / f"{name}.parquet"
        self.backend.to_parquet(rows, path)
        return read(self.backend, [path])


@contextmanager
def scratch(backend: Backend, beside: Path) -> Generator[Scratch]:
    """A scratch folder on the file system of a run, which all workers can read; DataError if that is full meanwhile."""
    with file_errors(beside):
        beside.mkdir(parents=True, exist_ok=True)
        for left in beside.glob(f"{PREFIX}*"):
            _remove_abandoned(left)
        try:
            with TemporaryDirectory(prefix=PREFIX, dir=beside) as folder, _held(Path(folder)):
                (Path(folder) / MARK).touch()
                yield Scratch(backend, Path(folder))
        except WeftError:
            raise
        except Exception as problem:  # each engine has its own
            if not any(words in str(problem) for words in FULL):
                raise
            what = f"the disk is full: intermediate results do not fit in {beside} ({free_space(beside)} free)"
            raise DataError(what, "free some space and repeat the same command") from problem


@contextmanager
def _held(folder: Path) -> Generator[bool]:
    """Lock a folder; false if another process has it. The system lets go of it when this one ends, however it does."""
    handle, held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), False
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        yield held
    finally:
        os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove what a killed analysis left: up to the size of the events, which nobody would look for."""
    with suppress(OSError):  # it is somebody else's, or another analysis was first: no reason to refuse this one
        if not folder.is_symlink() and (folder / MARK).is_file() and time.time() - folder.stat().st_mtime > IN_USE_S:
            with _held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
