# SPDX-License-Identifier: BSD-3-Clause
"""All batch schedulers, and their table by kind of fabric: a new scheduler is a class and a line of the table here.

Slurm is tested against a real one (tests/slurm); the others, written from manuals, against reference scripts alone.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from weft.errors import LaunchError
from weft.fabric.nodeset import expand, fold
from weft.launch.batch.scheduler import JobState, Scheduler, listed_once
from weft.launch.launcher import CYCLIC, LaunchRequest


class Slurm(Scheduler):
    """The adapter for Slurm; tested against a real one (tests/slurm)."""

    name = "slurm"
    commands = ("sbatch", "squeue", "scancel", "srun")
    command_prefixes = ("SBATCH_", "SALLOC_", "SRUN_")
    job_variable = "SLURM_JOB_ID"
    asking = ("squeue", "--noheader", "--format", "%t", "--jobs")
    forgotten = "invalid job id"
    states: Mapping[str, JobState] = {
        **dict.fromkeys(("PD", "CF", "RQ", "RS", "RH", "SE", "SO", "RD", "RF"), JobState.PENDING),
        **dict.fromkeys(("R", "CG", "S", "ST", "SI"), JobState.RUNNING),
    }
    cancelling = ("scancel",)

    def submit(self, script: Path) -> str:
        """Submit with sbatch, whose ``--parsable`` prints ``id`` or ``id;cluster``; LaunchError if it prints no id."""
        printed = self.ask(["sbatch", "--parsable", str(script)]).strip()
        job = printed.partition(";")[0]
        if not job.isdigit():
            raise LaunchError(f"sbatch printed {printed!r} instead of a job id", f"submit by hand: sbatch {script}")
        return job

    def was_cancelled(self, job: str) -> bool:
        """Ask scontrol, which knows a job for some minutes after its end, then the accounting."""
        shown = self.look(["scontrol", "show", "job", job], "invalid job id")
        if shown and (found := re.search(r"\bJobState=(\w+)", shown)):
            return found[1] == "CANCELLED"
        listed = self.look(["sacct", "--noheader", "--allocations", "--format=State", f"--jobs={job}"], "disabled")
        return bool(listed) and listed.split()[:1] == ["CANCELLED"]

    def reason(self, job: str) -> str:
        """Ask scontrol, then the accounting, which also knows a job that scontrol has forgotten."""
        shown = self.output(["scontrol", "show", "job", job])
        if found := re.search(r"\bJobState=(\S+)(?:\s+Reason=(\S+))?", shown):
            why = found[2] if found[2] not in (None, "None", "(null)") else ""
            code = re.search(r"\bExitCode=(\d+):(\d+)", shown)
            ended = f"exit code {code[1]}" if code and code[1] != "0" else ""
            return ", ".join(word for word in (found[1], why, ended) if word)
        listed = self.output(["sacct", "--noheader", "--allocations", "--format=State%40,ExitCode", f"--jobs={job}"])
        return " ".join(listed.split())

    def allocated_nodes(self) -> Sequence[str]:
        given = os.environ.get("SLURM_JOB_NODELIST", "")
        return expand(given) if given else ()

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        binding = ["--overcommit", "--cpu-bind=none"] if request.oversubscribed else ["--cpu-bind=cores"]
        return [
            *("srun", f"--mpi={mpi}", f"--nodes={len(request.nodes)}", f"--ntasks={request.ranks}"),
            *(f"--ntasks-per-node={request.ranks_per_node}", f"--nodelist={fold(request.nodes)}"),
            *(f"--distribution={'cyclic' if request.order == CYCLIC else 'block'}", *binding),
        ]


DELETED = "91"  # the substate of a job that qdel ended


class Pbs(Scheduler):
    """The adapter for PBS Pro and OpenPBS."""

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
        return self.ask(["qsub", str(script)]).strip()

    def state_in(self, printed: str) -> str:
        return attribute(printed, "job_state")

    def was_cancelled(self, job: str) -> bool:
        """Ask qstat for the substate, which is 91 after qdel; the exit status is the same as at the time limit."""
        return attribute(self.output(["qstat", "-x", "-f", job]), "substate") == DELETED

    def reason(self, job: str) -> str:
        shown = self.output(["qstat", "-x", "-f", job])
        status = attribute(shown, "Exit_status")
        words = (attribute(shown, "comment"), f"exit status {status}" if status not in ("", "0") else "")
        return ", ".join(word for word in words if word)

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that PBS gives the job, one line for each of its parts."""
        path = os.environ.get("PBS_NODEFILE", "")
        return listed_once(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else ()


def attribute(shown: str, name: str) -> str:
    """Value of an attribute in what ``qstat -f`` shows, which goes on in lines that begin with a tab."""
    found = re.search(rf"^[ ]*{name} = (.*)$", shown.replace("\n\t", ""), re.MULTILINE)
    return found[1].strip() if found else ""


class Lsf(Scheduler):
    """The adapter for IBM Spectrum LSF."""

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
        said = self.ask(["bsub"], script=script).strip()
        if not (found := re.search(r"Job <(\d+)>", said)):
            raise LaunchError(f"bsub printed {said!r} instead of a job id", f"submit by hand: bsub < {script}")
        return found[1]

    def was_cancelled(self, job: str) -> bool:
        said = self.look(["bjobs", "-noheader", "-o", "exit_reason", job], "is not found")
        return bool(said) and re.search("TERM_(OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN)", said) is not None

    def reason(self, job: str) -> str:
        """Ask bjobs why it waits or ended, then bhist, which also knows a job that bjobs has forgotten."""
        for field in ("pend_reason", "exit_reason"):
            said = " ".join(self.output(["bjobs", "-noheader", "-o", field, job]).split())
            if said.strip("- "):
                return said
        history = re.sub(r"\n {10,}", "", self.output(["bhist", "-l", job]))
        ends = re.findall(r": ((?:Exited|Completed|Termination request|TERM_)[^;\n]*)", history)
        return ends[-1].strip() if ends else ""

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the file that LSF gives the job, one line for each slot; else of names and numbers of slots."""
        path = os.environ.get("LSB_DJOB_HOSTFILE", "")
        if path and Path(path).is_file():
            return listed_once(Path(path).read_text(encoding="utf-8"))
        return listed_once(" ".join(os.environ.get("LSB_MCPU_HOSTS", "").split()[::2]))


class Flux(Scheduler):
    """The adapter for Flux."""

    name = "flux"
    commands = ("flux",)
    command_prefixes = ("FLUX_BATCH_",)
    job_variable = "FLUX_JOB_ID"
    asking = ("flux", "jobs", "--no-header", "--format={state}")
    forgotten = "unknown|not found|invalid"
    states: Mapping[str, JobState] = {
        **dict.fromkeys(("DEPEND", "PRIORITY", "SCHED"), JobState.PENDING),
        **dict.fromkeys(("RUN", "CLEANUP"), JobState.RUNNING),
    }
    cancelling = ("flux", "cancel")

    def submit(self, script: Path) -> str:
        return self.ask(["flux", "batch", str(script)]).strip()

    def was_cancelled(self, job: str) -> bool:
        said = self.look(["flux", "jobs", "--no-header", "--format={result}", job], self.forgotten)
        return (said or "").strip() == "CANCELED"

    def reason(self, job: str) -> str:
        """Read the job's event log: the last exception, else what it waits for."""
        name, why = "", ""
        for line in self.output(["flux", "job", "info", job, "eventlog"]).splitlines():  # an object each
            try:
                event = json.loads(line)
                name = str(event["name"])
                if name == "exception":
                    why = f"{event['context'].get('type', '')}: {event['context'].get('note', '')}".strip(": ")
                elif name == "finish" and not why and event["context"].get("status"):
                    why = f"wait status {event['context']['status']}"
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return why or (f"waits {WAITS[name]}" if name in WAITS else "")

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the instance that weft was started in, if that is a job."""
        if not self.allocation():
            return ()
        asked = ["flux", "resource", "list", "--states=free,allocated", "--no-header", "--format={nodelist}"]
        return [name for line in listed_once(self.output(asked)) for name in expand(line)]

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        return [
            "flux", "run", f"--nodes={len(request.nodes)}", f"--ntasks={request.ranks}",
            f"--requires=hosts:{fold(request.nodes)}", "-o", f"pmi={mpi}",
            *(["-o", "cpu-affinity=off"] if request.oversubscribed else ["-o", "cpu-affinity=per-task"]),
            *(["--taskmap=cyclic"] if request.order == "cyclic" else []),
        ]  # fmt: skip


WAITS = {"submit": "for its dependencies", "validate": "for its dependencies", "depend": "for its priority",
         "priority": "for resources"}  # fmt: skip
SCHEDULERS: dict[str, Callable[[], Scheduler]] = {"slurm": Slurm, "pbs": Pbs, "lsf": Lsf, "flux": Flux}


def allocated_nodes(kind: str, known: Set[str]) -> list[str]:
    """The known nodes of the job that this process runs in, by names with or without domain; empty outside of one."""
    given = SCHEDULERS[kind]().allocated_nodes() if kind in SCHEDULERS else ()
    names = (each if each in known else each.partition(".")[0] for each in given)
    return [name for name in names if name in known]
