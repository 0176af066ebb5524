# SPDX-License-Identifier: BSD-3-Clause
"""A study measured by a launcher, to its tables, without the command line; and what lies in the run folder then."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from made.fake_kernel import FakeLauncher
from weft.fabric import Fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import Launcher
from weft.run.one import run_study
from weft.store.folder import RunFolder
from weft.study import Study


def walked(place: Path, text: str, fabric: Fabric, launcher: Launcher) -> RunFolder:
    """Measure a study given as text below ``place``, to its tables."""
    path = place / "study.toml"
    path.write_text(text)
    return run_study(load_study(path), fabric, place / "run", launcher)


def rows_of(folder: RunFolder, table: str) -> list[dict[str, Any]]:
    """Rows of one of the run's tables."""
    return pq.read_table(folder.tables / f"{table}.parquet").to_pylist()


def walk(study: Study, fabric: Fabric, into: Path, launcher: FakeLauncher) -> RunFolder:
    """Run a study into a folder, without an interest in the progress."""
    return run_study(study, fabric, into, launcher)


def record(folder: RunFolder, cell: str, launch: int) -> dict[str, object]:
    """The record of a cell in one launch."""
    return json.loads(folder.cell_record(cell, launch).read_text())


def bytes_of_cells(folder: RunFolder) -> dict[str, bytes]:
    """Every file of the cells, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.cells.iterdir())}
