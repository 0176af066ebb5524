# SPDX-License-Identifier: BSD-3-Clause
"""Bringing a run's samples and tables up to date with its cells."""

from collections.abc import Iterable
from pathlib import Path

from weft.errors import CompareError, DataError
from weft.plan.records import plan_of
from weft.store.folder import RunFolder


def refresh(path: Path, engine: str | None = None) -> RunFolder:
    """Open a run and make its samples and tables, if cells were added since they were made.

    Parameters
    ----------
    path
        The run folder.
    engine
        URL of the engine; if given, the tables are always made again. None uses DuckDB, if needed.

    Raises
    ------
    DataError
        There is no run folder, a cell is incomplete, the tables cannot be written, or the engine is missing.
    """
    folder = RunFolder.open(path)
    if engine is not None or stale(folder):
        make_tables(folder, engine or "duckdb://")
    return folder


def refresh_compared(paths: Iterable[Path]) -> None:
    """Refresh the runs of a comparison.

    Raises
    ------
    CompareError
        A run cannot be read. A gate must not report a mistyped path as a slow network (exit code 2, not 1).
    """
    for path in paths:
        try:
            refresh(path)
        except DataError as problem:
            raise CompareError(problem.what, problem.remedy) from None


def make_tables(folder: RunFolder, engine: str = "duckdb://") -> None:
    """Make the samples and tables of a run from its cells, even if they exist.

    Raises
    ------
    DataError
        A cell is incomplete, the tables cannot be written, or the engine is missing.
    """
    from weft import analyse, store  # half a second of imports that planning and launching do not need

    store.convert(folder, plan_of(folder).origin(folder.run_id()))
    analyse.make_tables(folder, engine)


def stale(folder: RunFolder) -> bool:
    """Whether a cell or launch was written after the last table was."""
    from weft.analyse.make import has_tables

    last = folder.tables / "calls.parquet"  # make_tables writes it last
    if not has_tables(folder.path):
        return True
    made = last.stat().st_mtime_ns
    written = [*folder.cells.glob("*.json"), *folder.launches.glob("*.json")]
    sources = [folder.plan, folder.cells, folder.launches, *written]
    return any(source.stat().st_mtime_ns > made for source in sources if source.exists())
