# SPDX-License-Identifier: BSD-3-Clause
"""Intermediate results that several queries read: computed once and kept as a file of the engine meanwhile."""

import fcntl
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.analyse.engine import Backend, Expression, read
from weft.errors import DataError, WeftError
from weft.files.atomic import file_errors, free_space

PREFIX = ".analysis-"
MARK = "of-weft"
"""A file in each scratch folder: one without it is somebody else's, whatever its name, and stays."""
FULL = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")
"""In what engines say when a result or a spilled piece cannot be written; DuckDB leaves a tenth of the disk free."""
IN_USE_S = 3600.0
"""A folder that something was made in this short a while ago is left alone: a lock may not be seen on other hosts."""


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

    Raises DataError: The folder cannot be written, or the disk is full.
    """
    with file_errors(beside):
        beside.mkdir(parents=True, exist_ok=True)
        for left in beside.glob(f"{PREFIX}*"):
            _remove_abandoned(left)
        with _full_told(beside), TemporaryDirectory(prefix=PREFIX, dir=beside) as folder, _held(Path(folder)):
            (Path(folder) / MARK).touch()
            yield Scratch(backend, Path(folder))


@contextmanager
def _full_told(beside: Path) -> Generator[None]:
    """Turn an engine's own error on a full disk into a :class:`DataError`."""
    try:
        yield
    except WeftError:
        raise
    except Exception as problem:  # each engine has its own
        if not any(words in str(problem) for words in FULL):
            raise
        raise DataError(
            f"the disk is full: intermediate results do not fit in {beside} ({free_space(beside)} free)",
            "free some space and repeat the same command",
        ) from problem


@contextmanager
def _held(folder: Path) -> Generator[bool]:
    """Lock a folder; false if another process has it. The system lets go of it when this one ends, however it does."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = True
    except OSError:
        held = False
    try:
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
