# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts of every scheduler against golden files, and a batch launcher over a scheduler that is made up."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft.errors import LaunchError
from weft.fabric.batch import BatchSection
from weft.launch.batch.flux import Flux
from weft.launch.batch.launcher import BatchLauncher, end_file
from weft.launch.batch.lsf import Lsf
from weft.launch.batch.pbs import Pbs
from weft.launch.batch.scheduler import JobState, Scheduler, clean_environment
from weft.launch.batch.script import render
from weft.launch.batch.slurm import Slurm
from weft.launch.launcher import LaunchRequest, Outcome

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "jobs"
SECTION = BatchSection.model_validate(
    {"partition": "batch", "account": "hpc42", "time_limit": "20 min", "options": ["--hint=nomultithread"],
     "setup": ["module load openmpi"]}
)  # fmt: skip


def request(
    name: str, nodes: tuple[str, ...], folder: Path = Path("/scratch/a run"), limit_s: float = 60
) -> LaunchRequest:
    """A launch of two ranks a node."""
    plan = folder / "launches" / f"{name}.plan"
    return LaunchRequest(
        name, 2 * len(nodes), nodes, 2, "block", False, plan, folder, limit_s, {"OMPI_MCA_btl": "self,tcp"}
    )


class Made:
    """A starter of these tests: any command for the ranks, and no need to go to other nodes."""

    def __init__(self, command: Callable[[LaunchRequest], list[str]]) -> None:
        self._command = command

    def __call__(self, request: LaunchRequest) -> list[str]:
        """Words of the launch."""
        return self._command(request)

    def each_node(self, request: LaunchRequest) -> list[str]:
        """Every node is this host."""
        return ["env", f"SLURMD_NODENAME={request.nodes[0]}"]


kernel = Made(lambda request: ["mpiexec", "-n", str(request.ranks), "/opt/weft-measure", str(request.plan)])


@pytest.mark.parametrize("scheduler", [Slurm(), Pbs(), Lsf(), Flux()], ids=lambda scheduler: scheduler.name)
def test_the_job_script_is_the_golden_one(scheduler: Scheduler) -> None:
    requests = [request("f000.l1", ("n0",)), request("c000.l1", ("n0", "n1", "n2", "n7"))]
    script = render(scheduler, SECTION, requests, "contention", kernel)
    golden = GOLDEN / f"{scheduler.name}.sh"
    if os.environ.get("WEFT_WRITE_GOLDEN"):
        golden.write_text(script)
    assert script == golden.read_text()
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_srun_pins_nodes_by_name_and_unbinds_oversubscribed_ranks() -> None:
    words = Slurm().start_ranks(request("c000.l1", ("n3", "n1")), "pmix")
    assert "--nodelist=n3,n1" in words
    assert "--cpu-bind=cores" in words
    crowded = LaunchRequest("c", 8, ("n0",), 8, "cyclic", True, Path("p"), Path("f"), 0)
    words = Slurm().start_ranks(crowded, "pmi2")
    assert {"--mpi=pmi2", "--overcommit", "--cpu-bind=none", "--distribution=cyclic"} <= set(words)


def test_defaults_that_override_a_script_are_taken_out_of_the_environment() -> None:
    cleaned = clean_environment({"SBATCH_PARTITION": "debug", "SLURM_CONF": "/etc/slurm.conf"}, Slurm.command_prefixes)
    assert cleaned == {"SLURM_CONF": "/etc/slurm.conf"}


@pytest.mark.parametrize("scheduler", [Pbs(), Lsf()], ids=lambda scheduler: scheduler.name)
def test_a_scheduler_that_starts_no_ranks_says_what_to_set(scheduler: Scheduler) -> None:
    with pytest.raises(LaunchError, match="mpiexec"):
        scheduler.start_ranks(request("c", ("n0",)), "pmix")


class MadeUpScheduler:
    """Runs a script at once with bash, up to `launches_a_job` of its launches: the rest meets the job's time limit."""

    name = "slurm"
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

    def cancel(self, job: str) -> None:
        """Remember that it was asked for."""
        self.cancelled.append(job)

    def allocation(self) -> str | None:
        """Never inside a job."""
        return None

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Not used: the starter of these tests makes the whole command line."""
        return []


def walk(folder: Path, scheduler: Scheduler, starter: Callable[[LaunchRequest], list[str]]) -> Iterator[Outcome]:
    """Run three launches through `scheduler`."""
    (folder / "launches").mkdir(exist_ok=True)
    requests = [request(f"c00{i}.l1", ("n0",), folder) for i in range(3)]
    section = BatchSection.model_validate({"poll": "10 ms"})
    return BatchLauncher(scheduler, section, "test", Made(starter), {}, adapter_rate=4e9).run(requests)


def test_launches_that_a_job_left_undone_are_submitted_again(tmp_path: Path) -> None:
    scheduler = MadeUpScheduler(launches_a_job=2)
    outcomes = list(walk(tmp_path, scheduler, lambda r: ["sh", "-c", f"echo {r.id}; exit {r.id[3]}"]))
    assert [(o.id, o.returncode) for o in outcomes] == [("c000.l1", 0), ("c001.l1", 1), ("c002.l1", 2)]
    assert scheduler.submitted == 2
    assert outcomes[2].log.read_text() == "c002.l1\n"


def test_a_launch_that_no_job_can_end_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    class Hopeless(MadeUpScheduler):
        def submit(self, script: Path) -> str:
            self.submitted += 1
            if self.submitted > 1:
                return super().submit(script)
            return "1"

    outcomes = list(walk(tmp_path, Hopeless(launches_a_job=5), lambda r: ["true"]))
    assert [o.returncode for o in outcomes] == [1, 0, 0]


def test_an_old_end_does_not_stand_for_a_launch_that_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "launches").mkdir()
    end_file(request("c000.l1", ("n0",), tmp_path)).write_text("1 5\n")
    outcomes = list(walk(tmp_path, MadeUpScheduler(launches_a_job=3), lambda r: ["true"]))
    assert [o.returncode for o in outcomes] == [0, 0, 0]


def test_an_interrupt_cancels_the_job_only_where_the_site_file_asks_for_it(tmp_path: Path) -> None:
    class Endless(MadeUpScheduler):
        def submit(self, script: Path) -> str:
            end_file(request("c000.l1", ("n0",), tmp_path)).write_text("0 1\n")
            return "7"

        def state(self, job: str) -> JobState:
            return JobState.RUNNING

    (tmp_path / "launches").mkdir()
    requests = [request(f"c00{i}.l1", ("n0",), tmp_path) for i in range(3)]
    for cancel, expected in ((False, []), (True, ["7"])):
        scheduler = Endless(launches_a_job=1)
        section = BatchSection.model_validate({"poll": "10 ms", "cancel_on_interrupt": cancel})
        (tmp_path / "job.json").unlink(missing_ok=True)
        walking = BatchLauncher(scheduler, section, "test", Made(lambda r: ["true"]), {}).run(requests)
        assert next(walking).id == "c000.l1"
        walking.close()  # what an interrupt does to the walk
        assert scheduler.cancelled == expected
        assert (tmp_path / "job.json").exists() is not cancel
