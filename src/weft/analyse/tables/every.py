# SPDX-License-Identifier: BSD-3-Clause
"""Every table of a run."""

from pathlib import Path

from weft.analyse.tables import answers, breakdown, times
from weft.analyse.tables.claims import CLAIMS, QUALITY
from weft.analyse.tables.sweeps import TRIALS
from weft.store import rows
from weft.store.tables import count_rows

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


def has_tables(root: Path, most_answers: int, most_rows: int) -> bool:
    """Whether a run has all tables (an earlier Weft's lack some), none with more rows than its plan allows."""
    most = dict.fromkeys((table.name for table in ANSWERS), most_answers)
    few = all(count_rows(path) <= most.get(path.stem, most_rows) for path in (root / "tables").glob("*.parquet"))
    return few and all(table.is_current(root) for table in TABLES)
