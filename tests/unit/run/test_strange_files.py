# SPDX-License-Identifier: BSD-3-Clause
"""A pipe, device, socket or link in the place of a run's file is refused; a reader that waited would wait for ever.

Each test reads in a process of its own, which is killed where it waits: ``python test_strange_files.py WHAT FOLDER``.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
PATIENCE_S = 240.0
"""Far more than any of them takes on a busy machine."""
KINDS = ("a named pipe", "a socket", "a link", "a link to a device")
ABSENT = (
    "load.json",
    "lock",
    "inputs/matrix.txt",
    "launches/c000.l1.log",
    "launches/c000.l1.live",
    "cells/x.npy",
    "tables/quality.parquet",
    "tables/tables.json",
    "samples/c000.parquet",
    "samples/runs/c000.parquet",
)


def plant(path: Path, kind: str) -> Path:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket has 107 bytes
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(here)
    else:
        path.symlink_to("/dev/zero" if kind.endswith("device") else path.parents[1] / "elsewhere")
    return path


def refused(read: Callable[[], object]) -> str:
    """What the error says; AssertionError if there is none."""
    from weft.errors import DataError

    try:
        read()
    except DataError as error:
        return str(error)
    raise AssertionError("it was read")


def every_file(place: Path) -> None:
    """Each file of a run, and some that it may have, is replaced by each kind."""
    from made.kept import copy_of
    from weft.run.refresh import refresh
    from weft.store.folder import RunFolder

    run = copy_of("exchange", place)
    there = [str(path.relative_to(run)) for path in sorted(run.rglob("*")) if path.is_file()]
    (place / "elsewhere").write_text("{}")
    kept = place / "kept"
    for name in (*there, *ABSENT):
        path = run / name
        if path.exists():
            path.rename(kept)
        for kind in KINDS:
            print(name, kind, flush=True)
            plant(path, kind)
            told = refused(lambda: refresh(run))
            path.unlink()
            assert told.startswith(f"{path} is a") or name == "weft.json", told
        if kept.exists():
            kept.rename(path)
    assert RunFolder.open(run).path == run


def every_reader(place: Path) -> None:
    """Each reader alone: somebody may plant a pipe between the look at the folder and the reading."""
    from made.kept import copy_of
    from weft.analyse.engine import connect, read
    from weft.analyse.tables.times import MEDIANS
    from weft.files.atomic import copy_atomic, read_json
    from weft.launch.launcher import read_live, read_slots
    from weft.plan.stored import plan_of
    from weft.run.failure import log_tail
    from weft.run.folder import row, runs_of
    from weft.run.refresh import whole
    from weft.store.folder import RunFolder, read_looks
    from weft.store.pair_layout import read_runs
    from weft.store.records import load_cell_record, load_launch_record
    from weft.store.tables import read_table

    run = copy_of("exchange", place)
    folder = RunFolder(run)
    plant(folder.tables / "tables.json", KINDS[0]).unlink()
    (folder.tables / "tables.json").write_text("{}")

    def at(name: str, kind: str) -> Path:
        return plant(run / name, kind)

    for kind in KINDS[:2]:
        print(kind, flush=True)
        assert log_tail(at("launches/x.log", kind)) == []
        assert read_slots(at("launches/x.status", kind)) == []
        assert read_live(at("launches/x.live", kind)) is None
        assert row("x", at("x.toml", kind), "kernel") == {}
        at("load.json", kind)
        assert read_looks(run) == ()
        table = at("tables/medians.parquet", kind)
        assert not MEDIANS.is_current(run)
        assert not whole(folder)
        for reading in (
            lambda: read_table(run, "medians"),
            lambda table=table: read(connect(), [table]),
            lambda table=table: copy_atomic(table, place / "copy"),
            lambda kind=kind: read_json(at("x.json", kind)),
            lambda kind=kind: load_cell_record(at("cells/c000.l1.json", kind)),
            lambda kind=kind: load_launch_record(at("launches/c000.l1.json", kind)),
            lambda kind=kind: read_runs(at("samples/runs/c000.parquet", kind).parents[1] / "c000.parquet", 1),
            lambda kind=kind: at("plan.json", kind) and plan_of(folder),
        ):
            print(refused(reading), flush=True)
        at("weft.json", kind)
        assert runs_of(place) == []
        print(refused(folder.metadata))


@pytest.mark.parametrize("what", [every_file, every_reader])
def test_what_is_no_plain_file_is_refused_and_never_waited_for(what: Callable[[Path], None], tmp_path: Path) -> None:
    command = [sys.executable, __file__, what.__name__, str(tmp_path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as waiting:
        pytest.fail(f"it waits, after {(waiting.stdout or b'')[-300:]!r}")
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    {"every_file": every_file, "every_reader": every_reader}[sys.argv[1]](Path(sys.argv[2]))
