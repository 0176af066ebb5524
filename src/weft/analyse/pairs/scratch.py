# SPDX-License-Identifier: BSD-3-Clause
"""Intermediate results that several queries read: computed once and kept as a file of the engine meanwhile."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.analyse.engine import Backend, Expression, read
from weft.files.atomic import file_errors


@dataclass(frozen=True)
class Scratch:
    """A folder that is deleted when the analysis is done.

    Files instead of the engine's cache: the 16 million pairs of 4,096 ranks would fill the memory, and Ibis 12 cannot
    drop a cached table of DuckDB 2.0.
    """

    backend: Backend
    folder: Path

    def keep(self, name: str, rows: Expression) -> Expression:
        """Evaluate ``rows``, store them under a name, and return them as a table."""
        path = self.folder / f"{name}.parquet"
        self.backend.to_parquet(rows, path)
        return read(self.backend, [path])

    def subfolder(self, name: str) -> Path:
        """A folder inside, for results whose names may repeat."""
        path = self.folder / name
        path.mkdir()
        return path


@contextmanager
def scratch(backend: Backend, beside: Path) -> Generator[Scratch]:
    """A scratch folder on the file system of a run, which all workers of an engine can read.

    Raises
    ------
    DataError
        The folder cannot be written.
    """
    with file_errors(beside):
        beside.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".analysis-", dir=beside) as folder:
            yield Scratch(backend, Path(folder))
