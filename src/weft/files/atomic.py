# SPDX-License-Identifier: BSD-3-Clause
"""Atomic writing of files, and system errors as Weft's own."""

import errno
import json
import os
import shlex
import shutil
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from weft.errors import DataError
from weft.files.plain import NotPlainError, kind_of, open_plain, read_plain, strange_in
from weft.format import format_bytes
from weft.text import plain_tree

ANEW = "it was changed or is incomplete: measure again with --into DIR"
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "the limit of a file's size is reached (ulimit -f, or the file system's own)",
}
MISTYPED = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file atomically: complete or not at all.

    Raises
    ------
    DataError
        The disk is full or read-only; nothing is left behind.
    """
    with _whole_file(path) as file:
        file.write(data)


def copy_atomic(source: Path, path: Path) -> None:
    """Copy a file of any size, complete or not at all.

    Raises
    ------
    DataError
        The source cannot be read, or the disk is full or read-only; nothing is left behind.
    """
    with _whole_file(path) as file, open_plain(source) as given:
        shutil.copyfileobj(given, file, 1 << 20)


@contextmanager
def _whole_file(path: Path) -> Generator[BinaryIO, None, None]:
    """Open a file to write that appears at ``path`` when it is complete and on the disk, or not at all."""
    part = path.with_name(path.name + ".part")
    with file_errors(path):
        try:
            with own_file(part) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            # on a full disk the partial file still takes space
            try_remove(part)
            raise


def own_handle(path: Path, flags: int) -> int:
    """Open a file in a folder that another user may own: never a link, pipe or device, or a file with a second name.

    Raises
    ------
    OSError
        It cannot be opened, or is not a regular file with one name.
    """
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file with one name; remove it", str(path))
    return handle


def own_file(path: Path) -> BinaryIO:
    """Open a file for writing, empty (see :func:`own_handle`)."""
    handle = own_handle(path, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(handle, 0)
    return os.fdopen(handle, "wb")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object atomically; NaN and infinity are refused."""
    write_atomic(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    DataError
        The file is missing, not readable, or not a JSON object.
    """
    with file_errors(path):
        raw = read_plain(path)
    try:
        value: Any = plain_tree(json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not JSON: {error}", "it was changed or is incomplete: measure again with --into DIR"
        ) from error
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a JSON object", ANEW)
    return value  # pyright: ignore[reportUnknownVariableType]


def refuse_strange(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Refuse files, or folders with all below them, where a link, pipe, device or socket is in a file's place.

    A link may lead out of a folder that came from somebody else, and the others may be read for ever.

    Raises
    ------
    DataError
        Something is neither a plain file nor a folder, or a folder cannot be read.
    """
    found = [(place, kind) for place in files if (kind := kind_of(place))]
    for folder in folders:
        with file_errors(folder):
            found += strange_in(folder)
    for place, kind in found[:1]:
        raise DataError(
            f"{place} is {kind}: here only plain files are read",
            _put_back(place),
        )


def _remove(place: Path) -> str:
    return f"remove it: rm {shlex.quote(str(place))}"


def _put_back(place: Path) -> str:
    return f"put the file itself there, or {_remove(place)}"


def try_remove(path: Path) -> None:
    """Remove a file if possible; a failure is ignored."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


@contextmanager
def file_errors(path: Path) -> Generator[None]:
    """Turn an ``OSError`` on ``path`` into a :class:`DataError` with a remedy."""
    try:
        yield
    except OSError as error:
        raise explain(path, error) from error


def explain(path: Path, error: OSError) -> DataError:
    """The DataError for an ``OSError`` on ``path``, with a remedy."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links the user did not type
    reason = error.strerror or str(error)
    if isinstance(error, NotPlainError):
        strange = Path(error.filename)  # which may be the source of a copy
        return DataError(f"{strange} is {reason}", _put_back(strange))
    if error.errno in FULL:
        return DataError(
            f"{FULL[error.errno]}: cannot write {place} ({reason}; {free_space(place)} free on the disk)",
            "free some space and repeat the same command, which then continues; or use another disk: --into DIR",
        )
    if error.errno == errno.ELOOP:
        return DataError(f"{place} is a link, and links in a run folder are not followed", _remove(place))
    if error.errno in FORBIDDEN:
        return DataError(
            f"no permission to write {place} ({reason})",
            "make the folder writable (chmod u+w, or mount it read-write), or choose another with --into DIR",
        )
    if error.errno in MISTYPED:
        return DataError(f"{place}: {reason}", "check the path")
    return DataError(f"{place}: {reason}", "check the path, or choose another folder with --into DIR")


def free_space(path: Path) -> str:
    """Free space of the file system that would hold ``path``, as text."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        free = shutil.disk_usage(there).free
    except OSError:
        return "an unknown number of bytes"
    return format_bytes(free)
