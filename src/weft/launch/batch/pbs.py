# SPDX-License-Identifier: BSD-3-Clause
"""PBS Pro and OpenPBS: written from their manuals, tested only against reference scripts."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.launch.batch.scheduler import JobState, Scheduler, ask, listed_once, output

DELETED = "91"  # the substate of a job that qdel ended


class Pbs(Scheduler):
    """The adapter for PBS."""

    name = "pbs"
    commands = ("qsub", "qstat", "qdel")
    command_prefixes = ("PBS_",)
    job_variable = "PBS_JOBID"
    asking = ("qstat", "-f")
    forgotten = "unknown job id|has finished"
    states: Mapping[str, JobState] = {
        **dict.fromkeys("QHWT", JobState.PENDING), **dict.fromkeys("RESB", JobState.RUNNING),
    }  # fmt: skip
    cancelling = ("qdel",)

    def submit(self, script: Path) -> str:
        """Submit with qsub, which prints the id."""
        return ask(self, ["qsub", str(script)]).strip()

    def state_in(self, printed: str) -> str:
        """The job's attribute."""
        return attribute(printed, "job_state")

    def was_cancelled(self, job: str) -> bool:
        """Ask qstat for the substate, which is 91 after qdel; the exit status is the same as at the time limit."""
        return attribute(output(self, ["qstat", "-x", "-f", job]), "substate") == DELETED

    def reason(self, job: str) -> str:
        """Ask qstat for the comment and the exit status, also of a job that has ended."""
        shown = output(self, ["qstat", "-x", "-f", job])
        status = attribute(shown, "Exit_status")
        words = (attribute(shown, "comment"), f"exit status {status}" if status not in ("", "0") else "")
        return ", ".join(word for word in words if word)

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that PBS gives the job, one line for each of its parts."""
        path = os.environ.get("PBS_NODEFILE", "")
        return listed_once(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else ()


def attribute(shown: str, name: str) -> str:
    """Value of an attribute in what ``qstat -f`` shows, which goes on in lines that begin with a tab."""
    joined = re.sub(r"\n\t", "", shown)
    found = re.search(rf"^[ ]*{name} = (.*)$", joined, re.MULTILINE)
    return found[1].strip() if found else ""
