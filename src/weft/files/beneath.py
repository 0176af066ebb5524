# SPDX-License-Identifier: BSD-3-Clause
"""Opening files that others may have put there, never a pipe, device or socket; versions of files by identity."""

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TypeAlias

KINDS = {
    stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link",
}  # fmt: skip
DEEPEST = 16  # folders in folders; Weft's own are nested half as deep, replays in a trace among them
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_HOLES, PACKED = 1 << 26, 64
"""Bytes of a file that need not be on the disk, and how often a file system may pack the others: the rest is holes."""
_GUARDED: set[str] = set()
Version: TypeAlias = tuple[int, int]  # inode and time of the last change in ns: compared for equality, never for order
NONE: Version = (0, 0)
MOST_PARSED = 1 << 29  # bytes that a JSON text may take in memory
OF_LIST, OF_VALUE = 400, 60  # bytes that readers of JSON take at most for a list or object as such, and for a value
MOST_BYTES = 1 << 26  # of a file that is read as a whole, unless its reader expects more
UNLIMITED = 1 << 62


class NotPlainError(OSError):
    """What was to be read is there, but it is no plain file."""


class TooLargeError(OSError):
    """A file is larger than any of its kind, or would be in memory."""


def follow_no_link(root: Path) -> None:
    """From now on, follow no link from this folder to anything in it, whoever opens, writes or removes it."""
    _GUARDED.add(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links


def kind_in(status: os.stat_result) -> str:
    """What a status is of, in words; empty for a plain file."""
    kind = stat.S_IFMT(status.st_mode)
    return "" if kind == stat.S_IFREG else KINDS.get(kind, "something else")


@contextmanager
def parent_of(path: Path) -> Generator[tuple[int | None, str, bool]]:
    """Open the folder that a file is in: its descriptor, the file's name there, and whether links may not be followed.
    Outside of guarded folders there is no descriptor, and the name is the whole path.
    """
    root, parts = _root_of(path)
    if root is None or not parts:
        yield None, str(path), root is not None
        return
    handle = _open_folder(root, parts[:-1])
    try:
        yield handle, parts[-1], True
    finally:
        os.close(handle)


def strange_in(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield what in a folder is neither plain file nor folder, and its kind; OSError if unreadable or too deep."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        if len(parts) > DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"nested more than {DEEPEST} folders deep", str(root.joinpath(*parts)))
        with suppress(FileNotFoundError):
            handle = _open_folder(str(root), parts)
            try:
                with os.scandir(handle) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append((*parts, entry.name))
                        elif not entry.is_file(follow_symlinks=False):
                            place = root.joinpath(*parts, entry.name)
                            yield place, kind_in(os.stat(entry.name, dir_fd=handle, follow_symlinks=False))
            finally:
                os.close(handle)


def _root_of(path: Path) -> tuple[str | None, list[str]]:
    """The guarded folder that a path is in, or None, and the path from there in parts."""
    found = os.path.abspath(path)  # noqa: PTH100
    parts: list[str] = []
    while _GUARDED and found not in _GUARDED:
        found, _, name = found.rpartition("/")
        if not name:
            return None, []
        parts.append(name)
    return (found, parts[::-1]) if _GUARDED else (None, [])


def _open_folder(root: str, parts: tuple[str, ...] | list[str]) -> int:
    handle, place = _open_part(root, None, root), root
    for part in parts:
        place = os.path.join(place, part)  # noqa: PTH118
        try:
            inner = _open_part(part, handle, place)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _open_part(name: str, above: int | None, place: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise OSError(error.errno, error.strerror, place) from None
        kind = kind_in(os.stat(name, dir_fd=above, follow_symlinks=False))
        raise NotPlainError(error.errno, f"{kind or 'a file'}, not a folder", place) from None


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
    """The path itself, for a reader that opens files in its own way; OSError without one, NotPlainError."""
    with parent_of(path) as (folder, name, guarded):
        refuse_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=not guarded))
    return path


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file (links only outside of Weft's folders); OSError, as EFBIG for holes, or NotPlainError."""
    with parent_of(path) as (folder, name, guarded):
        # to open a device may already do something
        refuse_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=not guarded))
        links = os.O_NOFOLLOW if guarded else 0
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links, dir_fd=folder)
    try:
        status = os.fstat(handle)
        refuse_kind(path, status)  # what may have taken its place meanwhile
        size, written = status.st_size, 512 * status.st_blocks
        # to read what nobody wrote takes hours; some file systems count no blocks, and know no holes either
        if size > MOST_HOLES + PACKED * written and os.lseek(handle, 0, os.SEEK_HOLE) < size:
            raise TooLargeError(errno.EFBIG, f"{size:,} bytes, of which {written:,} are on the disk", str(path))
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a plain file holds, in at most ``most`` bytes; OSError as of :func:`open_plain`, or with EFBIG."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise TooLargeError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read", str(path))
        return file.read(size)  # a buffer of that size is made first


def read_json_text(path: Path, most: int = MOST_BYTES) -> bytes:
    """What :func:`read_plain` reads; EFBIG, too, where its parts need too much memory: an empty list has two bytes."""
    raw = read_plain(path, most)
    size = OF_LIST * (raw.count(b"[") + raw.count(b"{")) + OF_VALUE * raw.count(b",")
    if size > MOST_PARSED:
        what = f"its lists and values need up to {size:,} bytes, at most {MOST_PARSED:,}"
        raise TooLargeError(errno.EFBIG, what, str(path))
    return raw
