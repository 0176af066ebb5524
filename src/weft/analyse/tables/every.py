# SPDX-License-Identifier: BSD-3-Clause
"""Every table of a run, and what tables were made by: those of another analysis are made again, and never compared."""

import hashlib
from functools import cache
from pathlib import Path

import weft
from weft.analyse.tables import answers, breakdown, times
from weft.analyse.tables.claims import CLAIMS, QUALITY
from weft.analyse.tables.sweeps import TRIALS
from weft.errors import DataError
from weft.files.atomic import read_json
from weft.store import rows
from weft.store.tables import count_rows

MANIFEST = "tables.json"
"""Written after the last table: the checksum of each, so that a torn, missing or swapped one is made again."""
MADE_BY = "made by"  # entry of the manifest that is no table: the `analysis_digest` of its analysis
ROOMS = ("analyse", "bound", "fabric", "files", "kernel", "mpi", "plan", "route", "store")
"""Rooms that the analysis uses, beside the files that stand alone; a test looks what it imports."""
ANSWERS = (
    answers.VERDICTS, breakdown.SENSITIVITY, answers.CHANGES, TRIALS, answers.SLOWER, answers.WINNERS,
    answers.GUIDELINES, answers.IMPACTS, answers.OVERLAPS, breakdown.REMEDIES, answers.FINDINGS, QUALITY,
    breakdown.CAUSES, CLAIMS,
)  # fmt: skip
"""Tables with a few rows for each cell, whatever it has measured."""
TABLES = (
    rows.MEASURED, rows.SEGMENT_TABLE, rows.LAUNCH_TABLE, rows.RANK_TABLE, rows.NODE_REPORTS, times.ITERATIONS,
    times.MEDIANS, breakdown.TURNS, times.QUARTILES, times.STARTUP, times.FLOOR, breakdown.LINKS, times.CALLS,
    breakdown.LOADS, breakdown.BOTTLENECKS, breakdown.BREAKDOWN, breakdown.ROUND_TIMES, *ANSWERS,
)  # fmt: skip


@cache
def analysis_digest() -> str:
    """Sixteen hexadecimal digits over Weft's version and the sources that decide what tables say."""
    home = Path(weft.__file__).parent
    found = hashlib.sha256(weft.__version__.encode())
    files = (path for room in ROOMS for kind in ("*.py", "*.toml") for path in (home / room).rglob(kind))
    for path in sorted([*home.glob("*.py"), *files]):
        found.update(f"\n{path.relative_to(home)}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def made_by(root: Path) -> str:
    """The `analysis_digest` of a run's tables; empty if they are not finished."""
    try:
        return str(read_json(root / "tables" / MANIFEST).get(MADE_BY, ""))
    except DataError:
        return ""


def has_tables(root: Path, most_answers: int, most_rows: int) -> bool:
    """Whether a run has all tables (an earlier Weft's lack some), none with more rows than its plan allows."""
    most = dict.fromkeys((table.name for table in ANSWERS), most_answers)
    few = all(count_rows(path) <= most.get(path.stem, most_rows) for path in (root / "tables").glob("*.parquet"))
    return few and all(table.is_current(root) for table in TABLES)
