# SPDX-License-Identifier: BSD-3-Clause
"""PBS Pro and OpenPBS: written from their manuals, tested only against reference scripts."""

import os
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import LaunchRequest

STATES = {"Q": JobState.PENDING, "H": JobState.PENDING, "W": JobState.PENDING, "T": JobState.PENDING,
          "R": JobState.RUNNING, "E": JobState.RUNNING, "S": JobState.RUNNING, "B": JobState.RUNNING}  # fmt: skip


class Pbs:
    """The adapter for PBS."""

    name = "pbs"
    command_prefixes = ("PBS_",)

    def submit(self, script: Path) -> str:
        """Submit with qsub, which prints the id."""
        return ask(self, ["qsub", str(script)]).strip()

    def state(self, job: str) -> JobState:
        """Query qstat; a job that it no longer lists has ended."""
        printed = look(self, ["qstat", "-f", job], "unknown job id|has finished")
        if printed is None:
            return JobState.UNKNOWN
        for line in printed.splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "job_state":
                return STATES.get(value.strip(), JobState.ENDED)
        return JobState.ENDED

    def was_cancelled(self, job: str) -> bool:
        """Never: qdel and the time limit end a job with the same exit status."""
        return False

    def cancel(self, job: str) -> None:
        """Cancel the job with qdel."""
        ask(self, ["qdel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job that weft was started in."""
        return os.environ.get("PBS_JOBID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Raise LaunchError: PBS has no starter of its own that every MPI library supports."""
        raise LaunchError('PBS cannot start ranks, but [batch] has starter = "srun"', 'set starter = "mpiexec"')
