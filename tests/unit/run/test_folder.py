# SPDX-License-Identifier: BSD-3-Clause
"""The run folder: places, locks, versions, and writing that is never half done."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.errors import DataError
from weft.files.atomic import explain, read_json, write_atomic, write_json
from weft.files.lock import began_at
from weft.run.folder import check_place, create, locked
from weft.store.folder import RunFolder

HOLD = """
import sys, time
from pathlib import Path
from weft.run.folder import locked
from weft.store.folder import RunFolder
with locked(RunFolder(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(60)
"""


def made(path: Path) -> RunFolder:
    folder = RunFolder(path)
    with locked(folder):
        create(folder, b"study", b"fabric", b"{}", {"weft": "0.1.0", "seed": 1})
    return folder


def test_a_run_folder_keeps_study_and_fabric_byte_for_byte(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with locked(folder):
        create(folder, b"a = 1\r\n# \xc3\xa9", b"", b"{}", {})
    assert folder.study.read_bytes() == b"a = 1\r\n# \xc3\xa9"
    assert folder.fabric.read_bytes() == b""
    assert RunFolder.open(folder.path).metadata()["schema"] == "weft-run/2"


def test_a_folder_of_another_version_is_refused_by_name_of_both(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    folder.meta.write_text(json.dumps({"schema": "weft-run/7", "weft": "9.9"}))
    with pytest.raises(DataError) as caught:
        RunFolder.open(folder.path)
    message = str(caught.value)
    assert "another version of the run format" in message
    assert "weft-run/7" in message
    assert "weft-run/2" in message
    assert "9.9" in message
    assert "--into" in message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": ', "\x00\x01", '"weft-run/2"'])
def test_a_torn_weft_json_is_one_clear_message(tmp_path: Path, text: str) -> None:
    folder = made(tmp_path / "run")
    folder.meta.write_text(text)
    with pytest.raises(DataError, match=r"weft\.json"):
        RunFolder.open(folder.path)


def test_what_is_no_run_folder_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(DataError, match="not a run folder"):
        RunFolder.open(tmp_path)


def test_a_folder_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        check_place(RunFolder(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_place_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(DataError, match="is a file"):
        check_place(RunFolder(tmp_path / "run"))


def test_a_start_that_was_killed_before_weft_json_does_not_block_the_next(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with locked(folder):
        folder.study.write_text("half")
        (folder.path / "plan.json.part").write_text("half")
    check_place(RunFolder(tmp_path / "run"))
    assert made(tmp_path / "run").study.read_bytes() == b"study"


def test_a_second_weft_is_refused_with_the_process_that_holds_the_folder(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DataError) as caught, locked(RunFolder(tmp_path / "run")):
            pass
        assert f"process {holder.pid}" in caught.value.what
        assert f"kill {holder.pid}" in caught.value.remedy
    finally:
        holder.kill()
        holder.wait()
    with locked(RunFolder(tmp_path / "run")):
        pass  # the lock of a killed weft is gone with it


def test_ranks_of_a_killed_weft_are_waited_for(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    hold = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('held', flush=True); time.sleep(float(sys.argv[2]))"
    )
    lock = str(folder.launches / "lock")
    keeper = subprocess.Popen([sys.executable, "-c", hold, lock, "0.4"], stdout=subprocess.PIPE, text=True)
    assert keeper.stdout is not None
    keeper.stdout.readline()
    began = time.monotonic()
    with locked(folder, patience_s=10):
        assert time.monotonic() - began > 0.2
    keeper.wait()


@pytest.fixture(params=["ENOLCK", "ENOSYS", "ENOTSUP"])
def without_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system as Lustre without ``-o flock``, or NFS without its lock daemon."""
    code = getattr(errno, request.param)

    def refuse(handle: int, how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_of_files_a_name_stands_for_the_lock(tmp_path: Path) -> None:
    """It ended in a traceback."""
    folder, said = RunFolder(tmp_path / "run"), list[str]()
    with locked(folder, say=said.append):
        assert len(said) == 1
        assert "lock.held" in said[0]
        with pytest.raises(DataError, match=f"process {os.getpid()} on") as caught, locked(folder, patience_s=0.1):
            pass
        assert f"kill {os.getpid()}" in caught.value.remedy
        create(folder, b"", b"", b"{}", {})
    assert not (folder.path / "lock.held").exists()
    with locked(folder):
        pass


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    ("holder", "free"),
    [
        ("{pid} 1 {boot} {host}", True),  # the number was given to another process since
        ("{ended} 1 {boot} {host}", True),
        ("{pid} {began} another-boot {host}", True),
        ("{pid} {began} {boot} {host}", False),
        ("{ended} 1 another-boot elsewhere", False),  # nobody can tell here
        ("", True),
    ],
)
def test_a_name_that_a_killed_weft_left_is_no_lock(tmp_path: Path, holder: str, free: bool) -> None:
    folder = made(tmp_path / "run")
    ended = subprocess.Popen(["true"])
    ended.wait()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    words = {"pid": os.getpid(), "began": began_at(os.getpid()), "ended": ended.pid, "boot": boot}
    (folder.path / "lock.held").write_text(holder.format(host=os.uname().nodename, **words))
    if free:
        with locked(folder):
            assert (folder.path / "lock.held").read_text().startswith(f"{os.getpid()} ")
    else:
        with pytest.raises(DataError, match=r"in use by another weft .*rm "), locked(folder):
            pass


@pytest.mark.usefixtures("without_locks")
def test_without_locks_the_ranks_of_a_killed_weft_are_waited_for(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    (folder.launches / "lock").write_text(f"{os.getpid()} {began_at(os.getpid())} 1:1 /tmp/x\n")
    with pytest.raises(DataError, match="still running"), locked(folder, patience_s=0.1):
        pass
    (folder.launches / "lock").write_text(f"{os.getpid()} 1 1:1 /tmp/x\n")
    with locked(folder):
        pass


def test_ranks_that_do_not_end_are_named_after_a_while(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    handle = os.open(folder.launches / "lock", os.O_RDWR | os.O_CREAT)
    try:
        import fcntl

        os.write(handle, b"4711 /tmp/weft-x\n")
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="4711"), locked(folder, patience_s=0.1):
            pass
    finally:
        os.close(handle)


def test_an_atomic_write_replaces_the_whole_file_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError):
        write_atomic(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota is used up"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "no permission to write"),
        (errno.EACCES, "no permission to write"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_each_failure_to_write_names_path_reason_and_next_step(tmp_path: Path, code: int, words: str) -> None:
    error = explain(tmp_path / "a" / "b", OSError(code, os.strerror(code)))
    assert words in error.what
    assert str(tmp_path / "a" / "b") in error.what
    assert "--into DIR" in error.remedy
    assert error.exit_code == 1


def test_a_full_disk_tells_how_much_is_free(tmp_path: Path) -> None:
    assert re.search(r"[0-9.]+ [MGT]iB free", explain(tmp_path, OSError(errno.ENOSPC, "full")).what)


def test_json_with_nan_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_json_that_is_written_is_read_back(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": [1, "é"]})
    assert read_json(tmp_path / "x.json") == {"a": [1, "é"]}
