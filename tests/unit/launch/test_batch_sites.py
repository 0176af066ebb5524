# SPDX-License-Identifier: BSD-3-Clause
"""What sites require of jobs: each key in each scheduler's own words, its own starter, and why a job waits or ended."""

import os
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from made.batch import MadeUpScheduler, Starter, request
from weft.errors import FabricError, LaunchError
from weft.fabric import Fabric, load_fabric
from weft.fabric.model import BatchSection
from weft.launch import launcher_for
from weft.launch.batch import launcher as following
from weft.launch.batch.launcher import BatchLauncher
from weft.launch.batch.scheduler import JobState, RankStarter, Scheduler, render
from weft.launch.batch.schedulers import SCHEDULERS, Flux, Lsf, Pbs, Slurm
from weft.mpi.library import parse_library

EVERY = {"partition": "long", "account": "hpc42", "qos": "high", "reservation": "r7", "constraint": "skylake|rome"}
LEFT_OUT = {"pbs": {"qos"}, "flux": {"qos", "reservation"}}
HEADS = {
    "slurm": ["--partition=long", "--account=hpc42", "--qos=high", "--reservation=r7", "--constraint='skylake|rome'",
              "--nodes=2", "--nodelist=n[1-2]", "--exclusive"],
    "pbs": ["-q r7", "-A hpc42", "-o '/scratch/a run/'", "-l place=scatter:excl",
            "-l select=1:host=n1:ncpus=2:mpiprocs=2:skylake|rome+1:host=n2:ncpus=2:mpiprocs=2:skylake|rome"],
    "lsf": ["-q long", "-P hpc42", "-sla high", "-U r7", '-R "select[skylake|rome]"', "-x"],
    "flux": ["--queue=long", "--bank=hpc42", "--requires='hosts:n[1-2] and (skylake|rome)'", "--exclusive"],
}  # fmt: skip


def site(kind: str, folder: Path, batch: str = "") -> Fabric:
    """A fabric file of this kind."""
    path = folder / f"{kind}.toml"
    path.write_text(
        f'name = "site"\nkind = "{kind}"\n[node]\nnames = "n[1-4]"\ncores = 2\nmemory = "1 GiB"\n'
        f'[network]\nlatency = "1 us"\nadapter_rate = "1 GB/s"\n[batch]\n{batch}'
    )
    return load_fabric(path)


@pytest.mark.parametrize("kind", list(HEADS))
def test_every_key_stands_in_the_script_in_the_schedulers_own_words(kind: str) -> None:
    section = BatchSection.model_validate({k: v for k, v in EVERY.items() if k not in LEFT_OUT.get(kind, ())})
    requests = [request("c000.l1", ("n1", "n2"))]
    script = render(SCHEDULERS[kind](), section, requests, "x", Starter(lambda _: ["true"]))
    head = [
        line.split(" ", 1)[1] for line in script.splitlines() if line.startswith(("#SBATCH", "#PBS", "#BSUB", "#flux"))
    ]
    assert [line for line in HEADS[kind] if line not in head] == []
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in LEFT_OUT.items() for key in sorted(keys)])
def test_a_key_that_a_scheduler_has_nothing_like_is_refused_with_the_file(kind: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(FabricError, match=f'kind "{kind}" has nothing like batch.{key}'):
        site(kind, tmp_path, f'{key} = "x"\n')


@pytest.mark.parametrize("value", ["a'b", "-x", 'a"b', "a$(id)", "a\nb", "a`b"])
def test_a_constraint_ends_no_quote_and_begins_no_command(value: str) -> None:
    with pytest.raises(ValidationError, match="constraint"):
        BatchSection.model_validate({"constraint": value})


@pytest.mark.parametrize(
    ("kind", "starter"), [("slurm", "srun"), ("flux", "flux run"), ("pbs", "mpiexec"), ("lsf", "mpiexec")]
)
def test_without_a_starter_each_kind_takes_its_own(kind: str, starter: str, tmp_path: Path) -> None:
    fabric = site(kind, tmp_path)
    assert fabric.starter == starter
    assert site(kind, tmp_path, 'starter = "mpiexec"\n').starter == "mpiexec"
    section = (fabric.batch or BatchSection()).model_copy(update={"starter": fabric.starter})
    words = RankStarter(kernels("Open MPI v5.0.8"), SCHEDULERS[kind](), section)(request("c", ("n1", "n2")))
    started = shlex.join(words[words.index("env") + 1 :] if words[0] == "env" else words)
    assert (f"{starter} " in started) or (f"/{starter} " in started)


def test_a_starter_of_another_scheduler_is_refused_with_what_this_one_has(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match='kind "flux" starts ranks by "flux run" or "mpiexec", not by'):
        site("flux", tmp_path, 'starter = "srun"\n')
    with pytest.raises(FabricError, match='kind "pbs" starts ranks by "mpiexec", not by'):
        site("pbs", tmp_path, 'starter = "srun"\n')
    with pytest.raises(FabricError, match="must be flux run or srun or mpiexec"):
        site("slurm", tmp_path, 'starter = "aprun"\n')


@pytest.mark.parametrize("kind", list(HEADS))
def test_a_scheduler_that_is_not_here_is_told_before_anything_is_compiled(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("weft.launch.batch.launcher.build_kernels", never)
    monkeypatch.setattr("weft.launch.batch.launcher.find_mpi", never)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match=f"is not on PATH, so no job can be submitted to {kind}"):
        launcher_for(site(kind, tmp_path))


def kernels(library: str) -> Any:
    """Kernels built for a library."""
    found = SimpleNamespace(mpiexec=lambda: Path("/opt/mpi/bin/mpiexec"))
    return SimpleNamespace(
        program=Path("/opt/weft-measure"),
        variables=dict[str, str](),
        library=parse_library(library),
        mpi=found,
        about=dict,
    )


def test_intel_mpi_is_pinned_and_placed_by_its_own_means() -> None:
    section = BatchSection(starter="mpiexec")
    start = RankStarter(kernels("Intel(R) MPI Library 2021.9 for Linux* OS"), Lsf(), section)
    words = start(request("c000.l1", ("n1", "n2")))
    assert {"I_MPI_PIN=1", "I_MPI_PIN_DOMAIN=core"} <= set(words)
    assert not [word for word in words if "bind-to" in word]
    at = words.index("-hosts")
    assert words[at : at + 4] == ["-hosts", "n1,n2", "-ppn", "2"]
    at = words.index("I_MPI_JOB_RESPECT_PROCESS_PLACEMENT")
    assert words[at - 1 : at + 2] == ["-genv", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "off"]


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **commands: str) -> None:
    """Only these commands, beside the system's."""
    for name, text in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


SCONTROL = "   JobState=PENDING Reason=QOSMaxNodePerUserLimit Dependency=(null)\n   Restarts=0 ExitCode=0:0"
QSTAT = """\
Job Id: 7.head
    job_state = F
    substate = 91
    comment = Not Running: Not enough free nodes av
\tailable
    Exit_status = 271
"""
BHIST = """\
Job <7>, User <u>, Command <x>
Mon Nov 23 10:00:05: Dispatched 8 Task(s) on Host(s) <n1>;
Mon Nov 23 10:03:05: Exited with exit code 140. The CPU time used is 1.0 secon
                     ds;
Mon Nov 23 10:03:05: TERM_RUNLIMIT: job killed at its run limit;
"""
EVENTS = (
    '{"timestamp":1,"name":"submit","context":{}}\nnot json\n{"name":3}\n'
    '{"timestamp":2,"name":"exception","context":{"type":"timeout","note":"resource allocation expired"}}\n'
    '{"timestamp":3,"name":"finish","context":{"status":36608}}'
)


def printing(text: str) -> str:
    """Shell that prints a text."""
    return f"cat <<'END'\n{text}\nEND"


@pytest.mark.parametrize(
    ("scheduler", "commands", "said"),
    [
        (Slurm(), {"scontrol": printing(SCONTROL)}, "PENDING, QOSMaxNodePerUserLimit"),
        (Slurm(), {"scontrol": "echo JobState=NODE_FAIL Reason=None; echo ExitCode=9:0"}, "NODE_FAIL, exit code 9"),
        (Slurm(), {"scontrol": "exit 1", "sacct": "echo '  OUT_OF_MEMORY      0:125 '"}, "OUT_OF_MEMORY 0:125"),
        (Slurm(), {"scontrol": "exit 1", "sacct": "exit 1"}, ""),
        (Pbs(), {"qstat": printing(QSTAT)}, "Not Running: Not enough free nodes available, exit status 271"),
        (Pbs(), {"qstat": "exit 1"}, ""),
        (Lsf(), {"bjobs": '[ "$3" = pend_reason ] && echo "Slot limit reached;" || echo -'}, "Slot limit reached;"),
        (Lsf(), {"bjobs": "exit 255", "bhist": printing(BHIST)}, "TERM_RUNLIMIT: job killed at its run limit"),
        (Flux(), {"flux": printing(EVENTS)}, "timeout: resource allocation expired"),
        (Flux(), {"flux": 'echo \'{"name":"priority","context":{"priority":16}}\''}, "waits for resources"),
        (Flux(), {"flux": "exit 1"}, ""),
    ],
)  # fmt: skip
def test_why_a_job_waits_or_ended_is_asked(
    scheduler: Scheduler, commands: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(tmp_path, monkeypatch, **commands)
    assert scheduler.reason("7") == said


def test_qdel_is_told_from_the_time_limit_by_the_substate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(tmp_path, monkeypatch, qstat=printing(QSTAT))
    assert Pbs().was_cancelled("7")
    on_path(tmp_path, monkeypatch, qstat=printing(QSTAT.replace("= 91", "= 93")))
    assert not Pbs().was_cancelled("7")


class Waits(MadeUpScheduler):
    """A job that waits for two reasons, then ends with one launch of two."""

    def __init__(self, folder: Path) -> None:
        super().__init__(launches_a_job=9)
        self.folder = folder
        self.states = [JobState.PENDING] * 5
        self.reasons = ["Priority", "Priority", "Resources\x1b[2J", "Resources\x1b[2J", "Resources\x1b[2J"]

    def submit(self, script: Path) -> str:
        """Nothing runs."""
        self.submitted += 1
        return str(self.submitted)

    def state(self, job: str) -> JobState:
        """It waits, then it has ended; a later job ends what is left."""
        if self.states:
            return self.states.pop()
        for k in range(self.submitted):
            request(f"c00{k}.l1", ("n0",), self.folder).file("end").write_text("0 1\n")
        return JobState.ENDED

    def reason(self, job: str) -> str:
        """Two for the wait, one for the end."""
        return self.reasons.pop(0) if self.reasons else "NODE_FAIL"


def test_a_wait_is_explained_once_a_reason_and_an_early_end_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "WAITED_S", 0.0)
    (tmp_path / "launches").mkdir()
    said: list[str] = []
    section = BatchSection.model_validate({"poll": "1 ms"})
    requests = [request(f"c00{k}.l1", ("n0",), tmp_path) for k in range(2)]
    launching = BatchLauncher(Waits(tmp_path), section, "x", Starter(lambda _: ["true"]), {}, said.append)
    assert [outcome.returncode for outcome in launching.run(requests)] == [0, 0]
    waits = [line for line in said if "waits" in line]
    assert waits[0] == "slurm job 1 waits: Priority"
    assert waits[1].startswith("slurm job 1 waits: Resources")
    assert len(waits) == 2
    assert "\x1b" not in "".join(said)
    assert "slurm job 1 ended before all was measured: NODE_FAIL" in said


def test_a_resumed_job_of_pbs_overwrites_no_log() -> None:
    """``-o run/job.log`` was one file for every job; a folder takes one file a job, named by its id."""
    script = render(Pbs(), BatchSection(), [request("c000.l1", ("n1",))], "x", Starter(lambda _: ["true"]))
    (line,) = [line for line in script.splitlines() if line.startswith("#PBS -o")]
    assert shlex.split(line)[-1].endswith(os.sep)
