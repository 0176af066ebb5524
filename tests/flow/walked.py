# SPDX-License-Identifier: BSD-3-Clause
"""A study measured by a launcher, to its tables, without the command line."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.fabric import Fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import Launcher
from weft.run.one import run_study
from weft.store.folder import RunFolder


def walked(place: Path, text: str, fabric: Fabric, launcher: Launcher) -> RunFolder:
    """Measure a study given as text below ``place``, to its tables."""
    path = place / "study.toml"
    path.write_text(text)
    return run_study(load_study(path), fabric, place / "run", launcher)


def rows_of(folder: RunFolder, table: str) -> list[dict[str, Any]]:
    """Rows of one of the run's tables."""
    return pq.read_table(folder.tables / f"{table}.parquet").to_pylist()
