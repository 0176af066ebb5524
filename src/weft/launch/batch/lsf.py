# SPDX-License-Identifier: BSD-3-Clause
"""IBM Spectrum LSF: written from its manuals, tested only against reference scripts."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, Scheduler, ask, listed_once, look, output


class Lsf(Scheduler):
    """The adapter for LSF."""

    name = "lsf"
    commands = ("bsub", "bjobs", "bkill")
    command_prefixes = ("LSB_SUB_",)
    job_variable = "LSB_JOBID"
    asking = ("bjobs", "-noheader", "-o", "stat")
    forgotten = "is not found"
    states: Mapping[str, JobState] = {
        **dict.fromkeys(("PEND", "PSUSP", "WAIT"), JobState.PENDING),
        **dict.fromkeys(("RUN", "USUSP", "SSUSP"), JobState.RUNNING),
    }
    cancelling = ("bkill",)

    def submit(self, script: Path) -> str:
        """Submit by standard input: of a file bsub may not read ``#BSUB``. LaunchError if it prints no id."""
        printed = ask(self, ["bsub"], script=script)
        found = re.search(r"Job <(\d+)>", printed)
        if not found:
            said = printed.strip()
            raise LaunchError(f"bsub printed {said!r} instead of a job id", f"submit by hand: bsub < {script}")
        return found[1]

    def was_cancelled(self, job: str) -> bool:
        """Ask bjobs for the reason of the end: its owner, or an administrator."""
        said = look(self, ["bjobs", "-noheader", "-o", "exit_reason", job], "is not found")
        return bool(said) and re.search("TERM_(OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN)", said) is not None

    def reason(self, job: str) -> str:
        """Ask bjobs why it waits or ended, then bhist, which also knows a job that bjobs has forgotten."""
        for field in ("pend_reason", "exit_reason"):
            said = " ".join(output(self, ["bjobs", "-noheader", "-o", field, job]).split())
            if said.strip("- "):
                return said
        history = re.sub(r"\n {10,}", "", output(self, ["bhist", "-l", job]))
        ends = re.findall(r": ((?:Exited|Completed|Termination request|TERM_)[^;\n]*)", history)
        return ends[-1].strip() if ends else ""

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that LSF gives the job, one line for each slot; else of names and numbers of slots."""
        path = os.environ.get("LSB_DJOB_HOSTFILE", "")
        if path and Path(path).is_file():
            return listed_once(Path(path).read_text(encoding="utf-8"))
        return listed_once(" ".join(os.environ.get("LSB_MCPU_HOSTS", "").split()[::2]))
