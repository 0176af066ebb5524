# SPDX-License-Identifier: BSD-3-Clause
"""What there is to name in a command: shipped and own files of studies and fabrics, runs, and the latest run."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import read_json
from weft.files.beneath import read_plain
from weft.files.shipped import shipped
from weft.text import plain

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
