# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts of every scheduler against golden files, and a batch launcher over a scheduler that is made up."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made.batch import MadeUpScheduler, Starter, request
from made.waiting import wait_until
from weft.errors import FabricError, LaunchError
from weft.fabric.model import BatchSection
from weft.launch.batch.launcher import BatchLauncher
from weft.launch.batch.scheduler import JobState, Scheduler, render
from weft.launch.batch.schedulers import Flux, Lsf, Pbs, Slurm
from weft.launch.launcher import LaunchRequest, Outcome

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "jobs"
SECTION = BatchSection.model_validate(
    {"partition": "batch", "account": "hpc42", "time_limit": "20 min", "options": ["--hint=nomultithread"],
     "setup": ["module load openmpi"]}
)  # fmt: skip


kernel = Starter(lambda request: ["mpiexec", "-n", str(request.ranks), "/opt/weft-measure", str(request.plan)])


@pytest.mark.parametrize("scheduler", [Slurm(), Pbs(), Lsf(), Flux()], ids=lambda scheduler: scheduler.name)
def test_the_job_script_is_the_golden_one(scheduler: Scheduler) -> None:
    requests = [request("f000.l1", ("n0",)), request("c000.l1", ("n0", "n1", "n2", "n7"))]
    script = render(scheduler, SECTION, requests, "contention", kernel)
    golden = GOLDEN / f"{scheduler.name}.sh"
    if os.environ.get("WEFT_WRITE_GOLDEN"):
        golden.write_text(script)
    assert script == golden.read_text()
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("limits", "minutes"),
    [({"time_limit": "20 min"}, 6), ({"node_hours": 0.2}, 3), ({"node_hours": 0.07}, 1), ({"time_limit": "150 s"}, 2)],
)
def test_a_job_is_as_long_as_the_site_allows_for_its_nodes(limits: dict[str, Any], minutes: int) -> None:
    """Three launches of 100 s and their starts; a limit of 150 s was asked for as 3 minutes."""
    requests = [replace(request(f"c00{i}.l1", ("n0", "n1", "n2", "n7")), limit_s=100) for i in range(3)]
    script = render(Slurm(), BatchSection.model_validate(limits), requests, "small", kernel)
    assert f"#SBATCH --time={minutes}\n" in script


def test_no_minute_is_lost_to_rounding() -> None:
    """4.1 node hours are six minutes of 41 nodes; of floats they were 5.9999."""
    requests = [replace(request("c000.l1", tuple(f"n{i}" for i in range(41))), limit_s=3600)]
    script = render(Slurm(), BatchSection.model_validate({"node_hours": 4.1}), requests, "small", kernel)
    assert "#SBATCH --time=6\n" in script


@pytest.mark.parametrize(
    ("limits", "expected_s", "enough"),
    [
        ({"node_hours": 0.03}, 10, "node_hours = 0.07"),  # 27 s of each node: a whole minute was asked for
        ({"time_limit": "30 s"}, 10, 'time_limit = "1 min"'),
        ({"node_hours": 0.2}, 200, "node_hours = 0.27"),
        ({"time_limit": "3 min", "node_hours": 9}, 200, 'time_limit = "4 min"'),
    ],
)
def test_a_limit_that_the_longest_launch_exceeds_is_refused(
    limits: dict[str, Any], expected_s: float, enough: str
) -> None:
    launches = [request(f"c00{i}.l1", ("n0", "n1", "n2", "n7")) for i in range(3)]
    requests = [*launches[:2], replace(launches[2], expected_s=expected_s)]
    with pytest.raises(FabricError, match=r"c002\.l1") as caught:
        render(Slurm(), BatchSection.model_validate(limits), requests, "small", kernel)
    assert enough in caught.value.remedy
    key, _, value = enough.partition(" = ")
    mended = limits | {key: float(value) if key == "node_hours" else value.strip('"')}
    assert "#SBATCH --time=" in render(Slurm(), BatchSection.model_validate(mended), requests, "small", kernel)


def test_srun_pins_nodes_by_name_and_unbinds_oversubscribed_ranks() -> None:
    words = Slurm().start_ranks(request("c000.l1", ("n3", "n1")), "pmix")
    assert "--nodelist=n[1,3]" in words
    assert "--cpu-bind=cores" in words
    crowded = LaunchRequest("c", 8, ("n0",), 8, "cyclic", True, Path("p"), Path("f"), 0)
    words = Slurm().start_ranks(crowded, "pmi2")
    assert {"--mpi=pmi2", "--overcommit", "--cpu-bind=none", "--distribution=cyclic"} <= set(words)


def test_defaults_that_override_a_script_are_taken_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "debug")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    seen = Slurm().run(["env"]).stdout.splitlines()
    assert "SLURM_CONF=/etc/slurm.conf" in seen
    assert "SBATCH_PARTITION=debug" not in seen


@pytest.mark.parametrize("scheduler", [Pbs(), Lsf()], ids=lambda scheduler: scheduler.name)
def test_a_scheduler_that_starts_no_ranks_says_what_to_set(scheduler: Scheduler) -> None:
    with pytest.raises(LaunchError, match="mpiexec"):
        scheduler.start_ranks(request("c", ("n0",)), "pmix")


def walk(folder: Path, scheduler: Scheduler, starter: Callable[[LaunchRequest], list[str]]) -> Iterator[Outcome]:
    """Run three launches through `scheduler`."""
    (folder / "launches").mkdir(exist_ok=True)
    requests = [request(f"c00{i}.l1", ("n0",), folder) for i in range(3)]
    section = BatchSection.model_validate({"poll": "10 ms"})
    return BatchLauncher(scheduler, section, "test", Starter(starter), {}, adapter_rate=4e9).run(requests)


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


def test_two_jobs_of_a_run_measure_one_after_the_other(tmp_path: Path) -> None:
    """They wrote the same cells, each beside the other's ranks: elements of an array, or one beside Weft's own job."""
    (tmp_path / "launches").mkdir()
    requests = [request(f"c00{i}.l1", ("n0",), tmp_path) for i in range(3)]
    until = f"for i in $(seq 600); do [ -e {tmp_path}/go ] && break; sleep 0.1; done"
    once = f"mkdir {tmp_path}/busy || exit 3; echo $0 >> {tmp_path}/ran; {until}; rmdir {tmp_path}/busy"
    script = render(Slurm(), BatchSection(), requests, "small", Starter(lambda r: ["sh", "-c", once, r.id]))

    def submit() -> subprocess.Popen[str]:
        return subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    first = submit()
    wait_until((tmp_path / "ran").exists)
    others = [submit(), submit()]
    said = [job.stdout.readline() for job in others if job.stdout]  # the first ends no launch before they wait
    (tmp_path / "go").touch()
    assert [job.communicate(timeout=60) for job in (first, *others)] == [("", "")] * 3
    assert (tmp_path / "ran").read_text().split() == [each.id for each in requests]
    assert {each.file("end").read_text().split()[0] for each in requests} == {"0"}
    assert [out.startswith("waiting for another job of this run") for out in said] == [True, True]


@pytest.mark.parametrize(("code", "warned"), [(0, False), (1, True), (65, True), (127, True)])
def test_a_job_that_cannot_lock_its_run_warns_once_and_measures(tmp_path: Path, code: int, warned: bool) -> None:
    """Without `flock`, or on a file system without locks, jobs measured beside each other in silence."""
    (tmp_path / "launches").mkdir()
    flock = tmp_path / "flock"
    flock.write_text(f"#!/bin/sh\nexit {code}\n")
    flock.chmod(0o755)
    requests = [request(f"c00{i}.l1", ("n0",), tmp_path) for i in range(2)]
    script = render(Slurm(), BatchSection(), requests, "small", Starter(lambda r: ["true"]))
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    job = subprocess.run(["bash", "-c", script], timeout=60, capture_output=True, check=True, env=path, text=True)
    assert job.stdout.count("job.lock") == job.stdout.count("\n") == int(warned)
    assert {each.file("end").read_text().split()[0] for each in requests} == {"0"}


def test_a_job_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    """Not even where its ranks live on: they do not hold it."""
    (tmp_path / "launches").mkdir()
    alive = tmp_path / "alive"
    endless = Starter(lambda r: ["sh", "-c", f"echo $$ > {alive}.part; mv {alive}.part {alive}; exec sleep 60"])
    first, second = (
        render(Slurm(), BatchSection(), [request(name, ("n0",), tmp_path)], "small", starter)
        for name, starter in (("c000.l1", endless), ("c001.l1", Starter(lambda r: ["true"])))
    )
    killed = subprocess.Popen(["bash", "-c", first])
    wait_until(alive.exists)
    killed.kill()
    killed.wait()
    try:
        assert subprocess.run(["bash", "-c", second], timeout=60, capture_output=True, check=True).stdout == b""
    finally:
        os.kill(int(alive.read_text()), signal.SIGKILL)


def test_an_old_end_does_not_stand_for_a_launch_that_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "launches").mkdir()
    request("c000.l1", ("n0",), tmp_path).file("end").write_text("1 5\n")
    outcomes = list(walk(tmp_path, MadeUpScheduler(launches_a_job=3), lambda r: ["true"]))
    assert [o.returncode for o in outcomes] == [0, 0, 0]


def test_an_interrupt_cancels_the_job_only_where_the_site_file_asks_for_it(tmp_path: Path) -> None:
    class Endless(MadeUpScheduler):
        def submit(self, script: Path) -> str:
            request("c000.l1", ("n0",), tmp_path).file("end").write_text("0 1\n")
            return "7"

        def state(self, job: str) -> JobState:
            return JobState.RUNNING

    (tmp_path / "launches").mkdir()
    requests = [request(f"c00{i}.l1", ("n0",), tmp_path) for i in range(3)]
    for cancel, expected in ((False, []), (True, ["7"])):
        scheduler = Endless(launches_a_job=1)
        section = BatchSection.model_validate({"poll": "10 ms", "cancel_on_interrupt": cancel})
        (tmp_path / "job.json").unlink(missing_ok=True)
        walking = BatchLauncher(scheduler, section, "test", Starter(lambda r: ["true"]), {}).run(requests)
        assert next(walking).id == "c000.l1"
        walking.close()  # what an interrupt does to the walk
        assert scheduler.cancelled == expected
        assert (tmp_path / "job.json").exists() is not cancel
