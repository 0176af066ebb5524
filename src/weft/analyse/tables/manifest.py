# SPDX-License-Identifier: BSD-3-Clause
"""What tables were made by: those of another analysis are made again, and never compared."""

import hashlib
from functools import cache
from pathlib import Path

import weft
from weft.analyse.tables.answers import CHANGES, FINDINGS, SLOWER, VERDICTS, WINNERS
from weft.analyse.tables.breakdown import BREAKDOWN, ROUND_TIMES, TURNS
from weft.analyse.tables.claims import CLAIMS
from weft.analyse.tables.links import BOTTLENECKS, LINKS, LOADS
from weft.analyse.tables.quality import QUALITY
from weft.analyse.tables.remedies import CAUSES, REMEDIES, SENSITIVITY
from weft.analyse.tables.sweeps import TRIALS
from weft.analyse.tables.times import CALLS, FLOOR, ITERATIONS, MEDIANS, QUARTILES
from weft.errors import DataError
from weft.files.atomic import read_json
from weft.store.rows import LAUNCH_TABLE, MEASURED, RANK_TABLE, SEGMENT_TABLE

MANIFEST = "tables.json"
"""Written after the last table: the checksum of each, so that a torn, missing or swapped one is made again."""
MADE_BY = "made by"
"""Entry of the manifest that is no table: the `analysis_digest` of its analysis."""
TABLES = (
    MEASURED, SEGMENT_TABLE, LAUNCH_TABLE, RANK_TABLE, ITERATIONS, MEDIANS, TURNS, QUARTILES, FLOOR, LINKS, CALLS,
    VERDICTS, SENSITIVITY, LOADS, BOTTLENECKS, CHANGES, TRIALS, SLOWER, WINNERS, BREAKDOWN, ROUND_TIMES, REMEDIES,
    FINDINGS, QUALITY, CAUSES, CLAIMS,
)  # fmt: skip
"""What every run has; the code that makes them is imported only where one is made."""
ROOMS = ("analyse", "bound", "fabric", "files", "kernel", "mpi", "plan", "route", "store")
"""Rooms that the analysis uses, beside the files that stand alone; a test looks what it imports."""


@cache
def analysis_digest() -> str:
    """Sixteen hexadecimal digits over Weft's version and the sources that decide what tables say."""
    home = Path(weft.__file__).parent
    found = hashlib.sha256(weft.__version__.encode())
    files = (path for room in ROOMS for path in (home / room).rglob("*.py"))
    for path in sorted([*home.glob("*.py"), *files]):
        found.update(f"\n{path.relative_to(home)}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def has_tables(root: Path) -> bool:
    """Whether a run has every table: one made by an earlier Weft lacks some, or some of their columns."""
    return all(table.is_current(root) for table in TABLES)


def made_by(root: Path) -> str:
    """The `analysis_digest` of a run's tables; empty if they are not finished."""
    try:
        return str(read_json(root / "tables" / MANIFEST).get(MADE_BY, ""))
    except DataError:
        return ""
