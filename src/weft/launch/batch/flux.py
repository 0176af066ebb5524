# SPDX-License-Identifier: BSD-3-Clause
"""Flux: written from its manuals, tested only against reference scripts."""

import os
from pathlib import Path

from weft.launch.batch.scheduler import JobState, ask, look
from weft.launch.launcher import LaunchRequest

STATES = {"DEPEND": JobState.PENDING, "PRIORITY": JobState.PENDING, "SCHED": JobState.PENDING,
          "RUN": JobState.RUNNING, "CLEANUP": JobState.RUNNING}  # fmt: skip


class Flux:
    """The adapter for Flux."""

    name = "flux"
    command_prefixes = ("FLUX_BATCH_",)

    def submit(self, script: Path) -> str:
        """Submit with flux batch, which prints the id."""
        return ask(self, ["flux", "batch", str(script)]).strip()

    def state(self, job: str) -> JobState:
        """Query flux jobs."""
        printed = look(self, ["flux", "jobs", "--no-header", "--format={state}", job], "unknown|not found|invalid")
        return JobState.UNKNOWN if printed is None else STATES.get(printed.strip(), JobState.ENDED)

    def was_cancelled(self, job: str) -> bool:
        """Ask flux jobs for the result."""
        told = look(self, ["flux", "jobs", "--no-header", "--format={result}", job], "unknown|not found|invalid")
        return (told or "").strip() == "CANCELED"

    def cancel(self, job: str) -> None:
        """Cancel the job with flux cancel."""
        ask(self, ["flux", "cancel", job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the instance that weft was started in, if that is a job."""
        return os.environ.get("FLUX_JOB_ID")

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start ranks with flux run, on the nodes by name."""
        return [
            "flux", "run", f"--nodes={len(request.nodes)}", f"--ntasks={request.ranks}",
            f"--requires=hosts:{','.join(request.nodes)}", f"-o mpi={mpi}",
            *(["-o", "cpu-affinity=off"] if request.oversubscribed else ["-o", "cpu-affinity=per-task"]),
            *(["--taskmap=cyclic"] if request.order == "cyclic" else []),
        ]  # fmt: skip
