# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts of a run as the answer to "is it the bottleneck?": what a run may claim, and in which words."""

from collections.abc import Sequence

from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.causes import CauseRow, part_in_words
from weft.analyse.tables.off_node import off_node_in_words
from weft.analyse.tables.outcome import answer_of, main_verdict
from weft.analyse.tables.quality import QualityRow, grade_of
from weft.format import measured_factor

#: A value and what it is.
Number = tuple[str, str]


def doubted(quality: Sequence[QualityRow]) -> str:
    """Why a run of quality C or D shows nothing; empty for a better one."""
    reasons = reasons_of(quality)
    return f"Not shown (quality {grade_of(quality)}): {reasons}." if reasons else ""


def reasons_of(quality: Sequence[QualityRow]) -> str:
    """What made the quality C or D; empty for a better one."""
    grade = grade_of(quality)
    return "" if grade in ("A", "B") else "; ".join(row["what"] for row in quality if row["grade"] == grade)


def claimed(finding: str, cause: str, quality: Sequence[QualityRow], *, answers: bool = True) -> str:
    """What a run may claim: at quality C its finding is not shown, at D no cause is named either.

    A finding that ``answers`` nothing ("No verdict") does not depend on the numbers, and stands as it is.
    """
    doubt = doubted(quality)
    whole = f"{finding} {cause}".strip()
    if not doubt:
        return whole
    what = finding if grade_of(quality) == "D" else whole
    return f"{doubt} {supposed(what) if answers else what}".strip()


def supposed(text: str) -> str:
    """A statement that hangs on doubtful numbers: ``If the numbers hold, two ranks reach 9 GB/s.``; empty if it is."""
    if not text:
        return ""
    name = text[1:2].isupper() or not text[:1].isalpha()
    return f"If the numbers hold, {text if name else text[0].lower() + text[1:]}"


def if_it_holds(text: str, quality: Sequence[QualityRow]) -> str:
    """A statement; where the quality of its run is C or D, as a supposition."""
    return supposed(text) if doubted(quality) else text


def as_shown(verdict: VerdictRow, quality: Sequence[QualityRow]) -> str:
    """The statement of a verdict; where the quality of its run is C or D, as a supposition."""
    statement = verdict["statement"]
    return statement if verdict["outcome"] == "no verdict" else if_it_holds(statement, quality)


def headline(found: Sequence[VerdictRow]) -> str:
    """The answer to "is it the bottleneck?" in one or two plain sentences, from a run's verdicts."""
    told = [each for each in found if each["outcome"] != "no verdict"]
    if not told:
        return found[0]["statement"] if found else "This study has no series that scales: no verdict."
    weak = next((each for each in told if each["kind"] == "weak"), None)
    strong = next((each for each in told if each["kind"] == "strong"), None)
    clause = _strong_clause(strong, weak) if strong is not None else ""
    if strong is not None and weak is not None and strong["doubt"] and not weak["doubt"]:
        clause = f"with one array divided among all nothing is shown, because the run doubts it ({strong['doubt']})"
    whole = "; ".join(filter(None, (_weak_opening(weak) if weak is not None else "", clause)))
    return f"{whole[0].upper()}{whole[1:]}.{_left_out(told)}"


def glance(found: Sequence[VerdictRow], cause: CauseRow | None) -> str:
    """The answer at a glance: ``Yes: the uplink of leaf0``, ``No, up to 4 nodes``, ``No verdict``."""
    main = main_verdict(found)
    if main is None:
        return "No verdict"
    span = f"up to {main['end']} {main['axis']}"
    if _undecided(main):
        return f"Undecided {span}"
    if main["kind"] == "strong" and main["outcome"] == "falls":
        assert main["factor"] is not None
        return f"It gets {measured_factor(1 / main['factor'], what='times')} faster {span}"
    if main["outcome"] == "rises" and answer_of(main) == "rises":
        return f"Yes: {cause['short']}" if cause and cause["short"] else "Yes, and the cause is not known"
    if main["kind"] == "strong":
        return f"It gets no faster {span}"
    return f"Hardly, {span}" if main["outcome"] == "rises" else f"No, {span}"


def _undecided(row: VerdictRow) -> bool:
    return answer_of(row) == "undecided"


def scale_numbers(found: Sequence[VerdictRow]) -> list[Number]:
    """Growth, and the bound's share of the time at the end of the series that answers; none without a verdict."""
    main = main_verdict(found)
    if main is None or main["factor"] is None:
        return []
    span = f"from {main['start']} to {main['end']} {main['axis']}"
    fixed = "the same data on each" if main["kind"] == "weak" else "one array divided among all"
    ends = (main["low"], main["high"]) if main["left_out"] else ()
    numbers = [(measured_factor(main["factor"], *ends, what="times"), f"the time {span}, {fixed}")]
    if main["bound"] and main["bound_ratio"]:
        share = 100 / main["bound_ratio"]
        told = "under 1 %" if share < 1 else f"{share:.0f} %"
        numbers.append((told, f"of that time is the nearest lower bound, {part_in_words(main['bound'])}"))
    return numbers


def _weak_opening(weak: VerdictRow) -> str:
    assert weak["factor"] is not None
    one = weak["axis"].rstrip("s")
    span = f"from {weak['start']} to {weak['end']} {weak['axis']}"
    if _undecided(weak):
        factor = measured_factor(weak["factor"], weak["low"], weak["high"], "times")
        limits = f"It is undecided whether all-to-all communication limits scaling: with the same data on each {one}"
        return f"{limits} it takes {factor} as long {span}"
    if weak["outcome"] != "rises":
        what = "All-to-all communication" if one == "node" else "All-to-all exchange between the ranks of one node"
        shown = "no change is shown" if weak["outcome"] == "no change shown" else "the time even falls"
        factor = measured_factor(weak["factor"], weak["low"], weak["high"])
        same = f"with the same data on each {one}"
        return f"{what} does not limit scaling up to here: {same} {shown} {span}, factor {factor}"
    times = measured_factor(weak["factor"], weak["low"], weak["high"], "times")
    if one == "rank":
        return f"{weak['end']} ranks take {times} as long as {_count(weak['start'])}, with the same data on each"
    step = off_node_in_words(weak, weak["end"]) or f"it takes {times} as long {span}"
    if answer_of(weak) == "hardly rises":
        return f"All-to-all communication hardly limits scaling up to here: with the same data on each node, {step}"
    return f"All-to-all communication limits scaling: with the same data on each node, {step}"


def _count(number: int | None) -> str:
    return "one" if number == 1 else f"{number}"


def _left_out(told: Sequence[VerdictRow]) -> str:
    """A sentence on what the ranges in a headline come from; empty where the model leaves nothing out."""
    causes = dict.fromkeys(cause for each in told for cause in each["left_out"].split(", ") if cause)
    return f" Ranges are of what the model leaves out: {', '.join(causes)}." if causes else ""


def _strong_clause(strong: VerdictRow, weak: VerdictRow | None) -> str:
    factor = strong["factor"]
    assert factor is not None
    low, high = (strong["low"], strong["high"]) if strong["left_out"] or _undecided(strong) else (None, None)
    slower = measured_factor(factor, low, high, "times")
    if _undecided(strong):
        return f"with one array divided among all it is undecided whether it gets faster: {slower} the time"
    if strong["outcome"] == "falls":
        faster = measured_factor(1 / factor, 1 / high if high else None, 1 / low if low else None, "times")
        return f"with one array divided among all it gets {faster} faster"
    if strong["outcome"] == "rises":
        also = "" if weak is None else "also " if weak["outcome"] == "rises" else "even "
        return f"with one array divided among all it {also}gets {slower} slower"
    return "with one array divided among all no change is shown"
