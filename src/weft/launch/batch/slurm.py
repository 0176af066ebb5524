# SPDX-License-Identifier: BSD-3-Clause
"""Slurm."""

import os
import re
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import CYCLIC, LaunchRequest

# squeue's short states of a job that may still run
PENDING = {"PD", "CF", "RQ", "RS", "RH", "SE", "SO", "RD", "RF"}
RUNNING = {"R", "CG", "S", "ST", "SI"}


class Slurm:
    """The adapter for Slurm; tested against a real one (tests/slurm)."""

    name = "slurm"
    command_prefixes = ("SBATCH_", "SALLOC_", "SRUN_")

    def submit(self, script: Path) -> str:
        """Submit with sbatch, whose ``--parsable`` prints ``id`` or ``id;cluster``; LaunchError if it prints no id."""
        printed = ask(self, ["sbatch", "--parsable", str(script)]).strip()
        job = printed.partition(";")[0]
        if not job.isdigit():
            what = f"sbatch printed {printed!r} instead of a job id"
            raise LaunchError(what, f"submit by hand: sbatch {script}")
        return job

    def state(self, job: str) -> JobState:
        """Query squeue; a job that it no longer lists has ended."""
        printed = look(self, ["squeue", "--noheader", "--jobs", job, "--format", "%t"], "invalid job id")
        if printed is None:
            return JobState.UNKNOWN
        code = printed.strip()
        if code in PENDING:
            return JobState.PENDING
        return JobState.RUNNING if code in RUNNING else JobState.ENDED

    def was_cancelled(self, job: str) -> bool:
        """Ask scontrol, which knows a job for some minutes after its end, then the accounting."""
        told = look(self, ["scontrol", "show", "job", job], "invalid job id")
        if told and (found := re.search(r"\bJobState=(\w+)", told)):
            return found[1] == "CANCELLED"
        told = look(self, ["sacct", "--noheader", "--allocations", "--format=State", f"--jobs={job}"], "disabled")
        return bool(told) and told.split()[:1] == ["CANCELLED"]

    def cancel(self, job: str) -> None:
        """Cancel the job with scancel."""
        ask(self, ["scancel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the allocation that weft was started in."""
        return os.environ.get("SLURM_JOB_ID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start ranks with srun, on the nodes by name, with ranks bound to cores if there are enough."""
        nodes = len(request.nodes)
        return [
            "srun",
            f"--mpi={mpi}",
            f"--nodes={nodes}",
            f"--ntasks={request.ranks}",
            f"--ntasks-per-node={request.ranks_per_node}",
            f"--nodelist={','.join(request.nodes)}",
            f"--distribution={'cyclic' if request.order == CYCLIC else 'block'}",
            *(["--overcommit", "--cpu-bind=none"] if request.oversubscribed else ["--cpu-bind=cores"]),
        ]
