# SPDX-License-Identifier: BSD-3-Clause
"""IBM Spectrum LSF: written from its manuals, proven by golden scripts only."""

import os
import re
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import LaunchRequest

STATES = {"PEND": JobState.PENDING, "PSUSP": JobState.PENDING, "WAIT": JobState.PENDING,
          "RUN": JobState.RUNNING, "USUSP": JobState.RUNNING, "SSUSP": JobState.RUNNING}  # fmt: skip


class Lsf:
    """LSF by its own commands."""

    name = "lsf"
    command_prefixes = ("LSB_SUB_",)

    def submit(self, script: Path) -> str:
        """Submit by bsub, which prints ``Job <123> is submitted``."""
        printed = ask(self, ["bsub", str(script)])
        found = re.search(r"Job <(\d+)>", printed)
        if not found:
            said = printed.strip()
            raise LaunchError(f"bsub printed {said!r} where a job id was expected", f"submit by hand: bsub {script}")
        return found[1]

    def state(self, job: str) -> JobState:
        """Ask bjobs; a job it does not know any more has ended."""
        printed = look(self, ["bjobs", "-noheader", "-o", "stat", job], "is not found")
        return JobState.UNKNOWN if printed is None else STATES.get(printed.strip(), JobState.ENDED)

    def cancel(self, job: str) -> None:
        """End the job by bkill."""
        ask(self, ["bkill", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job that weft was started in."""
        return os.environ.get("LSB_JOBID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """LSF has no starter of its own that every MPI accepts."""
        raise LaunchError('LSF starts no ranks by itself, and [batch] says starter = "srun"', 'set starter = "mpiexec"')
