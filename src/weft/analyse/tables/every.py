# SPDX-License-Identifier: BSD-3-Clause
"""Every table of a run; the code that makes them is imported only where one is made."""

from pathlib import Path

from weft.analyse.tables.answers import CHANGES, FINDINGS, GUIDELINES, IMPACTS, OVERLAPS, SLOWER, VERDICTS, WINNERS
from weft.analyse.tables.breakdown import (
    BOTTLENECKS,
    BREAKDOWN,
    CAUSES,
    LINKS,
    LOADS,
    REMEDIES,
    ROUND_TIMES,
    SENSITIVITY,
    TURNS,
)
from weft.analyse.tables.claims import CLAIMS
from weft.analyse.tables.quality import QUALITY
from weft.analyse.tables.sweeps import TRIALS
from weft.analyse.tables.times import CALLS, FLOOR, ITERATIONS, MEDIANS, QUARTILES, STARTUP
from weft.store.files import count_rows
from weft.store.rows import LAUNCH_TABLE, MEASURED, NODE_REPORTS, RANK_TABLE, SEGMENT_TABLE

ANSWERS = (
    VERDICTS, SENSITIVITY, CHANGES, TRIALS, SLOWER, WINNERS, GUIDELINES, IMPACTS, OVERLAPS, REMEDIES, FINDINGS, QUALITY,
    CAUSES, CLAIMS,
)  # fmt: skip
"""Tables with a few rows for each cell, whatever it has measured."""
TABLES = (
    MEASURED, SEGMENT_TABLE, LAUNCH_TABLE, RANK_TABLE, NODE_REPORTS, ITERATIONS, MEDIANS, TURNS, QUARTILES, STARTUP,
    FLOOR, LINKS, CALLS, LOADS, BOTTLENECKS, BREAKDOWN, ROUND_TIMES, *ANSWERS,
)  # fmt: skip


def has_tables(root: Path, most_answers: int, most_rows: int) -> bool:
    """Whether a run has every table, none with more rows than its plan allows, whoever wrote a checksum for it.

    One made by an earlier Weft lacks some, or some of their columns.
    """
    most = dict.fromkeys((table.name for table in ANSWERS), most_answers)
    few = all(count_rows(path) <= most.get(path.stem, most_rows) for path in (root / "tables").glob("*.parquet"))
    return few and all(table.is_current(root) for table in TABLES)
