# SPDX-License-Identifier: BSD-3-Clause
"""The run folder: where its files lie, who may work on it, and writing that is never half done."""

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.errors import DataError

SCHEMA = "weft-run/1"
ANEW = "it was changed or torn: measure anew with --into DIR"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


class RunFolder:
    """One study on one fabric, on disk.

    Parameters
    ----------
    path
        The folder; :meth:`create` fills it, :meth:`open` wants it to be there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.study = self.path / "study.toml"
        self.fabric = self.path / "fabric.toml"
        self.meta = self.path / "weft.json"
        self.plan = self.path / "plan.json"
        self.lock_file = self.path / "lock"
        self.launches = self.path / "launches"
        self.cells = self.path / "cells"
        self.samples = self.path / "samples"
        self.tables = self.path / "tables"
        self.report = self.path / "report.html"

    def check_place(self) -> None:
        """See that the folder is a run, or may become one.

        Raises
        ------
        DataError
            The path is a file, or a folder with other things in it.
        """
        with told(self.path):
            if self.path.exists() and not self.path.is_dir():
                raise DataError(f"{self.path} is a file, not a folder", "choose another place with --into DIR")
            foreign = self.path.is_dir() and not self.meta.is_file() and self._foreign()
        if foreign:
            raise DataError(
                f"{self.path} is no run folder (it has no weft.json) but holds {foreign}",
                "choose an empty or new folder with --into DIR",
            )

    def _foreign(self) -> str:
        """Name of an entry that no killed start of a run would have left."""
        ours = {path.name for path in (self.study, self.fabric, self.plan, self.lock_file, self.launches, self.cells)}
        names = sorted(entry.name for entry in self.path.iterdir())
        return next((name for name in names if name.removesuffix(".part") not in ours), "")

    def create(self, study: bytes, fabric: bytes, plan: bytes, meta: dict[str, Any]) -> None:
        """Make this a run folder; the caller holds its lock.

        Parameters
        ----------
        study, fabric
            The two files as given, byte for byte.
        plan
            The plan as JSON.
        meta
            Further entries of ``weft.json`` (version, commit, time, kind, seed).

        Raises
        ------
        DataError
            The folder cannot be written.
        """
        with told(self.cells):
            self.cells.mkdir(parents=True, exist_ok=True)
        write_atomic(self.study, study)
        write_atomic(self.fabric, fabric)
        write_atomic(self.plan, plan)
        # weft.json comes last: a folder without it never was a run, so a kill in between leaves nothing to trip over
        write_json(self.meta, {"schema": SCHEMA, **meta})

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open a run folder and check that this Weft can read it.

        Raises
        ------
        DataError
            No run folder, or one of another version of the format.
        """
        folder = cls(path)
        if not folder.meta.is_file():
            what = "does not exist" if not folder.path.exists() else "is no run folder: it has no weft.json"
            raise DataError(
                f"{folder.path} {what}", "weft run STUDY --on FABRIC makes one; weft show RUN wants its path"
            )
        schema = folder.metadata().get("schema")
        if schema != SCHEMA:
            raise DataError(
                f"{folder.path}: this run was made by another version of the run format: {schema!r}, "
                f"this Weft reads {SCHEMA!r} (made by weft {folder.metadata().get('weft', 'unknown')})",
                "read it with that version of Weft, or measure anew with --into DIR",
            )
        return folder

    def metadata(self) -> dict[str, Any]:
        """Entries of ``weft.json``."""
        return read_json(self.meta)

    def flat_plan(self, launch: str) -> Path:
        """Input of the kernel for a launch."""
        return self.launches / f"{launch}.plan"

    def launch_record(self, launch: str) -> Path:
        """Provenance that the kernel wrote of a launch."""
        return self.launches / f"{launch}.json"

    def status_file(self, launch: str) -> Path:
        """Status slots of a launch, 64 bytes a rank."""
        return self.launches / f"{launch}.status"

    def outcome(self, launch: str) -> Path:
        """How a launch ended, by its launcher: exit code and wall time."""
        return self.launches / f"{launch}.outcome.json"

    def log(self, launch: str) -> Path:
        """Stdout and stderr of a launch."""
        return self.launches / f"{launch}.log"

    def cell_record(self, cell: str, launch_index: int) -> Path:
        """The ``.json`` that marks a cell of a launch as finished."""
        return self.cells / f"{cell}.l{launch_index}.json"

    def cell_samples(self, cell: str, launch_index: int) -> Path:
        """The ``.npy`` of a cell of a launch: int64, (ranks, samples, 3)."""
        return self.cells / f"{cell}.l{launch_index}.npy"

    def leftovers(self) -> Iterator[Path]:
        """Yield each file that a killed launch left half written."""
        for where in (self.path, self.cells, self.launches, self.samples, self.tables):
            yield from where.glob("*.part")

    @contextmanager
    def lock(self, patience_s: float = 20.0) -> Generator[None]:
        """Hold the folder; nobody else may work on it meanwhile.

        The kernel drops a ``flock`` with its holder, so a killed Weft leaves none behind. The ranks of a killed Weft
        hold a lock of their own (``launches/lock``) until the last has ended: that one is waited for.

        Parameters
        ----------
        patience_s
            How long to wait for the ranks of a Weft that is gone.

        Raises
        ------
        DataError
            Another Weft works on the folder; its process id is named.
        """
        with told(self.path):
            self.launches.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not try_lock(handle):
                holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
                raise DataError(
                    f"{self.path} is in use by another weft (process {holder})",
                    f"wait for it, end it with: kill {holder.split()[0]}, or choose another folder with --into DIR",
                )
            with told(self.lock_file):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()} on {os.uname().nodename}\n".encode(), 0)
            self._wait_for_ranks(patience_s)
            yield
        finally:
            os.close(handle)

    def _wait_for_ranks(self, patience_s: float) -> None:
        path = self.launches / "lock"
        if not path.exists():
            return
        with told(path):
            handle = os.open(path, os.O_RDWR)
        try:
            until = time.monotonic() + patience_s
            while not try_lock(handle):
                if time.monotonic() > until:
                    holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
                    raise DataError(
                        f"{self.path}: ranks of an earlier weft are still running (kept by process {holder})",
                        f"end them with: kill {holder.split()[0]}",
                    )
                time.sleep(0.05)
        finally:
            os.close(handle)


def try_lock(handle: int) -> bool:
    """Take an exclusive ``flock`` without waiting; False when somebody else has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all.

    Raises
    ------
    DataError
        The disk is full or read-only; nothing is left behind.
    """
    part = path.with_name(path.name + ".part")
    with told(path):
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            # on a full disk the part still takes room that the user will want back
            try_remove(part)
            raise


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object atomically; NaN and infinity are refused."""
    write_atomic(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    DataError
        Not there, not readable, not an object.
    """
    with told(path):
        raw = path.read_bytes()
    try:
        value: Any = json.loads(raw)
    except ValueError as error:
        raise DataError(
            f"{path} is not JSON: {error}", "it was changed or torn: measure anew with --into DIR"
        ) from error
    if not isinstance(value, dict):
        raise DataError(f"{path} holds no JSON object", ANEW)
    return value  # pyright: ignore[reportUnknownVariableType]


def try_remove(path: Path) -> None:
    """Remove a file if that is possible; used where a failure to do so changes nothing."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


@contextmanager
def told(path: Path) -> Generator[None]:
    """Turn an ``OSError`` on ``path`` into a :class:`DataError` that says what to do."""
    try:
        yield
    except OSError as error:
        raise explain(path, error) from error


def explain(path: Path, error: OSError) -> DataError:
    """Say what an ``OSError`` on ``path`` means for a run, and what to do about it."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links the user did not type
    reason = error.strerror or str(error)
    if error.errno in FULL:
        return DataError(
            f"the disk is full: cannot write {place} ({reason}; {free_space(place)} free)",
            "make room, then start the same command: it goes on where this stopped; or use another disk: --into DIR",
        )
    if error.errno in FORBIDDEN:
        return DataError(
            f"no permission to write {place} ({reason})",
            "make the folder writable (chmod u+w, or mount it read-write), or choose another one with --into DIR",
        )
    return DataError(f"{place}: {reason}", "check the path, or choose another folder with --into DIR")


def free_space(path: Path) -> str:
    """Bytes free on the file system that would hold ``path``, in words."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        free = shutil.disk_usage(there).free
    except OSError:
        return "an unknown number of bytes"
    return f"{free} bytes" if free < 1 << 20 else f"{free / (1 << 20):.0f} MiB"
