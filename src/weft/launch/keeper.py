# SPDX-License-Identifier: BSD-3-Clause
"""Keeper of one launch: starts ``mpiexec``, and ensures that no process of the launch outlives it.

A separate process between Weft and ``mpiexec``, for what neither can do: after a SIGKILL of Weft it must still end
the ranks and remove their session directories, and after a SIGKILL of ``mpiexec`` it must still find its orphans.
``setpriv --pdeathsig`` alone would only reach ``mpiexec``, and a ``preexec_fn`` in Weft is not safe with the threads
that draw the progress. This process has one thread, so it may fork safely.

- The system sends it SIGTERM when Weft dies (PR_SET_PDEATHSIG), and ``mpiexec`` when the keeper dies.
- It is a subreaper: every orphan of the launch becomes its child, so "all descendants" is the whole launch.
- It holds the folder's launch lock, so that the next Weft waits until the last rank has stopped writing.
- The next keeper of the same folder removes what a killed one left, but never trusts the lock file alone for that.

The starters of Open MPI 4 and 5 and of MPICH listen on every interface of a host, even for ranks on that host only,
and have no setting against it (open-mpi/ompi issue 14441; hydra binds to any address). In a network namespace with
loopback only there is nothing else to listen on. Without permission for namespaces a command starts unchanged.

Run by path with ``python -I -S`` (10 ms); it imports only the standard library. ``keeper.py alone COMMAND`` replaces
itself by a command on loopback, and keeps nothing.
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
import struct
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
AF_INET, SOCK_DGRAM, SIOCSIFFLAGS, IFF_UP = 2, 2, 0x8914, 1
WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
PREFIX, NOTE_BYTES = "weft-", 256
Found = tuple[Path, int, int]  # a file: name, device, inode
# Open MPI names a semaphore after the file written, which Weft marks by 16 digits
SEMAPHORES = f"/dev/shm/sem.OMPIO_*.npy.{'[0-9a-f]' * 16}.part"
# names of the segments of Open MPI 5 and 4, MPICH, UCX, PSM, MVAPICH and Intel MPI, and of hydra's topology file
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
    """Parent of the session directory: a short path, because socket paths are limited to 107 characters."""
    wanted = os.environ.get("TMPDIR", "/tmp")
    return wanted if len(wanted) <= 30 and os.access(wanted, os.W_OK) else "/tmp"


def descendants() -> list[int]:
    """Every living process of the launch (this process is their subreaper)."""
    parent_of, family = dict[int, int](), {os.getpid()}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parent_of[int(entry.name)] = int(parent)
    while more := {pid for pid, parent in parent_of.items() if parent in family} - family:
        family |= more
    return sorted(family - {os.getpid()})


def reap() -> dict[int, int]:
    """Reap the processes that have ended; returns process id to wait status."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended.update([found])
    return ended


def send(pids: list[int], number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def enter() -> None:
    """Move this process into a new network namespace; changes nothing if that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return
        # map the same user id: the ranks' files and shared memory keep their owner
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="utf-8")
    any_socket = libc.socket(AF_INET, SOCK_DGRAM, 0)  # the module `socket` takes as long to import as all of this
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    os.close(any_socket)


def become(command: list[str], parent: int, cpu_s: int, alone: bool) -> NoReturn:
    """Replace this process by a command that ends with its parent; ``cpu_s`` s of processor time a process, or 0."""
    try:
        if alone:
            enter()
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # the kernel clears it when the user namespace changes
        if os.getppid() != parent:
            os._exit(125)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        if cpu_s:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # SIGXCPU would leave one
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def watch(leader: int, grace_s: float) -> int:
    """Wait for ``mpiexec``; on a request to stop, end it by SIGTERM, then by SIGKILL. Returns its wait status."""
    force_at = 0.0
    while True:
        ended = reap()
        if leader in ended:
            return ended[leader]
        info = signal.sigtimedwait(WATCHED, max(0.0, force_at - time.monotonic()) if force_at else 3600.0)
        if info is not None and info.si_signo != signal.SIGCHLD and not force_at:
            force_at = time.monotonic() + grace_s
            send([leader], signal.SIGTERM)
        if force_at and time.monotonic() >= force_at:
            send(descendants(), signal.SIGKILL)


def clear(patience_s: float) -> None:
    """End whatever ``mpiexec`` left running, and wait until it has ended."""
    # after a regular end, a daemon has some milliseconds to exit by itself
    polite_until = time.monotonic() + patience_s
    while True:
        reap()
        left = descendants()
        if not left or time.monotonic() > polite_until + 10.0:
            return
        if time.monotonic() > polite_until:
            send(left, signal.SIGKILL)
        time.sleep(0.005)


def open_files() -> set[tuple[int, int]]:
    """Device and inode of each file in the places of :data:`LEFT_BEHIND` that a visible process has open or mapped."""
    found: set[tuple[int, int]] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for line in (entry / "maps").read_text(errors="replace").splitlines():
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].startswith(PLACES):
                    major, minor = fields[3].split(":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
            for handle in (entry / "fd").iterdir():
                if str(handle.readlink()).startswith(PLACES):
                    status = handle.stat()
                    found.add((status.st_dev, status.st_ino))
    return found


def lying(patterns: tuple[str, ...] = LEFT_BEHIND) -> set[Found]:
    """Regular files of this user in the places where ranks leave some, by name and identity."""
    found: set[Found] = set()
    for path in (path for pattern in patterns for path in Path("/").glob(pattern[1:])):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                found.add((path, status.st_dev, status.st_ino))
    return found


def sweep(before: set[Found], patterns: tuple[str, ...] = LEFT_BEHIND) -> None:
    """Remove files of this user that killed ranks left elsewhere: by inode not there ``before``, and not in use."""
    # listed before the check for users: files that another job makes in between are not on the list
    candidates = lying(patterns) - before
    used = open_files() if candidates else set[tuple[int, int]]()
    for path, device, inode in candidates:
        if (device, inode) not in used:
            with suppress(OSError):  # immutable or read-only: not a reason to fail
                path.unlink(missing_ok=True)


def take_lock(path: str) -> int:
    """Take the folder's launch lock, waiting for an earlier keeper to end, and remove what a killed one left."""
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=place)
    os.close(place)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise OSError(errno.EINVAL, "not a regular file with one link: remove it", path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP):  # a file system without locks
            raise
    if left := left_by(os.pread(handle, 4096, 0).decode(errors="replace"), handle):
        sweep(set(), (*noted(left), SEMAPHORES))
        shutil.rmtree(left, ignore_errors=True)
    return handle


def session_prefix(lock: int) -> str:
    """Prefix of the session directories of this lock file; unique, so that no other directory is mistaken for ours."""
    status = os.fstat(lock)
    return f"{PREFIX}{zlib.crc32(f'{status.st_dev}:{status.st_ino}'.encode()) & 0xFFFFFF:06x}"


def ticks(pid: int) -> str:
    """When a living process was started, in clock ticks since boot (proc(5), stat); empty if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def left_by(text: str, lock: int) -> str:
    """The session directory that a dead holder of this lock file left; empty if there is none, or it is another one."""
    words = text.rstrip().split(" ", 3)
    if len(words) < 4 or not words[0].isdecimal():
        return ""
    session = Path(words[3])
    if str(session.parent) not in {"/tmp", temporary_base()} or not session.name.startswith(session_prefix(lock)):
        return ""
    try:
        status = session.lstat()
    except (OSError, ValueError):
        return ""
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    # a holder without the lock lives where somebody has moved the file, or where a file system knows no locks
    lives = ticks(int(words[0])) == words[1]
    return words[3] if is_ours and not lives and f"{status.st_dev}:{status.st_ino}" == words[2] else ""


def noted(session: str) -> list[str]:
    """Patterns of the shared-memory files that the ranks of a session recorded as theirs."""
    try:
        handle = os.open(f"{session}/{SHARED}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return []
    with os.fdopen(handle, errors="replace") as file:
        names = set(file.read(SHARED_MOST).splitlines())
    return [f"/dev/shm/{glob.escape(name)}" for name in sorted(names) if name.strip(".") and "/" not in name]


def note(lock: int, text: str) -> None:
    """Replace the holder in the launch lock; always the same number of bytes, so that it works on a full disk."""
    if os.pwrite(lock, text.encode().ljust(NOTE_BYTES), 0) < NOTE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def leave(status: int) -> int:
    """Exit as ``mpiexec`` did: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    return os.waitstatus_to_exitcode(status) & 0xFF


def main() -> int:
    """Keep the launch that the first argument describes (JSON: command, lock, parent, grace_s, cpu_s, alone)."""
    order = json.loads(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != order["parent"]:
        return 125
    lock = take_lock(order["lock"])
    before = lying()
    # Open MPI and MPICH put sockets and session directories there; a killed one does not clean up
    temporary = tempfile.mkdtemp(prefix=session_prefix(lock), dir=temporary_base())
    os.environ["TMPDIR"] = temporary
    try:
        # the holder: process, its start, and the session directory with its device and inode
        session = Path(temporary).lstat()
        note(lock, f"{os.getpid()} {ticks(os.getpid())} {session.st_dev}:{session.st_ino} {temporary}\n")
        keeper = os.getpid()
        if not (pid := os.fork()):
            become(order["command"], keeper, order.get("cpu_s", 0), order.get("alone", False))
        status = watch(pid, order["grace_s"])
        clean = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
        clear(patience_s=1.0 if clean else 0.1)
        if not clean:
            sweep(before)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    note(lock, "")
    return leave(status)


if __name__ == "__main__":
    if sys.argv[1] == "alone":
        become(sys.argv[2:], os.getppid(), 0, alone=True)
    try:
        sys.exit(main())
    except OSError as problem:  # a full disk, no room for processes: one line for the launch's log
        sys.exit(f"weft cannot keep this launch: {problem}")
