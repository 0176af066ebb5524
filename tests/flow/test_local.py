# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on this host, with scripts in place of mpiexec: what a launch leaves behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft.errors import DataError
from weft.launch.build import Kernels
from weft.launch.launcher import LaunchRequest
from weft.launch.local import LocalLauncher, kept
from weft.mpi.library import Mpi, parse_library
from weft.mpi.starting import Cores

SRC = Path(__file__).resolve().parents[2] / "src"


def alive(marker: str) -> list[str]:
    """Command lines of processes that have ``marker`` in their environment or arguments."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
                if words and (marker.encode() in words or marker.encode() in (entry / "environ").read_bytes()):
                    found.append(words.replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return found


def eventually(check: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something becomes true in time."""
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run" / "launches").mkdir(parents=True)
    return tmp_path / "run"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short TMPDIR of the test's own, in which nothing may be left."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="wt", dir="/tmp") as name:
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)


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


DRIVER = """
import json, os, sys
from pathlib import Path
from weft.launch.local import kept
folder = Path(sys.argv[1])
with kept(["sh", "-c", sys.argv[2]], os.environ, folder / "launches/x.log", folder) as keeper:
    print(keeper.pid, flush=True)
    keeper.wait()
"""


def driven(folder: Path, script: str) -> tuple[subprocess.Popen[str], int]:
    """A process that keeps a launch as weft does, and its keeper's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), script],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(SRC)},
    )  # fmt: skip
    assert process.stdout is not None
    keeper = int(process.stdout.readline())
    assert eventually(lambda: (folder / "started").exists())
    return process, keeper


SLEEPER = "touch started; setsid sleep 100 & sleep 100"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_weft_that_is_killed(folder: Path, short: Path, number: int) -> None:
    process, _ = driven(folder, SLEEPER)
    process.send_signal(number)
    process.wait()
    assert eventually(lambda: not alive(str(short)))
    assert eventually(lambda: not list(short.iterdir()))


def test_the_launch_lock_is_held_until_the_last_process_has_ended(folder: Path, short: Path) -> None:
    process, _ = driven(folder, 'trap "sleep 1; exit" TERM; touch started; sleep 100 & wait')
    process.kill()
    process.wait()
    began = time.monotonic()
    with kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
        assert second.wait() == 0
    assert time.monotonic() - began > 0.7
    assert eventually(lambda: not alive(str(folder)))


def test_a_killed_keeper_takes_mpiexec_with_it_and_the_next_one_cleans_up(folder: Path, short: Path) -> None:
    process, keeper = driven(folder, "touch started; exec sleep 100")
    os.kill(keeper, signal.SIGKILL)
    process.wait()
    assert eventually(lambda: not alive(f"{short}/weft-"))
    left = list(short.iterdir())
    assert len(left) == 1
    with kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
        second.wait()
    assert not list(short.iterdir())


def killed_with_all_its_own(folder: Path, script: str) -> None:
    """Start a launch and kill its weft, its keeper and its ranks at once, so that nobody cleans up."""
    process, keeper = driven(folder, f"{script}; touch started; exec sleep 100")
    process.kill()
    os.kill(keeper, signal.SIGKILL)
    process.wait()
    assert eventually(lambda: not alive(str(folder)))


def test_after_a_kill_of_everything_the_next_keeper_removes_what_the_ranks_noted(folder: Path, short: Path) -> None:
    names = [f"vader_segment.weft-test.{os.getpid()}.{i}" for i in range(4)]
    mine, strange, linked, held = (Path("/dev/shm", name) for name in names)
    precious = folder / "precious"
    precious.touch()
    lines = f"{mine.name}\n{linked.name}\n{held.name}\n../..{precious}\n..\n\n"
    try:
        for path in (mine, strange, held):
            path.touch()
        linked.symlink_to(precious)
        killed_with_all_its_own(folder, f"printf '{lines}' > $TMPDIR/shared")
        with held.open(), kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
            second.wait()
        assert not mine.exists()
        assert held.exists(), "somebody has it open"
        assert strange.exists(), "of the same name and user, but not noted"
        assert linked.is_symlink()
        assert precious.exists()
    finally:
        for path in (mine, strange, linked, held):
            path.unlink(missing_ok=True)


def test_after_a_kill_of_everything_semaphores_of_marked_files_go_and_others_stay(folder: Path, short: Path) -> None:
    ours = Path(f"/dev/shm/sem.OMPIO_c{os.getpid()}.l1.npy.0123456789abcdef.part")
    strange = Path(f"/dev/shm/sem.OMPIO_c{os.getpid()}.l1.npy.part")
    try:
        ours.touch()
        strange.touch()
        killed_with_all_its_own(folder, "true")
        with kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
            second.wait()
        assert not ours.exists()
        assert strange.exists()
    finally:
        ours.unlink(missing_ok=True)
        strange.unlink(missing_ok=True)


def test_a_leftover_that_cannot_be_removed_blocks_no_run(folder: Path, short: Path) -> None:
    """The keeper ended with "cannot keep this launch", at this start and at every later one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file so that it cannot be removed")
    stuck = Path(f"/dev/shm/sem.OMPIO_c{os.getpid()}.l1.npy.0123456789abcdef.part")
    stuck.touch()
    try:
        subprocess.run(["mount", "--bind", str(stuck), str(stuck)], check=True)
        killed_with_all_its_own(folder, "true")
        with kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
            assert second.wait() == 0, (folder / "launches/y.log").read_text()
        assert stuck.exists()
    finally:
        subprocess.run(["umount", str(stuck)], check=False)
        stuck.unlink(missing_ok=True)


def test_a_lock_file_that_names_the_session_of_another_run_does_not_end_it(folder: Path, short: Path) -> None:
    other = folder.parent / "other"
    (other / "launches").mkdir(parents=True)
    with kept(["sh", "-c", "touch started; sleep 100"], os.environ, other / "launches/x.log", other):
        assert eventually(lambda: (other / "started").exists())
        session = next(short.iterdir())
        (folder / "launches/lock").write_text(f"123 {session}\n")
        with kept(["true"], os.environ, folder / "launches/y.log", folder) as keeper:
            assert keeper.wait() == 0
        assert session.is_dir()
    assert not list(short.iterdir())


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_a_lock_that_is_no_plain_file_is_refused_and_what_it_leads_to_is_whole(folder: Path, kind: str) -> None:
    precious = folder / "precious"
    precious.write_text("whole")
    lay(folder / "launches/lock", precious, kind)
    with kept(["touch", str(folder / "started")], os.environ, folder / "launches/y.log", folder) as keeper:
        assert keeper.wait(10) == 1
    assert precious.read_text() == "whole"
    assert not (folder / "started").exists()
    assert "weft cannot keep this launch" in (folder / "launches/y.log").read_text()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_a_log_that_is_no_plain_file_is_refused_and_what_it_leads_to_is_whole(folder: Path, kind: str) -> None:
    precious = folder / "precious"
    precious.write_text("whole")
    lay(folder / "launches/y.log", precious, kind)
    with pytest.raises(DataError, match=r"y\.log"), kept(["true"], os.environ, folder / "launches/y.log", folder):
        pass
    assert precious.read_text() == "whole"


def lay(path: Path, target: Path, kind: str) -> None:
    """Put something else in the place of a file."""
    if kind == "link":
        path.symlink_to(target)
    elif kind == "hard link":
        path.hardlink_to(target)
    else:
        os.mkfifo(path)


def test_a_lock_file_cannot_make_the_keeper_remove_what_is_not_its_own(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "weft-precious"
    precious.mkdir()
    (folder / "launches/lock").write_text(f"123 {precious}\n")
    with kept(["true"], os.environ, folder / "launches/y.log", folder) as keeper:
        keeper.wait()
    assert precious.is_dir()


HOLDER = """
import mmap, sys, time
time.sleep(0.4)
with open(sys.argv[1], "w+b") as file:
    file.write(b"x" * 4096)
    file.flush()
    held = mmap.mmap(file.fileno(), 4096)
time.sleep(60)
"""


def test_shared_memory_of_killed_ranks_is_removed_and_that_of_others_is_not(folder: Path, tmp_path: Path) -> None:
    mine, old, held = (Path(f"/dev/shm/sm_segment.weft-test.{os.getpid()}.{name}") for name in ("mine", "old", "held"))
    old.write_bytes(b"x" * 4096)
    time.sleep(0.05)
    made = launcher(tmp_path, f"sleep 0.8; head -c 4096 /dev/zero > {mine}; kill -9 $$")
    other_job = subprocess.Popen([sys.executable, "-c", HOLDER, str(held)])
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


def test_a_full_disk_leaves_no_session_folder_behind(folder: Path, short: Path) -> None:
    """The lock file could not be written once, and the keeper then ended without removing its folder."""
    full = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n{DRIVER}"
    words = [sys.executable, "-c", full + "print(keeper.returncode)", str(folder), "mkdir started"]
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=environment, check=True, timeout=30)
    assert done.stdout.split()[1] != "0"
    assert not (folder / "started").exists()
    assert not list(short.iterdir())
