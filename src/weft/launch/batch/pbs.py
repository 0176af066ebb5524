# SPDX-License-Identifier: BSD-3-Clause
"""PBS Pro and OpenPBS: written from their manuals, tested only against reference scripts."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, listed_once, look, told
from weft.launch.launcher import LaunchRequest

STATES = {"Q": JobState.PENDING, "H": JobState.PENDING, "W": JobState.PENDING, "T": JobState.PENDING,
          "R": JobState.RUNNING, "E": JobState.RUNNING, "S": JobState.RUNNING, "B": JobState.RUNNING}  # fmt: skip

DELETED = "91"  # the substate of a job that qdel ended


class Pbs:
    """The adapter for PBS."""

    name = "pbs"
    commands = ("qsub", "qstat", "qdel")
    command_prefixes = ("PBS_",)

    def submit(self, script: Path) -> str:
        """Submit with qsub, which prints the id."""
        return ask(self, ["qsub", str(script)]).strip()

    def state(self, job: str) -> JobState:
        """Query qstat; a job that it no longer lists has ended."""
        printed = look(self, ["qstat", "-f", job], "unknown job id|has finished")
        return JobState.UNKNOWN if printed is None else STATES.get(attribute(printed, "job_state"), JobState.ENDED)

    def was_cancelled(self, job: str) -> bool:
        """Ask qstat for the substate, which is 91 after qdel; the exit status is the same as at the time limit."""
        return attribute(told(self, ["qstat", "-x", "-f", job]), "substate") == DELETED

    def reason(self, job: str) -> str:
        """Ask qstat for the comment and the exit status, also of a job that has ended."""
        shown = told(self, ["qstat", "-x", "-f", job])
        status = attribute(shown, "Exit_status")
        words = (attribute(shown, "comment"), f"exit status {status}" if status not in ("", "0") else "")
        return ", ".join(word for word in words if word)

    def cancel(self, job: str) -> None:
        """Cancel the job with qdel."""
        ask(self, ["qdel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job that weft was started in."""
        return os.environ.get("PBS_JOBID")

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that PBS gives the job, one line for each of its parts."""
        path = os.environ.get("PBS_NODEFILE", "")
        return listed_once(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else ()

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Raise LaunchError: PBS has no starter of its own that every MPI library supports."""
        raise LaunchError("PBS has no starter of ranks", 'set [batch] starter = "mpiexec"')


def attribute(shown: str, name: str) -> str:
    """Value of an attribute in what ``qstat -f`` shows, which goes on in lines that begin with a tab."""
    joined = re.sub(r"\n\t", "", shown)
    found = re.search(rf"^[ ]*{name} = (.*)$", joined, re.MULTILINE)
    return found[1].strip() if found else ""
