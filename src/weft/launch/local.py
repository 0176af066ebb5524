# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on this host: ``mpiexec`` of whatever MPI the kernels were built for, one launch at a time.

Starts a command in a network namespace with only a loopback interface, if the system allows it.

The starters of Open MPI 4 and 5 and of MPICH listen on every interface of a host, even for ranks on that host only,
and have no setting against it (open-mpi/ompi issue 14441; hydra binds to any address). In a network namespace with
loopback only there is nothing else to listen on. Without permission for namespaces the command starts unchanged.

Run by path with ``python -I -S``; it imports only the standard library, and replaces itself by the command.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.files.atomic import file_errors, own_file
from weft.launch.build import Kernels, build_kernels
from weft.launch.launcher import LaunchRequest, Outcome
from weft.mpi.library import find_mpi
from weft.mpi.quick_start import settings_without_delay
from weft.mpi.starting import cores_here, family_of
from weft.plan.wire import Rules

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter() -> bool:
    """Move this process into a new network namespace; returns False, and changes nothing, if that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        # map the same user id: the ranks' files and shared memory keep their owner
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="utf-8")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return True


def main() -> int:
    """Enter the namespace, and replace this process by the command in the arguments."""
    parent = os.getppid()
    enter()
    # the kernel clears it when the user namespace changes
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return 125
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main())


KEEPER = Path(__file__).with_name("keeper.py")
LOOPBACK = Path(__file__).with_name("loopback.py")
GRACE_S = 5.0  # seconds that ``mpiexec`` has to end its ranks after SIGTERM

# Inside a job the starters would use its hosts, and ranks with variables of another starter hang in MPI_Init.
FOREIGN = ("SLURM_", "PBS_", "LSB_", "FLUX_", "PMI_", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER", "OMPI_COMM_WORLD_")


class LocalLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` on this host."""

    rules = Rules()

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.family = family_of(kernels.library)
        self.mpiexec = kernels.mpi.mpiexec()
        self.cores = cores_here()
        self.quick = settings_without_delay(kernels.library, self.mpiexec, os.environ)

    def provenance(self) -> dict[str, Any]:
        """Describe the library, its origin, its starter, what it starts without, and the kernels."""
        return {
            **self.kernels.about(),
            "launcher": "local",
            "mpiexec": str(self.mpiexec),
            **({"left_out": self.quick} if self.quick else {}),
        }

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request and wait for it. No process is left behind to disturb the next request."""
        for request in requests:
            yield self._run_one(request)

    def command(self, request: LaunchRequest) -> list[str]:
        """The command line that starts the ranks of a request."""
        program = [str(self.kernels.program), str(request.plan)]
        return self.family.command(self.mpiexec, request.ranks, request.oversubscribed, self.cores, program)

    def environment(self, request: LaunchRequest) -> dict[str, str]:
        """Variables of the ranks: Weft's, overridden by the user's, overridden by the request's."""
        own = {**self.family.environment(request.oversubscribed), **self.quick}
        environment = {**own, **without_job(os.environ)}
        if self.kernels.settings:
            environment["WEFT_DEFAULT_SETTINGS"] = str(self.kernels.settings)
        return {**environment, **request.environment}

    def _run_one(self, request: LaunchRequest) -> Outcome:
        began = time.monotonic()
        timed_out = False
        alone = [sys.executable, "-I", "-S", str(LOOPBACK), *self.command(request)]
        with kept(alone, self.environment(request), request.log, request.folder) as keeper:
            try:
                keeper.wait(request.limit_s or None)
            except subprocess.TimeoutExpired:
                timed_out = True
        return Outcome(request.id, keeper.returncode, time.monotonic() - began, timed_out, request.log)


@contextmanager
def kept(
    command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path
) -> Generator[subprocess.Popen[bytes]]:
    """Start a command under a keeper (see ``keeper.py``); at the end of the block none of its processes is left."""
    order = {
        "command": list(command),
        "lock": str(folder / "launches" / "lock"),
        "parent": os.getpid(),
        "grace_s": GRACE_S,
    }
    with file_errors(log):
        out = own_file(log)
    with out:
        # a separate session: Ctrl-C in the terminal reaches only Weft, which then ends the ranks in order
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), json.dumps(order)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(environment), cwd=folder, start_new_session=True,
        )  # fmt: skip
    try:
        yield keeper
    finally:
        end(keeper)


def end(keeper: subprocess.Popen[bytes]) -> None:
    """Ask a keeper to end its launch, if it still runs, and wait for it; kill it if that takes too long."""
    if keeper.poll() is not None:
        return
    keeper.terminate()
    try:
        keeper.wait(GRACE_S + 12.0)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if keeper.poll() is None:
            # also after a second Ctrl-C; mpiexec still gets its signal when the keeper dies
            keeper.kill()
            keeper.wait()


def without_job(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those by which a scheduler or another starter describes its job."""
    return {name: value for name, value in environment.items() if not name.startswith(FOREIGN)}


def make_launcher(fabric: Any, mpicxx: str | None, say: Callable[[str], None]) -> LocalLauncher:
    """Find the MPI, build the kernels if needed, and return the launcher for this host."""
    return LocalLauncher(build_kernels(find_mpi(mpicxx), say))
