# SPDX-License-Identifier: BSD-3-Clause
"""Locks of one process at a time, also on file systems that know none: there by a file that names the holder."""

import errno
import fcntl
import os
import shlex
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from weft.files.atomic import file_errors, try_remove
from weft.files.beneath import parent_of, read_plain

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What ``flock`` ends with on Lustre without ``-o flock``, and on NFS without its lock daemon."""
BESIDE = ".held"
MOST_BYTES = 1000


def try_flock(handle: int) -> bool | None:
    """Take an exclusive ``flock`` without waiting; False if another process has it, None if there are no locks here."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return None
    return True


@contextmanager
def held_by_name(path: Path, say: Callable[[str], None], wait_s: float = 0.0) -> Generator[str]:
    """Hold a lock by a file that one process can create; yields another holder, if any. DataError. A file of an ended
    process of this host, or of an earlier boot, is removed; of other hosts nobody can tell here.
    """
    place = path.with_name(path.name + BESIDE)
    until = time.monotonic() + wait_s
    while not _create(place):
        with file_errors(place):
            holder = _holder_of(place)
        process, began, boot, host = (*holder.split(), "", "", "", "")[:4]
        still_runs = process.isdecimal() and boot == _boot() and began_at(int(process)) == began
        if not holder or (host == os.uname().nodename and not still_runs):
            try_remove(place)
        elif time.monotonic() >= until:
            yield f"{process} on {holder.split()[-1]}; if it has ended: rm {shlex.quote(str(place))}"
            return
        else:
            time.sleep(0.1)
    say(f"no file locks on the file system of {path.parent} (flock): {place.name} stands for the lock")
    try:
        yield ""
    finally:
        try_remove(place)


def _create(place: Path) -> bool:
    with file_errors(place), parent_of(place) as (folder, name, _):
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
        except FileExistsError:
            return False
        try:
            os.write(handle, f"{os.getpid()} {began_at(os.getpid())} {_boot()} {os.uname().nodename}\n".encode())
        finally:
            os.close(handle)
    return True


def _holder_of(place: Path) -> str:
    """What the file says; empty if it went meanwhile. A process that was just created may not have written yet."""
    for _ in range(10):
        try:
            if text := read_plain(place, MOST_BYTES).decode(errors="replace").strip():
                return text
        except FileNotFoundError:
            return ""
        time.sleep(0.05)
    return ""


def began_at(process: int) -> str:
    """When a process was started, in ticks since boot: numbers of processes come again; ``-`` if there is none."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "-" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return "-"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return "-"
