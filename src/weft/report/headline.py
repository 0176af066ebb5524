# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts of a run as the answer to "is it the bottleneck?", in one or two sentences."""

from collections.abc import Sequence

from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.quality import QualityRow, grade_of
from weft.format import measured_factor

SYMBOL = {"nodes": "N", "ranks": "p"}


def claimed(finding: str, cause: str, quality: Sequence[QualityRow]) -> str:
    """What a run may claim: at quality C its finding is not shown, at D no cause is named either."""
    grade = grade_of(quality)
    if grade in ("A", "B"):
        return f"{finding} {cause}".strip()
    reasons = "; ".join(row["what"] for row in quality if row["grade"] == grade)
    told = f"Not shown (quality {grade}): {reasons}."
    what = f"{finding} {cause}".strip() if grade == "C" else finding
    return f"{told} If the numbers hold: {what}" if what else told


def headline(found: Sequence[VerdictRow]) -> str:
    """The answer to "is it the bottleneck?" in one or two plain sentences, from a run's verdicts."""
    told = [each for each in found if each["outcome"] != "no verdict"]
    doubted = next((each for each in told if each["doubt"]), None)
    if doubted is not None:
        statements = " ".join(each["statement"] for each in told)
        return f"Not claimed, because the run's own warnings doubt it ({doubted['doubt']}): {statements}"
    if not told:
        return found[0]["statement"] if found else "This study has no series that scales: no verdict."
    weak = next((each for each in told if each["kind"] == "weak"), None)
    strong = next((each for each in told if each["kind"] == "strong"), None)
    opening = _opening(weak, strong)
    last = weak or strong
    assert last is not None
    return opening + _nearest(last)


def _opening(weak: VerdictRow | None, strong: VerdictRow | None) -> str:
    if weak is not None and weak["factor"] is not None:
        what = (
            "All-to-all communication"
            if weak["axis"] == "nodes"
            else "All-to-all exchange between the ranks of one node"
        )
        span = f"from {weak['start']} to {weak['end']} {weak['axis']}"
        one = weak["axis"].rstrip("s")
        if weak["outcome"] == "rises":
            opening = f"{what} limits scaling: with the same data on each {one} it takes "
            opening += f"{measured_factor(weak['factor'], weak['low'], weak['high'], 'times')} as long {span}"
        else:
            shown = "no change is shown" if weak["outcome"] == "no change shown" else "the time even falls"
            opening = f"{what} does not limit scaling up to here: with the same data on each {one} {shown} {span}, "
            opening += f"factor {measured_factor(weak['factor'], weak['low'], weak['high'])}"
        return opening + (f"; {_strong_clause(strong)}." if strong is not None else ".")
    assert strong is not None and strong["factor"] is not None
    clause = _strong_clause(strong)
    return clause[0].upper() + clause[1:] + "."


def _strong_clause(strong: VerdictRow) -> str:
    assert strong["factor"] is not None
    if strong["outcome"] == "falls":
        return f"with one array divided among all it gets {measured_factor(1 / strong['factor'])} times faster"
    if strong["outcome"] == "rises":
        return f"with one array divided among all it also gets {measured_factor(strong['factor'])} times slower"
    return "with one array divided among all no change is shown"


def _nearest(found: VerdictRow) -> str:
    if not found["bound"] or found["bound_ratio"] is None:
        return ""
    at = f"at {SYMBOL[found['axis']]} = {found['end']}"
    ratio = measured_factor(found["bound_ratio"])
    return f" The nearest lower bound {at} is {found['bound']}: the measured time is {ratio} times it."
