# SPDX-License-Identifier: BSD-3-Clause
"""A scheduler and a starter of ranks that are made up."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from weft.launch.batch.scheduler import JobState, Scheduler
from weft.launch.launcher import LaunchRequest


def request(
    name: str, nodes: tuple[str, ...], folder: Path = Path("/scratch/a run"), limit_s: float = 60
) -> LaunchRequest:
    """A launch of two ranks a node."""
    plan = folder / "launches" / f"{name}.plan"
    return LaunchRequest(
        name, 2 * len(nodes), nodes, 2, "block", False, plan, folder, limit_s, {"OMPI_MCA_btl": "self,tcp"}
    )


class Starter:
    """A starter of these tests: any command for the ranks, and no need to go to other nodes."""

    def __init__(self, command: Callable[[LaunchRequest], list[str]]) -> None:
        self._command = command

    def __call__(self, request: LaunchRequest) -> list[str]:
        """Words of the launch."""
        return self._command(request)

    def each_node(self, request: LaunchRequest) -> list[str]:
        """Every node is this host."""
        return ["env", f"SLURMD_NODENAME={request.nodes[0]}"]


class MadeUpScheduler(Scheduler):
    """Runs a script at once with bash, up to `launches_a_job` of its launches: the rest meets the job's time limit."""

    name = "slurm"
    commands: tuple[str, ...] = ()
    command_prefixes = ("SBATCH_",)

    def __init__(self, launches_a_job: int) -> None:
        self.launches_a_job = launches_a_job
        self.submitted = 0
        self.cancelled: list[str] = []

    def submit(self, script: Path) -> str:
        """Keep the head of the script and the first launches that have not ended yet, and run that."""
        self.submitted += 1
        lines = script.read_text().splitlines()
        calls = [line for line in lines if line.startswith("launch ")]
        left = [line for line in calls if not (script.parent / "launches" / f"{line.split()[1]}.end").exists()]
        dropped = set(left[self.launches_a_job :])
        subprocess.run(["bash"], input="\n".join(line for line in lines if line not in dropped), text=True, check=True)
        return str(self.submitted)

    def state(self, job: str) -> JobState:
        """Every job has ended by the time it is asked after."""
        return JobState.ENDED

    def was_cancelled(self, job: str) -> bool:
        """Nobody cancels."""
        return False

    def reason(self, job: str) -> str:
        """Nothing is said."""
        return ""

    def cancel(self, job: str) -> None:
        """Remember that it was asked for."""
        self.cancelled.append(job)

    def allocation(self) -> str | None:
        """Never inside a job."""
        return None

    def allocated_nodes(self) -> Sequence[str]:
        """None."""
        return ()

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Not used: the starter of these tests makes the whole command line."""
        return []
