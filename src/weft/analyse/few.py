# SPDX-License-Identifier: BSD-3-Clause
"""Findings about times that rest on fewer samples than were asked of a launch (METHOD 8 and 13)."""

from collections.abc import Sequence

from weft.analyse.checks import finding, place
from weft.analyse.statistics.interval import MODELLED, RANGES
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.pairs import ClassRow
from weft.analyse.tables.times import CallRow, timed
from weft.format import format_bytes, plural

REMEDY = "raise budget in [measure]: too few samples for a stable median"


def few_samples(rows: Sequence[CallRow], fewest: int) -> list[FindingRow]:
    """Warm rows with fewer than ``fewest`` samples a launch, those with fewest first; a model needs one.

    It is a warning where all launches together have not as many.
    """
    own = [row for row in timed(rows, phase="warm") if row["interval"] not in RANGES | {MODELLED}]
    told: list[FindingRow] = []
    for row in sorted(own, key=lambda row: row["samples"] / row["launches"]):
        if row["samples"] < fewest * row["launches"]:
            level = "warning" if row["samples"] < fewest else "note"
            what = f"{plural(row['samples'], 'sample')} in {plural(row['launches'], 'launch')}, {_asked(fewest)}"
            told.append(finding(level, "few", place(row), what, REMEDY))
    return told


def few_of_pairs(classes: Sequence[ClassRow], launches: int, fewest: int) -> list[FindingRow]:
    """Hop classes whose pairs have fewer than ``fewest`` samples a launch, those with fewest first."""
    told: list[FindingRow] = []
    for row in sorted(classes, key=lambda row: row["samples"] / max(row["pairs"], 1)):
        each = row["samples"] / max(row["pairs"], 1)
        if row["samples"] and each < fewest * launches:
            level = "warning" if each < fewest else "note"
            where = f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}"
            what = f"{each:.2g} samples of a pair in {plural(launches, 'launch')}, {_asked(fewest)}"
            told.append(finding(level, "few", where, what, REMEDY))
    return told


def _asked(fewest: int) -> str:
    return f"target {fewest} per launch: the time budget ended first"
