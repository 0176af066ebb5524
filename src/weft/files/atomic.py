# SPDX-License-Identifier: BSD-3-Clause
"""Atomic writing of files, checksums, the folder of temporary ones, and system errors as Weft's own."""

import errno
import json
import os
import re
import shlex
import shutil
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from weft.errors import DataError, NotThereError, StudyError
from weft.files import beneath
from weft.files.beneath import MOST_BYTES, NotPlainError, TooLargeError, open_plain, parent_of
from weft.files.reading import is_table
from weft.format import format_bytes
from weft.text import is_plain_json, plain_tree

NAME = "record_crc32"
_ENTRY = re.compile(rb',\s*+"record_crc32"\s*+:\s*+([0-9]{1,10})\s*+\}\s*+\Z')
_LONGEST = 64  # bytes at the end of a text in which the entry is looked for
ANEW = "it was changed or is incomplete: measure again with --into DIR"
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "the limit of a file's size is reached (ulimit -f, or the file system's own)",
}
MISTYPED = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


def with_checksum(text: str) -> str:
    """The text of a JSON object that has entries, with its checksum as one more."""
    before = text.rstrip().removesuffix("}").rstrip()
    return f'{before},\n "{NAME}": {zlib.crc32(before.encode())}\n}}\n'


def is_damaged(raw: bytes) -> bool:
    """Whether the text of a JSON object has a checksum of other bytes; records of an older Weft have none."""
    found = _ENTRY.search(raw, max(0, len(raw) - _LONGEST))
    return found is not None and zlib.crc32(memoryview(raw)[: found.start()]) != int(found[1])


def file_checksum(path: Path) -> str:
    """CRC-32 of a file, as text; OSError if it cannot be read."""
    found = 0
    with open_plain(path) as file:
        while chunk := file.read(1 << 20):
            found = zlib.crc32(chunk, found)
    return f"{found:08x}"


def temporary() -> Path:
    """The first writable of ``TMPDIR``, ``TMP``, ``TEMP``, ``/tmp``, ``/var/tmp``, as GCC chooses, full disk or not."""
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TMP", "TEMP")]
    usable = (Path(name) for name in (*named, "/tmp", "/var/tmp") if name and os.access(name, os.R_OK | os.W_OK))
    return next((place for place in usable if place.is_dir()), Path("/tmp"))


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file completely or not at all; DataError if the disk is full or read-only."""
    with _whole_file(path) as file:
        file.write(data)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that a user named with ``-o``, completely or not at all; NotThereError if impossible."""
    try:
        write_atomic(path, data)
    except DataError as problem:
        raise NotThereError(problem.what, "choose another place with -o") from problem


def copy_atomic(source: Path, path: Path) -> None:
    """Copy a file of any size, completely or not at all; DataError if it cannot be read or written."""
    with _whole_file(path) as file, beneath.open_plain(source) as given:
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
            replace(part, path)
        except OSError:
            try_remove(part)  # on a full disk the partial file still takes space
            raise


def own_handle(path: Path, flags: int) -> int:
    """Open a file in a folder that another user may own; OSError for a link, pipe, device, or second name."""
    with parent_of(path) as (folder, name, _):
        handle = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666, dir_fd=folder)
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
    """Write a JSON object atomically, with its checksum; NaN and infinity are refused."""
    entries = {key: entry for key, entry in value.items() if key != NAME}
    write_atomic(path, with_checksum(json.dumps(entries, indent=1, allow_nan=False)).encode())


def read_json(path: Path, most: int = MOST_BYTES) -> dict[str, Any]:
    """Read a JSON object of at most ``most`` bytes, without its checksum; DataError if that does not match."""
    with file_errors(path):
        raw = beneath.read_json_text(path, most)
    if is_damaged(raw):
        raise DataError(f"{path} is damaged: its checksum is of other content", ANEW)
    try:
        value: Any = json.loads(raw) if is_plain_json(raw) else plain_tree(json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}", ANEW) from error
    if not is_table(value):
        raise DataError(f"{path} is not a JSON object", ANEW)
    value.pop(NAME, None)
    return value


def guard(root: Path) -> None:
    """Refuse a folder of Weft that is a link, or has anything but plain files and folders in it; follow no link there.
    Every folder is opened by this. A link may lead out of one that came from somebody else, and a pipe or device may be
    read for ever. Raises DataError: for these, or for a folder that cannot be read.
    """
    if root.is_symlink():
        problem = f"{root} is a link to {_target(root)}: Weft follows no links to or in its folders"
        raise DataError(problem, f"name the folder itself: {shlex.quote(os.path.realpath(root))}")
    with file_errors(root):
        for place, kind in beneath.strange_in(root):
            what = f"{kind} to {_target(place)}" if place.is_symlink() else kind
            raise DataError(f"{place} is {what}: Weft reads plain files here, and follows no links", _put_back(place))
    beneath.follow_no_link(root)


def new_folder(path: Path, command: str) -> None:
    """Make a folder for what a verb writes, or take an empty one; StudyError if it is not, DataError if impossible."""
    if path.exists() and not path.is_symlink() and (not path.is_dir() or any(path.iterdir())):
        raise StudyError(f"{path} is there already", f"name a new folder: {command}")
    guard(path)
    with file_errors(path):
        make_folder(path)


def _target(link: Path) -> str:
    try:
        return repr(str(link.readlink()))
    except OSError:
        return "something"


def _remove(place: Path) -> str:
    return f"remove it: rm {shlex.quote(str(place))}"


def _put_back(place: Path) -> str:
    return f"put the file itself there, or {_remove(place)}"


def try_remove(path: Path) -> None:
    """Remove a file if possible; a failure is ignored."""
    with suppress(OSError), parent_of(path) as (folder, name, _):
        os.unlink(name, dir_fd=folder)


def replace(part: Path, path: Path) -> None:
    """Give a finished file its name; OSError if that is impossible."""
    with parent_of(part) as (source, old, _), parent_of(path) as (target, new, _):
        os.replace(old, new, src_dir_fd=source, dst_dir_fd=target)


def make_folder(path: Path) -> None:
    """Make a folder with those above it, unless it is there; OSError if that is impossible."""
    if not path.is_dir():
        make_folder(path.parent)
    with parent_of(path) as (folder, name, _), suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)


@contextmanager
def file_errors(path: Path) -> Generator[None]:
    """Turn an ``OSError`` on ``path`` into a :class:`DataError` with a remedy."""
    try:
        yield
    except OSError as error:
        raise explain(path, error) from error


def explain(path: Path | str, error: OSError) -> DataError:
    """The DataError for an ``OSError`` on ``path``, with a remedy."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links the user did not type
    reason = error.strerror or str(error)
    if isinstance(error, NotPlainError):
        strange = Path(error.filename)  # which may be the source of a copy
        return DataError(f"{strange} is {reason}", _put_back(strange))
    if isinstance(error, TooLargeError):
        remedy = "bring the original back, or remove it: Weft wrote no such file"
        return DataError(f"{error.filename}: {reason}", remedy)
    goes_on = "and repeat the same command, which then continues; or use another disk: --into DIR"
    if error.errno == errno.ENOSPC and _has_no_inodes(place):
        what = f"no inode is left on the file system of {place}: it holds no more files (df -i)"
        return DataError(what, f"delete files there {goes_on}")
    if error.errno in FULL:
        what = f"{FULL[error.errno]}: cannot write {place} ({reason}; {free_space(place)} free on the disk)"
        return DataError(what, f"free some space {goes_on}")
    if error.errno == errno.ELOOP:
        return DataError(f"{place} is a link, and links in a run folder are not followed", _remove(place))
    if error.errno in FORBIDDEN:
        remedy = "make the folder writable (chmod u+w, or mount it read-write), or choose another with --into DIR"
        return DataError(f"no permission to write {place} ({reason})", remedy)
    elsewhere = "" if error.errno in MISTYPED else ", or choose another folder with --into DIR"
    return DataError(f"{place}: {reason}", f"check the path{elsewhere}")


def _disk_of(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _has_no_inodes(path: Path) -> bool:
    try:
        found = os.statvfs(_disk_of(path))
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0


def free_space(path: Path) -> str:
    """Free space of the file system that would hold ``path``, as text."""
    try:
        free = shutil.disk_usage(_disk_of(path)).free
    except OSError:
        return "an unknown number of bytes"
    return format_bytes(free)
