# SPDX-License-Identifier: BSD-3-Clause
"""Slurm."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.errors import LaunchError
from weft.fabric.nodeset import expand, fold
from weft.launch.batch.scheduler import JobState, Scheduler, ask, look, output
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
        printed = ask(self, ["sbatch", "--parsable", str(script)]).strip()
        job = printed.partition(";")[0]
        if not job.isdigit():
            what = f"sbatch printed {printed!r} instead of a job id"
            raise LaunchError(what, f"submit by hand: sbatch {script}")
        return job

    def was_cancelled(self, job: str) -> bool:
        """Ask scontrol, which knows a job for some minutes after its end, then the accounting."""
        shown = look(self, ["scontrol", "show", "job", job], "invalid job id")
        if shown and (found := re.search(r"\bJobState=(\w+)", shown)):
            return found[1] == "CANCELLED"
        listed = look(self, ["sacct", "--noheader", "--allocations", "--format=State", f"--jobs={job}"], "disabled")
        return bool(listed) and listed.split()[:1] == ["CANCELLED"]

    def reason(self, job: str) -> str:
        """Ask scontrol, then the accounting, which also knows a job that scontrol has forgotten."""
        shown = output(self, ["scontrol", "show", "job", job])
        if found := re.search(r"\bJobState=(\S+)(?:\s+Reason=(\S+))?", shown):
            why = found[2] if found[2] not in (None, "None", "(null)") else ""
            code = re.search(r"\bExitCode=(\d+):(\d+)", shown)
            ended = f"exit code {code[1]}" if code and code[1] != "0" else ""
            return ", ".join(word for word in (found[1], why, ended) if word)
        listed = output(self, ["sacct", "--noheader", "--allocations", "--format=State%40,ExitCode", f"--jobs={job}"])
        return " ".join(listed.split())

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the allocation."""
        given = os.environ.get("SLURM_JOB_NODELIST", "")
        return expand(given) if given else ()

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start ranks with srun, on the nodes by name, with ranks bound to cores if there are enough."""
        nodes = len(request.nodes)
        return [
            "srun",
            f"--mpi={mpi}",
            f"--nodes={nodes}",
            f"--ntasks={request.ranks}",
            f"--ntasks-per-node={request.ranks_per_node}",
            f"--nodelist={fold(request.nodes)}",
            f"--distribution={'cyclic' if request.order == CYCLIC else 'block'}",
            *(["--overcommit", "--cpu-bind=none"] if request.oversubscribed else ["--cpu-bind=cores"]),
        ]
