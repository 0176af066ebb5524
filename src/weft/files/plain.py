# SPDX-License-Identifier: BSD-3-Clause
"""Opening files that others may have put there: no pipe, device or socket in a file's place is waited for."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}


class NotPlainError(OSError):
    """What was to be read is there, but it is no plain file."""


def kind_in(status: os.stat_result) -> str:
    """What a status is of, in words; empty for a plain file."""
    kind = stat.S_IFMT(status.st_mode)
    return "" if kind == stat.S_IFREG else KINDS.get(kind, "something else")


def refuse_kind(path: Path, status: os.stat_result) -> None:
    """Raise NotPlainError unless the status is of a plain file."""
    if kind := kind_in(status):
        code = errno.EISDIR if kind == "a folder" else errno.EINVAL
        raise NotPlainError(code, f"{kind}, not a plain file", str(path))


def strange_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield what in a folder and below is neither a plain file nor a folder, and its kind; links are not followed.

    Raises
    ------
    OSError
        A folder cannot be read; one that is not there has nothing strange in it.
    """
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from strange_in(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) and (kind := kind_of(Path(entry.path))):
                yield Path(entry.path), kind


def kind_of(path: Path) -> str:
    """What lies at a path, in words, a link too; empty for a plain file, a folder, or nothing."""
    try:
        kind = kind_in(path.lstat())
    except OSError:
        return ""
    return "" if kind == "a folder" else kind


def plain_file(path: Path) -> Path:
    """The path itself, for a reader that opens files in its own way.

    Raises
    ------
    OSError
        There is no file; ``NotPlainError`` if it is no plain one.
    """
    refuse_kind(path, path.stat())
    return path


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file to read; a link is followed.

    Raises
    ------
    OSError
        It cannot be opened; ``NotPlainError`` if it is a pipe, device, socket or folder, which may have no end.
    """
    plain_file(path)  # to open a device may already do something
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        refuse_kind(path, os.fstat(handle))  # what may have taken its place meanwhile
    except NotPlainError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_plain(path: Path, most: int | None = None) -> bytes:
    """What a plain file holds.

    Parameters
    ----------
    most
        Bytes that it may have; None for a file that Weft wrote.

    Raises
    ------
    OSError
        See :func:`open_plain`; with EFBIG if there are more bytes than ``most``: none of them are read.
    """
    with open_plain(path) as file:
        if most is None:
            return file.read()
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read", str(path))
        return file.read(size)  # a buffer of that size is made first
