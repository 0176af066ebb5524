# SPDX-License-Identifier: BSD-3-Clause
"""A study measured by a launcher, to its tables, without the command line."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.analyse import make_tables
from weft.fabric import Fabric
from weft.folder import RunFolder
from weft.launch.launcher import Launcher
from weft.progress import Silent
from weft.run import begin
from weft.store import convert
from weft.study import load_study
from weft.walk import Walk


def walked(place: Path, text: str, fabric: Fabric, launcher: Launcher) -> RunFolder:
    """Measure a study given as text below ``place``."""
    path = place / "study.toml"
    path.write_text(text)
    folder = RunFolder(place / "run")
    with folder.lock():
        plan = begin(folder, load_study(path), fabric, launcher)
        Walk(folder, plan, launcher, Silent()).go()
    convert(folder)
    make_tables(folder)
    return folder


def rows_of(folder: RunFolder, table: str) -> list[dict[str, Any]]:
    """Rows of one of the run's tables."""
    return pq.read_table(folder.tables / f"{table}.parquet").to_pylist()
