# SPDX-License-Identifier: BSD-3-Clause
"""Comparing runs (METHOD 15): whether one is slower than the other, by how much, and with what confidence."""

from weft.analyse.compare.comparison import PHASES, Compared, Comparison, Summary, compare
from weft.analyse.compare.evidence import FEWEST_LAUNCHES, Evidence
from weft.analyse.compare.gate import Gate, Verdict, decide, exit_code, parse_gate
from weft.analyse.compare.sides import Key, Point, Side, points_of, side_of

__all__ = [
    "FEWEST_LAUNCHES",
    "PHASES",
    "Compared",
    "Comparison",
    "Evidence",
    "Gate",
    "Key",
    "Point",
    "Side",
    "Summary",
    "Verdict",
    "compare",
    "decide",
    "exit_code",
    "parse_gate",
    "points_of",
    "side_of",
]
