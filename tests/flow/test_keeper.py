# SPDX-License-Identifier: BSD-3-Clause
"""The keeper of a launch: nothing outlives a weft that is killed, and nobody else's files are touched."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launched import DRIVER, SRC, alive, driven, eventually

from weft.errors import DataError
from weft.launch import keeper
from weft.launch.local import kept

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
    # a keeper that lives a moment longer than its weft clears up
    process.send_signal(signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    process.kill()
    process.wait()
    assert eventually(lambda: not alive(str(folder)))


def test_after_a_kill_of_everything_the_next_keeper_removes_what_the_ranks_noted(folder: Path, short: Path) -> None:
    names = [f"weft-noted.{os.getpid()}.{i}" for i in range(4)]
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


def test_a_full_disk_leaves_no_session_folder_behind(folder: Path, short: Path) -> None:
    """The lock file could not be written once, and the keeper then ended without removing its folder."""
    full = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n{DRIVER}"
    words = [sys.executable, "-c", full + "print(keeper.returncode)", str(folder), "mkdir started"]
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=environment, check=True, timeout=30)
    assert done.stdout.split()[1] != "0"
    assert not (folder / "started").exists()
    assert not list(short.iterdir())


def test_files_are_told_by_what_they_are_when_the_clock_is_set_during_a_launch(folder: Path, short: Path) -> None:
    """What a launch left stayed after the clock was set back; after it was set forward, files of others went."""
    names = [f"weft-clock.{os.getpid()}.{i}" for i in range(3)]
    earlier, mine, other = (Path("/dev/shm", name) for name in names)
    patterns = (f"/dev/shm/weft-clock.{os.getpid()}.*",)
    try:
        earlier.touch()
        known = keeper.lying(patterns)
        mine.touch()
        for path, when in ((earlier, 2**32), (mine, 1)):  # as if the clock had been set in between
            os.utime(path, (when, when))
        other.symlink_to(earlier)
        keeper.sweep(known, patterns)
        assert earlier.exists() and other.is_symlink()
        assert not mine.exists()
        earlier.rename(mine)  # the name of one, the file of another
        keeper.sweep(known, patterns)
        assert not mine.exists()
    finally:
        for path in (earlier, mine, other):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("change", ["none", "inode", "alive", "old"])
def test_a_session_is_removed_only_if_it_is_the_one_its_dead_keeper_noted(
    folder: Path, short: Path, change: str
) -> None:
    killed_with_all_its_own(folder, "true")
    lock = folder / "launches/lock"
    pid, start, _, session = lock.read_text().rstrip().split(" ", 3)
    assert start != keeper.ticks(int(pid))
    if change == "inode":
        Path(session).rename(f"{session}-kept")
        Path(session).mkdir(mode=0o700)
    elif change == "alive":
        lock.write_text(lock.read_text().replace(f"{pid} {start}", f"{os.getpid()} {keeper.ticks(os.getpid())}"))
    elif change == "old":
        lock.write_text(f"{pid} {session}\n")
    with kept(["true"], os.environ, folder / "launches/y.log", folder) as second:
        assert second.wait() == 0
    assert Path(session).exists() == (change != "none")
    for left in short.iterdir():
        shutil.rmtree(left)
