# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on this host, with scripts in place of mpiexec: what a launch leaves behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launched import alive

from weft.launch.build import Kernels
from weft.launch.launcher import LaunchRequest
from weft.launch.local import LocalLauncher
from weft.mpi.library import Mpi, parse_library
from weft.mpi.starting import Cores


def launcher(tmp_path: Path, script: str) -> LocalLauncher:
    """A launcher whose mpiexec is a shell script; it gets the words of a hydra."""
    for name, text in (("mpicxx", "exit 0"), ("mpiexec", script)):
        path = tmp_path / "mpi" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    mpi = Mpi(tmp_path / "mpi/mpicxx", "--mpicxx")
    return LocalLauncher(Kernels(tmp_path / "kernels", mpi, parse_library("MPICH Version: 9.0")))


def request(folder: Path, name: str = "c000.l1", limit_s: float = 20.0, **environment: str) -> LaunchRequest:
    plan = folder / "launches" / f"{name}.plan"
    return LaunchRequest(name, 2, ("here",), 2, "block", False, plan, folder, limit_s, environment)


def test_output_and_exit_code_of_a_launch_are_kept(tmp_path: Path, folder: Path) -> None:
    outcome = next(launcher(tmp_path, "echo to-stdout; echo to-stderr >&2; exit 7").run([request(folder)]))
    assert (outcome.id, outcome.returncode, outcome.timed_out) == ("c000.l1", 7, False)
    assert sorted(outcome.log.read_text().split()) == ["to-stderr", "to-stdout"]
    assert outcome.log == folder / "launches/c000.l1.log"


def test_the_signal_that_ended_a_launch_is_told(tmp_path: Path, folder: Path) -> None:
    assert next(launcher(tmp_path, "kill -9 $$").run([request(folder)])).returncode == -signal.SIGKILL
    assert next(launcher(tmp_path, "kill -11 $$").run([request(folder)])).returncode == -signal.SIGSEGV


def test_the_command_starts_the_kernel_on_the_flat_plan(tmp_path: Path, folder: Path) -> None:
    made = launcher(tmp_path, 'echo "$@"')
    made.cores = Cores(2, 2)
    words = next(made.run([request(folder)])).log.read_text().split()
    assert words[-2:] == [str(tmp_path / "kernels/weft-measure"), str(folder / "launches/c000.l1.plan")]
    assert "-n 2" in " ".join(words)
    assert "-bind-to core" in " ".join(words)


def test_variables_of_the_user_pass_and_those_of_a_job_do_not(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCX_TLS", "tcp")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("PMI_RANK", "0")
    log = next(launcher(tmp_path, "env").run([request(folder, WEFT_EXTRA="yes")])).log.read_text().splitlines()
    assert "UCX_TLS=tcp" in log
    assert "WEFT_EXTRA=yes" in log
    assert not [line for line in log if line.startswith(("SLURM_", "PMI_"))]


def test_what_the_user_sets_wins_over_what_weft_would_set(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", "77")
    many = LaunchRequest("c000.l1", 99, ("here",), 99, "block", True, folder / "x.plan", folder, 20.0)
    assert "MPIR_CVAR_POLLS_BEFORE_YIELD=77\n" in next(launcher(tmp_path, "env").run([many])).log.read_text()


def test_a_launch_over_its_limit_is_ended_and_said_to_be(tmp_path: Path, folder: Path, short: Path) -> None:
    began = time.monotonic()
    outcome = next(launcher(tmp_path, "sleep 100").run([request(folder, limit_s=0.5)]))
    assert outcome.timed_out
    assert time.monotonic() - began < 5
    assert not alive(str(folder))
    assert not list(short.iterdir())


def test_a_launch_that_does_not_heed_being_asked_is_ended_by_force(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.launch.local.GRACE_S", 0.5)
    script = 'trap "" TERM INT HUP; while true; do sleep 0.1; done'
    outcome = next(launcher(tmp_path, script).run([request(folder, limit_s=0.5)]))
    assert outcome.timed_out
    assert not alive(str(folder))


def test_orphans_in_sessions_of_their_own_do_not_outlive_the_launch(tmp_path: Path, folder: Path) -> None:
    marker = f"weft-test-{os.getpid()}-{time.monotonic_ns()}"
    script = "setsid sh -c 'sleep 100 & sleep 100' & sleep 0.2; exit 0"
    outcome = next(launcher(tmp_path, script).run([request(folder, MARKER=marker)]))
    assert outcome.returncode == 0
    assert not alive(marker)


def test_each_launch_has_a_short_temporary_folder_of_its_own_that_goes_with_it(
    tmp_path: Path, folder: Path, short: Path
) -> None:
    made = launcher(tmp_path, "echo $TMPDIR; mkdir -p $TMPDIR/ompi.1/0; touch $TMPDIR/ompi.1/socket")
    first, second = (
        outcome.log.read_text().strip() for outcome in made.run([request(folder), request(folder, "c001.l1")])
    )
    assert first != second
    assert first.startswith(f"{short}/weft-")
    assert len(first) < 45
    assert not list(short.iterdir())


def test_a_long_temporary_folder_is_not_used(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets below it may have 107 characters in all."""
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    log = next(launcher(tmp_path, "echo $TMPDIR").run([request(folder)])).log
    assert log.read_text().startswith("/tmp/weft-")


def test_closing_the_iterator_ends_what_runs(tmp_path: Path, folder: Path) -> None:
    made = launcher(tmp_path, 'case "$*" in *c001*) sleep 100;; esac')
    outcomes = made.run([request(folder), request(folder, "c001.l1")])
    assert next(outcomes).returncode == 0
    outcomes.close()  # type: ignore[attr-defined]
    assert not alive(str(folder))


HOLDER = """
import mmap, pathlib, sys, time
begun, held, mapped = map(pathlib.Path, sys.argv[1:])
while not begun.exists():
    time.sleep(0.01)
with held.open("w+b") as file:
    file.write(b"x" * 4096)
    file.flush()
    memory = mmap.mmap(file.fileno(), 4096)
mapped.touch()
time.sleep(60)
"""


def test_shared_memory_of_killed_ranks_is_removed_and_that_of_others_is_not(folder: Path, tmp_path: Path) -> None:
    mine, old, held = (Path(f"/dev/shm/sm_segment.weft-test.{os.getpid()}.{name}") for name in ("mine", "old", "held"))
    old.write_bytes(b"x" * 4096)
    begun, mapped = tmp_path / "begun", tmp_path / "mapped"
    wait = f"touch {begun}; while [ ! -e {mapped} ]; do sleep 0.01; done"
    made = launcher(tmp_path, f"{wait}; head -c 4096 /dev/zero > {mine}; kill -9 $$")
    other_job = subprocess.Popen([sys.executable, "-c", HOLDER, str(begun), str(held), str(mapped)])
    try:
        assert next(made.run([request(folder)])).returncode == -signal.SIGKILL
        assert not mine.exists()
        assert old.exists(), "made before the launch began: not ours to judge"
        assert held.exists(), "made during the launch, but mapped by another job"
    finally:
        other_job.kill()
        other_job.wait()
        for path in (mine, old, held):
            path.unlink(missing_ok=True)


def test_what_hydra_leaves_in_tmp_when_it_is_killed_is_removed(tmp_path: Path, folder: Path) -> None:
    """MPICH's hydra writes its picture of the cores to /tmp whatever TMPDIR says, and removes it only at a good end."""
    left = Path(f"/tmp/hydra_hwloc_xmlfile_weft{os.getpid()}")
    try:
        next(launcher(tmp_path, f"echo '<topology/>' > {left}; kill -9 $$").run([request(folder)]))
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)


def test_provenance_is_plain_json_and_names_the_finder(tmp_path: Path) -> None:
    told = launcher(tmp_path, "").provenance()
    assert json.loads(json.dumps(told)) == told
    assert told["mpi"] == "MPICH 9.0"
    assert told["found_by"] == "--mpicxx"
    assert told["mpiexec"] == str(tmp_path / "mpi/mpiexec")
