# SPDX-License-Identifier: BSD-3-Clause
"""A study on a real Slurm: submitted, followed, cut short by a time limit and taken up again, run in an allocation."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.fabric import load_fabric
from weft.fabric.nodeset import expand
from weft.launch.slurm_here import CORES, RootlessSlurm, fabric_text, node_mib, topology, why_not

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(why_not()), reason=f"no Slurm: {why_not()}"),
]

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ROOT / ".venv" / "bin" / "mpicxx"

STUDY = """\
name = "small"
kernel = "exchange"
[measure]
launches = 2
max_samples = 10
warmup_most = 5
budget = "200 ms"
limit = "50 s"
seed = 7
[exchange]
data = "contention"
[[series]]
name = "strong"
scaling = "strong"
nodes = [1, 2, 4]
ranks_per_node = 1
n = 1600
m = 4
"""

FABRIC = (
    fabric_text(CORES).replace('"slurm-here"', '"rootless"')
    .replace('"1 s"', '"200 ms"').replace('"1 h"', '"10 min"')
)  # fmt: skip


@pytest.fixture(scope="module")
def slurm() -> Iterator[RootlessSlurm]:
    """One Slurm for all tests of this file, in a folder whose path is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="wslurm"))
    try:
        with RootlessSlurm(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def weft(slurm: RootlessSlurm, folder: Path, *before: str, study: str = STUDY, fabric: str = FABRIC) -> str:
    """Run ``weft run`` inside the cluster as a user would, behind the words `before`; what it printed."""
    (folder / "small.toml").write_text(study)
    (folder / "rootless.toml").write_text(fabric)
    words = [*before, sys.executable, "-m", "weft", "run", "small.toml", "--on", "rootless.toml", "--into", "run"]
    place = ["env", f"--chdir={folder}", f"PYTHONPATH={ROOT / 'src'}"]
    done = slurm.run(*place, f"WEFT_MPICXX={WHEEL}", *words, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def records(folder: Path) -> dict[str, dict[str, object]]:
    """All cell records of the run by name."""
    return {path.stem: json.loads(path.read_text()) for path in (folder / "run" / "cells").glob("*.json")}


def jobs(folder: Path) -> int:
    """How many jobs the run took."""
    return len(list((folder / "run").glob("job-*.log")))


def test_a_study_runs_in_one_job_on_the_nodes_it_names(slurm: RootlessSlurm, tmp_path: Path) -> None:
    weft(slurm, tmp_path)
    cells = records(tmp_path)
    assert {record["status"] for record in cells.values()} == {"ok"}
    assert {record["ranks"] for name, record in cells.items() if name.startswith("c")} == {1, 2, 4}
    assert jobs(tmp_path) == 1
    assert (tmp_path / "run" / "report.html").exists()


def test_init_writes_a_file_of_this_cluster_that_passes_the_check(slurm: RootlessSlurm, tmp_path: Path) -> None:
    place = ["env", f"--chdir={tmp_path}", f"PYTHONPATH={ROOT / 'src'}", sys.executable, "-m", "weft"]
    for words in (["init", "slurm", "-o", "mine.toml"], ["fabric", "check", "mine.toml"]):
        done = slurm.run(*place, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    fabric = load_fabric(tmp_path / "mine.toml")
    assert (fabric.name, fabric.hosts) == ("slurm-here", ("n0", "n1", "n2", "n3"))
    assert (fabric.node.cores, fabric.node.memory) == (4, node_mib(4) * 2**20)
    assert fabric.batch is not None
    assert (fabric.batch.partition, fabric.batch.time_limit) == ("batch", 3600)


def test_slurm_here_runs_a_command_and_leaves_nothing(tmp_path: Path) -> None:
    before = set(Path(tempfile.gettempdir()).glob("wslurm*"))
    words = [
        sys.executable,
        "-m",
        "weft",
        "fabric",
        "slurm-here",
        "--nodes",
        "6",
        "sh",
        "-c",
        "sinfo -h -o %D; ls *.toml; pgrep -o slurmctld; srun -N1 printenv OMPI_MCA_btl; exit 7",
    ]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 7, done.stderr
    nodes, file, controller, transports = done.stdout.split()
    assert transports == "self,tcp", "of a job of any fabric file: the nodes share one /dev/shm"
    assert (nodes, file) == ("6", "slurm-here.toml")
    assert int(controller) > 1  # in a namespace of its own, which has ended
    assert "a Slurm of 6 nodes is up on this host, described by slurm-here.toml" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert set(Path(tempfile.gettempdir()).glob("wslurm*")) <= before


def test_the_leaves_of_a_slurm_here_hold_every_node_once() -> None:
    assert topology(4).splitlines() == [
        "SwitchName=leaf0 Nodes=n[0-1]", "SwitchName=leaf1 Nodes=n[2-3]", "SwitchName=spine Switches=leaf[0-1]"
    ]  # fmt: skip
    for nodes in (5, 6, 64):
        lines = [line.partition(" Nodes=")[2] for line in topology(nodes).splitlines() if "Nodes=" in line]
        assert [name for line in lines for name in expand(line)] == [f"n{i}" for i in range(nodes)]


def test_inside_an_allocation_it_is_used(slurm: RootlessSlurm, tmp_path: Path) -> None:
    weft(slurm, tmp_path, "salloc", "--nodes=4", "--quiet")
    assert {record["status"] for record in records(tmp_path).values()} == {"ok"}
    assert jobs(tmp_path) == 0


def hanging_once(folder: Path, limit: str) -> str:
    """A fabric whose jobs have a minute; in the first alone, the second launch hangs for longer."""
    hold = folder / "hold"
    hold.touch()
    setup = f'setup = ["[ -e {hold} ] && rm {hold} && export WEFT_PLANT=hang:c002; true"]\n'
    return FABRIC.replace('time_limit = "10 min"', limit) + setup


@pytest.mark.long
@pytest.mark.parametrize("limit", ['time_limit = "1 min"', "node_hours = 0.07  # a minute of four nodes"])
def test_a_job_killed_by_its_limit_in_mid_study_is_taken_up_again(
    limit: str, slurm: RootlessSlurm, tmp_path: Path
) -> None:
    weft(slurm, tmp_path, study=STUDY.replace('"50 s"', '"10 min"'), fabric=hanging_once(tmp_path, limit))
    assert not (tmp_path / "hold").exists()
    assert jobs(tmp_path) == 2
    assert len(records(tmp_path)) == 12  # two launches of three floors and three cells
    assert {record["status"] for record in records(tmp_path).values()} == {"ok"}


@pytest.mark.long
def test_elements_of_a_job_array_go_on_where_the_one_before_ended(slurm: RootlessSlurm, tmp_path: Path) -> None:
    """The script of a run, submitted by hand, several times one after the other."""
    gate, limit = tmp_path / "gate", 'time_limit = "1 min"'
    fabric = hanging_once(tmp_path, limit).replace('setup = ["', f'setup = ["[ -e {gate} ] || sleep 600", "')
    study = STUDY.replace('"50 s"', '"10 min"')
    weft(slurm, tmp_path, "sh", "-c", f'set -- "$@" --cancel; {INTERRUPTED}', "sh", study=study, fabric=fabric)
    gate.touch()
    script = str(tmp_path / "run/job.slurm.sh")
    slurm.run("env", f"--chdir={tmp_path}", "sbatch", "--wait", "--array=1-2%1", script, timeout=280)
    assert not (tmp_path / "hold").exists()
    before = jobs(tmp_path)
    weft(slurm, tmp_path, study=study, fabric=fabric)
    assert jobs(tmp_path) == before == 3  # that of weft, and two elements, which left nothing to measure
    assert len(records(tmp_path)) == 12
    assert {record["status"] for record in records(tmp_path).values()} == {"ok"}


# Ends weft like Ctrl-C once its job is in the queue: a background process of sh ignores SIGINT, so it is SIGTERM here.
INTERRUPTED = """
"$@" & weft=$!
until [ -e run/job.json ]; do sleep 0.1; kill -0 $weft || exit 1; done
sleep 1; kill -TERM $weft; wait $weft
[ $? = 143 ]
"""


def test_a_job_that_an_interrupted_weft_left_in_the_queue_is_followed(slurm: RootlessSlurm, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    slow = FABRIC + f'setup = ["until [ -e {gate} ]; do sleep 0.2; done"]\n'
    said = weft(slurm, tmp_path, "sh", "-c", INTERRUPTED, "sh", fabric=slow)
    assert "goes on: the same command follows it" in said
    (note,) = json.loads((tmp_path / "run/job.json").read_text())["job"].split()
    assert slurm.run("squeue", "--noheader", "--jobs", note, "--format", "%t").stdout.strip() in ("R", "CF", "PD")
    # the job may go on only once it is followed: the kernels may have to be built anew in between
    opened = f"""
"$@" >said 2>&1 & weft=$!
until grep "following slurm job {note}" said; do sleep 0.1; kill -0 $weft || {{ cat said; exit 1; }}; done
touch {gate}; wait $weft"""
    weft(slurm, tmp_path, "sh", "-c", opened, "sh", fabric=slow)
    assert jobs(tmp_path) == 1
    assert {record["status"] for record in records(tmp_path).values()} == {"ok"}
    assert not (tmp_path / "run/job.json").exists()


def test_an_interrupted_weft_ends_its_job_where_that_is_asked(slurm: RootlessSlurm, tmp_path: Path) -> None:
    endless = FABRIC + 'setup = ["sleep 600"]\n'
    said = weft(slurm, tmp_path, "sh", "-c", f'set -- "$@" --cancel; {INTERRUPTED}', "sh", fabric=endless)
    assert "cancelled slurm job" in said
    assert slurm.run("squeue", "--noheader", "--states", "PD,R", "--format", "%i").stdout.strip() == ""


def test_mpich_is_started_by_pmi2(slurm: RootlessSlurm, tmp_path: Path) -> None:
    wrapper = ROOT / ".venv-mpich" / "bin" / "mpicxx"
    if not wrapper.exists():
        pytest.skip("no MPICH wheel: make .venv-mpich/installed")
    study = STUDY.replace("[1, 2, 4]", "[2]").replace("launches = 2", "launches = 1")
    weft(slurm, tmp_path, "env", f"WEFT_MPICXX={wrapper}", study=study, fabric=FABRIC.replace("pmix", "pmi2"))
    assert {record["status"] for record in records(tmp_path).values()} == {"ok"}


def test_a_job_that_somebody_cancels_ends_weft_and_the_same_command_goes_on(
    slurm: RootlessSlurm, tmp_path: Path
) -> None:
    study = STUDY.replace("[1, 2, 4]", "[1, 2]").replace('"exchange"\n', '"exchange"\nexplain = false\n')
    (tmp_path / "small.toml").write_text(study)
    (tmp_path / "rootless.toml").write_text(FABRIC)
    words = [sys.executable, "-m", "weft", "run", "small.toml", "--on", "rootless.toml", "--into", "run"]
    # cancelled as soon as one cell has come
    cancel = "until ls run/cells/*.json >/dev/null 2>&1; do sleep 0.1; done; scancel $(squeue -h -o %A)"
    whole = f"{{ {cancel}; }} & {shlex.join(words)}; code=$?; wait; exit $code"
    place = ["env", f"--chdir={tmp_path}", f"PYTHONPATH={ROOT / 'src'}", f"WEFT_MPICXX={WHEEL}"]
    done = slurm.run(*place, "bash", "-c", whole, timeout=280)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "was cancelled" in done.stderr
    assert "the same command" in done.stderr
    assert jobs(tmp_path) == 1, "nothing is submitted in place of a job that somebody took away"
    before = records(tmp_path)
    assert before
    assert {record["status"] for record in before.values()} == {"ok"}, "no crash is recorded for it"
    weft(slurm, tmp_path, study=study)
    assert before.items() <= records(tmp_path).items()
    assert len(records(tmp_path)) == 8  # two launches of two floors and two cells
