# SPDX-License-Identifier: BSD-3-Clause
"""What a run's own warnings doubt of each cell, so that no headline claims it (METHOD 20)."""

from collections.abc import Iterable, Sequence

from weft.analyse.checks import below_floor, machine, self_checks
from weft.analyse.floor import Floor
from weft.analyse.tables.times import CallRow
from weft.store.rows import MeasuredRow


def doubted_calls(rows: Iterable[CallRow], floor: Floor) -> frozenset[tuple[str, str]]:
    """Cell and call of all warm times that contradict themselves, their bound or the noise floor.

    Nothing is advised for them. What disturbed the machine is left to the quality of the run: it says how much of a run
    was touched.

    Parameters
    ----------
    rows
        The table of calls.
    floor
        The noise floor of the run.
    """
    warm = (row for row in rows if row["phase"] == "warm")
    return frozenset((row["cell"], row["call"]) for row in warm if self_checks([row]) or below_floor([row], floor))


def doubts(rows: Sequence[CallRow], measured: Iterable[MeasuredRow], floor: Floor) -> dict[str, str]:
    """Cell to the first thing that its errors and warnings say against its warm times; cells without are left out.

    Wide intervals are no doubt, since a verdict counts them; nor is a bound that a sample beat: it is the bound that is
    wrong then, and a verdict does not name it.
    """
    found: dict[str, str] = {}
    for row in rows:
        if row["phase"] == "warm":
            for each in (*self_checks([row]), *below_floor([row], floor)):
                found.setdefault(row["cell"], f"{each['where']}: {each['what']}")
    for cell in measured:
        for each in machine([cell]):
            found.setdefault(cell["cell"], f"{each['where']}: {each['what']}")
    return found
