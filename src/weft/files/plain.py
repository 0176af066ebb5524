# SPDX-License-Identifier: BSD-3-Clause
"""Opening files that others may have put there: no pipe, device or socket in a file's place is waited for."""

import errno
import os
from io import BufferedReader
from pathlib import Path
from typing import TypeAlias

from weft.files.beneath import NotPlainError, kind_in, parent_of

Version: TypeAlias = tuple[int, int]
"""Inode and time of the last change in ns: compared for equality alone, never for order."""
NONE: Version = (0, 0)


def version(path: Path) -> Version:
    """What changes when a file is replaced or written; zeros if there is no file."""
    try:
        return version_in(path.stat())
    except OSError:
        return NONE


def version_in(status: os.stat_result) -> Version:
    """The version of a file whose status is known."""
    return status.st_ino, status.st_mtime_ns


def refuse_kind(path: Path, status: os.stat_result) -> None:
    """Raise NotPlainError unless the status is of a plain file."""
    if kind := kind_in(status):
        code = errno.EISDIR if kind == "a folder" else errno.EINVAL
        raise NotPlainError(code, f"{kind}, not a plain file", str(path))


def plain_file(path: Path) -> Path:
    """The path itself, for a reader that opens files in its own way.

    Raises
    ------
    OSError
        There is no file; ``NotPlainError`` if it is no plain one.
    """
    with parent_of(path) as (folder, name, guarded):
        refuse_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=not guarded))
    return path


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file to read; a link is followed, except in folders of Weft (:func:`weft.files.beneath.parent_of`).

    Raises
    ------
    OSError
        It cannot be opened; ``NotPlainError`` if it is a pipe, device, socket or folder, which may have no end.
    """
    with parent_of(path) as (folder, name, guarded):
        # to open a device may already do something
        refuse_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=not guarded))
        links = os.O_NOFOLLOW if guarded else 0
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links, dir_fd=folder)
    try:
        refuse_kind(path, os.fstat(handle))  # what may have taken its place meanwhile
    except NotPlainError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


MOST_BYTES = 1 << 26
"""Of a file that is read as a whole, unless its reader expects more."""
UNLIMITED = 1 << 62


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a plain file holds.

    Parameters
    ----------
    most
        Bytes that it may have.

    Raises
    ------
    OSError
        See :func:`open_plain`; with EFBIG if there are more bytes than ``most``: none of them are read.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read", str(path))
        return file.read(size)  # a buffer of that size is made first
