# SPDX-License-Identifier: BSD-3-Clause
"""Flux: written from its manuals, proven by golden scripts only."""

import os
from pathlib import Path

from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import LaunchRequest

STATES = {"DEPEND": JobState.PENDING, "PRIORITY": JobState.PENDING, "SCHED": JobState.PENDING,
          "RUN": JobState.RUNNING, "CLEANUP": JobState.RUNNING}  # fmt: skip


class Flux:
    """Flux by its own commands."""

    name = "flux"
    command_prefixes = ("FLUX_BATCH_",)

    def submit(self, script: Path) -> str:
        """Submit by flux batch, which prints the id."""
        return ask(self, ["flux", "batch", str(script)]).strip()

    def state(self, job: str) -> JobState:
        """Ask flux jobs."""
        printed = look(self, ["flux", "jobs", "--no-header", "--format={state}", job], "unknown|not found|invalid")
        return JobState.UNKNOWN if printed is None else STATES.get(printed.strip(), JobState.ENDED)

    def cancel(self, job: str) -> None:
        """End the job by flux cancel."""
        ask(self, ["flux", "cancel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the instance that weft was started in, where that is itself a job."""
        return os.environ.get("FLUX_JOB_ID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start by flux run, with the nodes by name."""
        return [
            "flux", "run", f"--nodes={len(request.nodes)}", f"--ntasks={request.ranks}",
            f"--requires=hosts:{','.join(request.nodes)}", f"-o mpi={mpi}",
            *(["-o", "cpu-affinity=off"] if request.oversubscribed else ["-o", "cpu-affinity=per-task"]),
            *(["--taskmap=cyclic"] if request.order == "cyclic" else []),
        ]  # fmt: skip
