# SPDX-License-Identifier: BSD-3-Clause
"""IBM Spectrum LSF: written from its manuals, tested only against reference scripts."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, listed_once, look, told
from weft.launch.launcher import LaunchRequest

STATES = {"PEND": JobState.PENDING, "PSUSP": JobState.PENDING, "WAIT": JobState.PENDING,
          "RUN": JobState.RUNNING, "USUSP": JobState.RUNNING, "SSUSP": JobState.RUNNING}  # fmt: skip


class Lsf:
    """The adapter for LSF."""

    name = "lsf"
    commands = ("bsub", "bjobs", "bkill")
    command_prefixes = ("LSB_SUB_",)

    def submit(self, script: Path) -> str:
        """Submit by standard input: of a file bsub may not read ``#BSUB``. LaunchError if it prints no id."""
        printed = ask(self, ["bsub"], script=script)
        found = re.search(r"Job <(\d+)>", printed)
        if not found:
            said = printed.strip()
            raise LaunchError(f"bsub printed {said!r} instead of a job id", f"submit by hand: bsub < {script}")
        return found[1]

    def state(self, job: str) -> JobState:
        """Query bjobs; a job that it no longer lists has ended."""
        printed = look(self, ["bjobs", "-noheader", "-o", "stat", job], "is not found")
        return JobState.UNKNOWN if printed is None else STATES.get(printed.strip(), JobState.ENDED)

    def was_cancelled(self, job: str) -> bool:
        """Ask bjobs for the reason of the end: its owner, or an administrator."""
        said = look(self, ["bjobs", "-noheader", "-o", "exit_reason", job], "is not found")
        return bool(said) and re.search("TERM_(OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN)", said) is not None

    def reason(self, job: str) -> str:
        """Ask bjobs why it waits or ended, then bhist, which also knows a job that bjobs has forgotten."""
        for field in ("pend_reason", "exit_reason"):
            said = " ".join(told(self, ["bjobs", "-noheader", "-o", field, job]).split())
            if said.strip("- "):
                return said
        history = re.sub(r"\n {10,}", "", told(self, ["bhist", "-l", job]))
        ends = re.findall(r": ((?:Exited|Completed|Termination request|TERM_)[^;\n]*)", history)
        return ends[-1].strip() if ends else ""

    def cancel(self, job: str) -> None:
        """Cancel the job with bkill."""
        ask(self, ["bkill", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job that weft was started in."""
        return os.environ.get("LSB_JOBID")

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that LSF gives the job, one line for each slot; else of names and numbers of slots."""
        path = os.environ.get("LSB_DJOB_HOSTFILE", "")
        if path and Path(path).is_file():
            return listed_once(Path(path).read_text(encoding="utf-8"))
        return listed_once(" ".join(os.environ.get("LSB_MCPU_HOSTS", "").split()[::2]))

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Raise LaunchError: LSF has no starter of its own that every MPI library supports."""
        raise LaunchError("LSF has no starter of ranks", 'set [batch] starter = "mpiexec"')
