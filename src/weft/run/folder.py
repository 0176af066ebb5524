# SPDX-License-Identifier: BSD-3-Clause
"""Run folders: creating one, locking it while a run works on it, and listing what a command can name."""

import os
import secrets
import time
import tomllib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from weft.errors import DataError, NotThereError
from weft.files.atomic import file_errors, guard, make_folder, own_handle, read_json, write_atomic, write_json
from weft.files.beneath import read_plain
from weft.files.lock import BESIDE, began_at, held_by_name, try_flock
from weft.files.shipped import shipped
from weft.store.folder import SCHEMA, RunFolder
from weft.text import plain


def check_place(folder: RunFolder) -> None:
    """NotThereError if the folder is no run and cannot become one; DataError if its path is not UTF-8."""
    try:
        str(folder.path).encode()
    except UnicodeEncodeError:
        what = f"the path {str(folder.path)!r} is not UTF-8: records could not contain it"
        raise DataError(what, "rename the folder, or choose another one with --into DIR") from None
    with file_errors(folder.path):
        if folder.path.exists() and not folder.path.is_dir():
            raise NotThereError(f"{folder.path} is a file, not a folder", "choose another place with --into DIR")
        is_run = not folder.path.is_dir() or folder.meta.is_file()
        names = [] if is_run else sorted(entry.name for entry in folder.path.iterdir())
    paths = (folder.study, folder.fabric, folder.plan, folder.lock_file, folder.inputs, folder.launches, folder.cells)
    ours = {path.name for path in paths} | {folder.lock_file.name + BESIDE}  # a killed start of a run leaves these
    if foreign := next((name for name in names if name.removesuffix(".part") not in ours), ""):
        what = f"{folder.path} is not a run folder (it has no weft.json) but contains {foreign}"
        raise NotThereError(what, "choose an empty or new folder with --into DIR")


def check_still_there(folder: RunFolder, run: str) -> None:
    """DataError if another run, or none, has come into the folder's place: the lock moves with the folder."""
    found = folder.run_id() if folder.meta.is_file() else ""
    if found != run:
        now = f"run {found} is there now" if found else "nothing is there now"
        remedy = "nothing more is written there; the same command with --into DIR goes on where it was moved to"
        raise DataError(f"{folder.path} was moved or removed while run {run} was measured: {now}", remedy)


def create(folder: RunFolder, study: bytes, fabric: bytes, plan: bytes, meta: dict[str, Any]) -> None:
    """Make a folder a run; the caller holds its lock. Raises DataError: The folder cannot be written."""
    with file_errors(folder.cells):
        make_folder(folder.cells)
    write_atomic(folder.study, study)
    write_atomic(folder.fabric, fabric)
    write_atomic(folder.plan, plan)
    # weft.json is written last: a folder without it is not a run, so a kill in between does no harm
    write_json(folder.meta, {"schema": SCHEMA, "run": secrets.token_hex(8), **meta})


@contextmanager
def locked(folder: RunFolder, patience_s: float = 20.0, say: Callable[[str], None] = lambda _: None) -> Generator[None]:
    """Lock the folder against another Weft, and wait ``patience_s`` for the ranks of a killed one; DataError."""
    with file_errors(folder.path):
        guard(folder.path)
        make_folder(folder.launches)
        handle = own_handle(folder.lock_file, os.O_RDWR | os.O_CREAT)
    try:
        with ExitStack() as stack:
            taken, holder = try_flock(handle), ""
            if taken is None:
                holder = stack.enter_context(held_by_name(folder.lock_file, say))
            elif not taken:
                holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
            if holder:
                remedy = f"wait for it, end it with: kill {holder.split()[0]}, or choose another folder with --into DIR"
                raise DataError(f"{folder.path} is in use by another weft (process {holder})", remedy)
            with file_errors(folder.lock_file):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()} on {os.uname().nodename}\n".encode(), 0)
            wait_for_ranks(folder, patience_s)
            yield
    finally:
        os.close(handle)


def wait_for_ranks(folder: RunFolder, patience_s: float) -> None:
    """Wait for the ranks of a Weft that has ended; DataError if they still run after ``patience_s``."""
    path = folder.launches / "lock"
    with file_errors(path):
        if not os.path.lexists(path):
            return
        handle = own_handle(path, os.O_RDWR)
    try:
        until = time.monotonic() + patience_s
        while not _is_free(handle):
            if time.monotonic() > until:
                holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
                what = f"{folder.path}: ranks of an earlier weft are still running (kept by process {holder})"
                raise DataError(what, f"end them with: kill {holder.split()[0]}")
            time.sleep(0.05)
    finally:
        os.close(handle)


def _is_free(handle: int) -> bool:
    """Whether the ranks' lock is free: where there are no locks, whether the process that it names has ended."""
    taken = try_flock(handle)
    if taken is not None:
        return taken
    process, began, *_ = (*os.pread(handle, 100, 0).decode(errors="replace").split(), "", "")
    return not process.isdecimal() or began_at(int(process)) != began


Row = dict[str, str]
RUNS = Path("runs")  # where runs are kept, unless a command names another folder
MOST_RUNS = 1000


def files_of(folder: str, key: str, here: Path) -> list[Row]:
    """Shipped files of a folder, then those of this folder that have a key: what each is called, and its title."""
    ours = [row(path.stem, path, key) for path in sorted(shipped(folder).glob("*.toml"), key=lambda path: path.stem)]
    return [each for each in (*ours, *(row(str(path), path, key) for path in sorted(here.glob("*.toml")))) if each]


def row(name: str, path: Path, key: str) -> Row:
    """Name, kernel or kind, and title of a file; empty if it is none of that sort."""
    try:
        tree = tomllib.loads(read_plain(path).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    value = tree.get(key)
    if not isinstance(value, str):
        return {}
    return {"name": plain(name), key: plain(value), "title": plain(str(tree.get("title", "")))}


def runs_of(folder: Path = RUNS) -> list[Row]:
    """Runs below a folder, the latest first: path, study, fabric, when it began, how many cells it has."""
    rows: list[Row] = []
    for path in latest_first(folder):
        try:
            meta = read_json(path / "weft.json")
        except DataError:
            continue
        cells = len(list((path / "cells").glob("*.json")))
        shown = {key: plain(str(meta.get(key, ""))) for key in ("study", "fabric", "created")}
        rows.append({"run": plain(str(path)), **shown, "cells": str(cells)})
    return rows


def latest_first(folder: Path = RUNS) -> list[Path]:
    """Run folders below a folder, at most two levels down, by when something was last written into them."""
    found = {path.parent for pattern in ("*/weft.json", "*/*/weft.json") for path in folder.glob(pattern)}
    nested = {path for path in found if path.parent in found}  # where knobs were moved: a part of its run
    return sorted(found - nested, key=lambda path: (max(_times(path)), path.name), reverse=True)[:MOST_RUNS]


def latest_run(folder: Path = RUNS) -> Path:
    """The run that was written last. Raises DataError: there is none."""
    found = latest_first(folder)
    if not found:
        raise DataError(f"there is no run below {folder.absolute()}", "name a run folder")
    return found[0]


def _times(path: Path) -> Iterator[float]:
    for each in (path / "weft.json", path / "cells"):
        try:
            yield each.stat().st_mtime
        except OSError:
            yield 0.0
