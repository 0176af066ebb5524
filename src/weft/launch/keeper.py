# SPDX-License-Identifier: BSD-3-Clause
"""Keeps one launch: starts ``mpiexec``, and ensures that no process of the launch outlives it.

A process of its own between Weft and ``mpiexec``, for what neither can do: after a SIGKILL of Weft it must still
end the ranks and remove their session directories, and after a SIGKILL of ``mpiexec`` it must still find its
orphans. ``setpriv --pdeathsig`` alone would only reach ``mpiexec``, and a ``preexec_fn`` in Weft itself is not safe
beside the threads that draw the progress. This process has one thread, so it may fork and set what it likes.

- It gets SIGTERM from the system when Weft dies (PR_SET_PDEATHSIG), and so does ``mpiexec`` when the keeper dies.
- It is a subreaper: every orphan of the launch becomes its child, so "all descendants" is the whole launch.
- It holds the folder's launch lock, so that the next Weft waits until the last rank has stopped writing.
- What a killed keeper left, the next one of the same folder removes, and nothing that a lock file merely says is ours.

Run by path with ``python -I -S`` (10 ms); it imports nothing but the standard library, and nothing of Weft.
"""

import ctypes
import errno
import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import zlib
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
PREFIX = "weft-"
NOTE_BYTES = 256
# Open MPI names a semaphore after the file written, and Weft's kernel marks that by 16 digits
SEMAPHORES = f"/dev/shm/sem.OMPIO_*.npy.{'[0-9a-f]' * 16}.part"
# what Open MPI 5 and 4, MPICH, UCX, PSM, MVAPICH and Intel MPI name their segments, and hydra its picture of the cores
LEFT_BEHIND = (
    *(f"/dev/shm/{name}*" for name in ("sm_segment.", "vader_segment.", "mpich_sh", "ucx_shm", "psm", "mv2_")),
    *(f"/dev/shm/{name}*" for name in ("Intel_MPI", "shm_mpi")),
    "/tmp/hydra_hwloc_xmlfile_*",
    SEMAPHORES,
)
SHARED = "shared"  # in a session directory: what its ranks have below /dev/shm (native/measure/host/shared_memory.cpp)
SHARED_MOST = 1_000_000
PLACES = ("/dev/shm/", "/tmp/hydra_")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process; Linux only."""
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def temporary_base() -> str:
    """Where the session directory goes: short, because sockets below it may have 107 characters in all."""
    wanted = os.environ.get("TMPDIR", "/tmp")
    return wanted if len(wanted) <= 30 and os.access(wanted, os.W_OK) else "/tmp"


def parents() -> dict[int, int]:
    """Return the parent of each process that is visible and no zombie."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def descendants() -> list[int]:
    """Return every living process of the launch (this one is their subreaper)."""
    parent_of = parents()
    family = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, parent in parent_of.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return sorted(family - {os.getpid()})


def reap() -> dict[int, int]:
    """Reap the processes that have ended: process id to wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def send(pids: list[int], number: int) -> None:
    """Send a signal to each process that still is there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def start(command: list[str]) -> int:
    """Start ``mpiexec`` in the keeper's session; it ends when the keeper does."""
    keeper = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != keeper:
            os._exit(125)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def watch(leader: int, grace_s: float) -> int:
    """Wait for ``mpiexec``; asked to stop, end it politely and then by force. Returns its wait status."""
    force_at = 0.0
    while True:
        ended = reap()
        if leader in ended:
            return ended[leader]
        wait_s = 3600.0 if not force_at else max(0.0, force_at - time.monotonic())
        info = signal.sigtimedwait(WATCHED, wait_s)
        if info is not None and info.si_signo != signal.SIGCHLD and not force_at:
            force_at = time.monotonic() + grace_s
            send([leader], signal.SIGTERM)
        if force_at and time.monotonic() >= force_at:
            send(descendants(), signal.SIGKILL)


def clear(patience_s: float) -> None:
    """End whatever ``mpiexec`` left running, and wait until it has ended."""
    # a regular end leaves a daemon some milliseconds to go by itself
    polite_until = time.monotonic() + patience_s
    give_up = polite_until + 10.0
    while True:
        reap()
        left = descendants()
        if not left or time.monotonic() > give_up:
            return
        if time.monotonic() > polite_until:
            send(left, signal.SIGKILL)
        time.sleep(0.005)


def open_files() -> set[tuple[int, int]]:
    """Device and inode of each file in the places of :data:`LEFT_BEHIND` that a visible process has open or mapped."""
    found: set[tuple[int, int]] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            for line in (entry / "maps").read_text(errors="replace").splitlines():
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].startswith(PLACES):
                    major, minor = fields[3].split(":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
            for handle in (entry / "fd").iterdir():
                if str(handle.readlink()).startswith(PLACES):
                    status = handle.stat()
                    found.add((status.st_dev, status.st_ino))
        except OSError:
            continue
    return found


def sweep(since: float, patterns: tuple[str, ...] = LEFT_BEHIND) -> None:
    """Remove files that killed ranks left outside of their folder: ours, made since then, and used by nobody."""
    candidates: list[tuple[Path, os.stat_result]] = []
    for path in (path for pattern in patterns for path in Path("/").glob(pattern[1:])):
        try:
            status = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and status.st_ctime >= since:
            candidates.append((path, status))
    if not candidates:
        return
    # listed before looking who uses them: what another job makes in between is not on the list
    used = open_files()
    for path, status in candidates:
        if (status.st_dev, status.st_ino) not in used:
            try:
                path.unlink(missing_ok=True)
            except OSError:  # immutable, or read-only by now: no reason not to start
                continue


def take_lock(path: str) -> int:
    """Hold the folder's launch lock; waits for the keeper of an earlier launch to end.

    The file names the holder and its session directory, so that the next one can remove what a killed keeper left.
    """
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=place)
    os.close(place)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise OSError(errno.EINVAL, "no plain file of its own: remove it", path)
    fcntl.flock(handle, fcntl.LOCK_EX)
    left = os.pread(handle, 4096, 0).decode(errors="replace").partition(" ")[2].strip()
    if left and is_session(left, handle):
        sweep(0.0, (*noted(left), SEMAPHORES))
        shutil.rmtree(left, ignore_errors=True)
    return handle


def session_prefix(lock: int) -> str:
    """How the session directories of this lock file begin: no other's do, so that nobody else's is taken for ours."""
    status = os.fstat(lock)
    return f"{PREFIX}{zlib.crc32(f'{status.st_dev}:{status.st_ino}'.encode()) & 0xFFFFFF:06x}"


def is_session(left: str, lock: int) -> bool:
    """Whether a path is that of a session directory which an earlier holder of this very lock file made."""
    path = Path(left)
    if str(path.parent) not in {"/tmp", temporary_base()} or not path.name.startswith(session_prefix(lock)):
        return False
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def noted(session: str) -> list[str]:
    """Paths of the shared memory that the ranks of a session noted as theirs, as patterns."""
    try:
        handle = os.open(f"{session}/{SHARED}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return []
    with os.fdopen(handle, errors="replace") as file:
        names = set(file.read(SHARED_MOST).splitlines())
    return [f"/dev/shm/{glob.escape(name)}" for name in sorted(names) if name.strip(".") and "/" not in name]


def note(lock: int, text: str) -> None:
    """Replace what the launch lock says of its holder; always as many bytes, so that a full disk has room for it."""
    if os.pwrite(lock, text.encode().ljust(NOTE_BYTES), 0) < NOTE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def leave(status: int) -> int:
    """End as ``mpiexec`` did: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    return os.waitstatus_to_exitcode(status) & 0xFF


def main() -> int:
    """Keep the launch that the first argument describes (JSON: command, lock, parent, grace_s)."""
    order = json.loads(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != order["parent"]:
        return 125
    lock = take_lock(order["lock"])
    began = time.time() - 0.01
    # Open MPI and MPICH put sockets and session directories there; a killed one does not clean up
    temporary = tempfile.mkdtemp(prefix=session_prefix(lock), dir=temporary_base())
    os.environ["TMPDIR"] = temporary
    try:
        note(lock, f"{os.getpid()} {temporary}\n")
        status = watch(start(order["command"]), order["grace_s"])
        clean = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
        clear(patience_s=1.0 if clean else 0.1)
        if not clean:
            sweep(began)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    note(lock, "")
    return leave(status)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as problem:  # a full disk, no room for processes: one line for the launch's log
        sys.exit(f"weft cannot keep this launch: {problem}")
