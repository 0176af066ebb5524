# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on this host: ``mpiexec`` of whatever MPI the kernels were built for, one launch at a time."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.files.atomic import file_errors, own_file
from weft.launch.build import Kernels, Say, build_kernels
from weft.launch.launcher import LaunchRequest, Outcome
from weft.mpi.library import find_mpi
from weft.mpi.starting import cores_here, family_of, settings_without_delay
from weft.plan.wire import Rules

KEEPER = Path(__file__).with_name("keeper.py")
Words = Sequence[str]
Variables = Mapping[str, str]
GRACE_S = 5.0  # seconds that ``mpiexec`` has to end its ranks after SIGTERM
# Inside a job the starters would use its hosts, and ranks with variables of another starter hang in MPI_Init.
FOREIGN = ("SLURM_", "PBS_", "LSB_", "FLUX_", "PMI_", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER", "OMPI_COMM_WORLD_")


class LocalLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` on this host."""

    rules = Rules()

    def __init__(self, kernels: Kernels) -> None:
        self.kernels, self.family = kernels, family_of(kernels.library)
        self.mpiexec, self.cores = kernels.mpi.mpiexec(), cores_here()
        self.quick = settings_without_delay(kernels.library, self.mpiexec, os.environ)

    def provenance(self) -> dict[str, Any]:
        """Describe the library, its origin, its starter, what it starts without, and the kernels."""
        own = {"launcher": "local", "mpiexec": str(self.mpiexec)}
        return {**self.kernels.about(), **own, **({"left_out": self.quick} if self.quick else {})}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request and wait for it. No process is left behind to disturb the next request."""
        for request in requests:
            yield run_kept(self.command(request), self.environment(request), request, alone=True)

    def command(self, request: LaunchRequest) -> list[str]:
        """The command line that starts the ranks of a request."""
        program = [str(self.kernels.program), str(request.plan)]
        return self.family.command(self.mpiexec, request.ranks, request.oversubscribed, self.cores, program)

    def environment(self, request: LaunchRequest) -> dict[str, str]:
        """Variables of the ranks: Weft's, overridden by the user's, overridden by the request's."""
        own = {**self.family.environment(request.oversubscribed), **self.quick, **without_job(os.environ)}
        return {**own, **self.kernels.variables, **request.environment}


def run_kept(command: Words, env: Variables, request: LaunchRequest, alone: bool = False) -> Outcome:
    """Run the command of a launch under a keeper to its end, or to the end of its time; ``alone``: on loopback only."""
    began = time.monotonic()
    with kept(command, env, request.log, request.folder, alone=alone) as keeper:
        timed_out = not _ends_within(keeper, request.limit_s or None)
    return Outcome(request.id, keeper.returncode, time.monotonic() - began, timed_out, request.log)


def _ends_within(process: subprocess.Popen[bytes], most_s: float | None) -> bool:
    """Whether a process ends in time; returns as it ends, where `Popen.wait` looks each 50 ms."""
    with suppress(OSError), os.fdopen(os.pidfd_open(process.pid)) as handle:  # from Linux 5.3 on
        looked = select.poll()
        looked.register(handle, select.POLLIN)
        looked.poll(None if most_s is None else most_s * 1e3)
        most_s = 0.0
    try:
        process.wait(most_s)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def kept(
    command: Words, env: Variables, log: Path, folder: Path, lock: str = "lock", cpu_s: int = 0, alone: bool = False
) -> Generator[subprocess.Popen[bytes]]:
    """A command under ``keeper.py``, which holds ``launches/LOCK``: none of its processes outlives the block."""
    order = {"command": list(command), "lock": str(folder / "launches" / lock), "parent": os.getpid()}
    order |= {"grace_s": GRACE_S, "cpu_s": cpu_s, "alone": alone}
    with file_errors(log):
        out = own_file(log)
    with out:
        # a separate session: Ctrl-C in the terminal reaches only Weft, which then ends the ranks in order
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), json.dumps(order)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(env), cwd=folder, start_new_session=True,
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
        with suppress(subprocess.TimeoutExpired):
            keeper.wait(GRACE_S + 12.0)
    finally:
        if keeper.poll() is None:
            keeper.kill()  # also after a second Ctrl-C; mpiexec still gets its signal when the keeper dies
            keeper.wait()


def without_job(environment: Variables) -> dict[str, str]:
    """Return the variables without those by which a scheduler or another starter describes its job."""
    return {name: value for name, value in environment.items() if not name.startswith(FOREIGN)}


def make_launcher(fabric: Any, mpicxx: str | None, say: Say, only: str = "") -> LocalLauncher:
    """Find the MPI, build the kernels if needed, and return the launcher for this host."""
    return LocalLauncher(build_kernels(find_mpi(mpicxx), say, only=only))
