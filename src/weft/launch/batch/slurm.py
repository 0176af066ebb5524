# SPDX-License-Identifier: BSD-3-Clause
"""Slurm."""

import os
from pathlib import Path

from weft.errors import LaunchError
from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import CYCLIC, LaunchRequest

# squeue's compact states of a job that may still run
PENDING = {"PD", "CF", "RQ", "RS", "RH", "SE", "SO", "RD", "RF"}
RUNNING = {"R", "CG", "S", "ST", "SI"}


class Slurm:
    """Slurm by its own commands; tested against a real one (tests/slurm)."""

    name = "slurm"
    command_prefixes = ("SBATCH_", "SALLOC_", "SRUN_")

    def submit(self, script: Path) -> str:
        """Submit by sbatch; ``--parsable`` prints ``id`` or ``id;cluster``."""
        printed = ask(self, ["sbatch", "--parsable", str(script)]).strip()
        job = printed.partition(";")[0]
        if not job.isdigit():
            what = f"sbatch printed {printed!r} where a job id was expected"
            raise LaunchError(what, f"submit by hand: sbatch {script}")
        return job

    def state(self, job: str) -> JobState:
        """Ask squeue; a job it does not list any more has ended."""
        printed = look(self, ["squeue", "--noheader", "--jobs", job, "--format", "%t"], "invalid job id")
        if printed is None:
            return JobState.UNKNOWN
        code = printed.strip()
        if code in PENDING:
            return JobState.PENDING
        return JobState.RUNNING if code in RUNNING else JobState.ENDED

    def cancel(self, job: str) -> None:
        """End the job by scancel."""
        ask(self, ["scancel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the allocation that weft was started in."""
        return os.environ.get("SLURM_JOB_ID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start by srun, with the nodes by name and the ranks bound to cores where there are enough of them."""
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
