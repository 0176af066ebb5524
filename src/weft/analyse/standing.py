# SPDX-License-Identifier: BSD-3-Clause
"""Whether a verdict stands against what its run says of the two times behind it (METHOD 20)."""

from collections.abc import Collection, Mapping, Sequence

from weft.analyse.doubts import Against, least_s
from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.outcome import answer_of
from weft.analyse.tables.times import TimedRow, reach


def turning(
    found: VerdictRow, first: TimedRow, last: TimedRow, doubts: Mapping[str, Sequence[Against]]
) -> list[Against]:
    """What is said against two points that could turn their verdict's answer: alone, or else all of it together."""
    said = [each for row in (first, last) for each in doubts.get(row["cell"], ())]

    def turns(kept: Collection[Against]) -> bool:
        if any(each.keeps is None for each in kept):
            return True
        return answer_of(found, *without(first, last, doubts, kept)) != answer_of(found)

    if found["outcome"] == "no verdict" or not said or not turns(said):
        return []
    return [each for each in said if turns([each])] or said


def without(
    first: TimedRow, last: TimedRow, doubts: Mapping[str, Sequence[Against]], kept: Collection[Against] | None = None
) -> tuple[float, float]:
    """The interval of t(last) / t(first) if what is said against them is taken off as far as it can be."""
    least = [
        least_s(row, [each for each in doubts.get(row["cell"], ()) if kept is None or each in kept])
        for row in (first, last)
    ]
    return least[1] / reach(first)[1], reach(last)[1] / least[0] if least[0] > 0 else float("inf")
