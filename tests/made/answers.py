# SPDX-License-Identifier: BSD-3-Clause
"""A run's tables read back, so that its answers can be computed again without the rest."""

from pathlib import Path

from weft.analyse.floor import Floor
from weft.analyse.make import Found
from weft.analyse.tables.breakdown import LINKS, TURNS
from weft.analyse.tables.times import CALLS, FLOOR, MEDIANS
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan
from weft.store.rows import MEASURED


def found_in(root: Path, plan: Plan) -> Found:
    """Read the tables from which answers are computed; DataError if one is missing or incomplete."""
    of_pairs = frozenset(cell.id for cell in plan.cells if kernel_named(cell.kernel).has_pair_samples)
    rows, medians, links = CALLS.read(root), MEDIANS.read(root), LINKS.read(root)
    return Found(plan, rows, medians, links, MEASURED.read(root), Floor(FLOOR.read(root)), of_pairs, TURNS.read(root))
