# SPDX-License-Identifier: BSD-3-Clause
"""Scaling verdicts: whether the time falls or rises as nodes (or ranks) are added, by what factor and interval."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from weft.analyse.doubts import Against, least_s
from weft.analyse.ranges import LIBRARY
from weft.analyse.statistics.interval import MODELLED, RANGE_OF_PRESETS, RANGES
from weft.analyse.tables.answers import FEWEST_LAUNCHES, NO_STEP, OffNode, Outcome, VerdictRow, answer_of
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, reach, reach_within, timed

Axis = Literal["nodes", "ranks"]
Kind = Literal["strong", "weak"]
Calls = Sequence[CallRow]
Doubts = Mapping[str, Sequence[Against]]  # by cell
Words = Mapping[str, str]  # by series or cell
EMPTY: Mapping[str, Any] = {}


def verdicts(
    rows: Calls, scalings: Words, call: str, noise_s: float = 0.0, doubts: Doubts = EMPTY, left_out: Words = EMPTY
) -> list[VerdictRow]:
    """Verdict on each series that scales, in the study's order."""
    return [
        verdict(rows, name, kind, call, noise_s, doubts, left_out)
        for name, kind in scalings.items()
        if kind == "strong" or kind == "weak"
    ]


def verdict(
    rows: Calls, series: str, kind: Kind, call: str, noise_s: float = 0, doubts: Doubts = EMPTY, left_out: Words = EMPTY
) -> VerdictRow:
    """Verdict on one series, without oversubscribed points, cold phases and rows without numbers. None of measured
    times of under `FEWEST_LAUNCHES` launches, nor of modelled ones whose range's ends disagree.
    """
    own = [row for row in rows if series in row["series"] and row["call"] == call and row["phase"] == "warm"]
    axis, points = _along([row for row in timed(own) if not row["oversubscribed"]])
    statuses = (row["status"] for row in own if row["oversubscribed"] or row["status"] != "ok")
    left = Counter("oversubscribed" if status == "ok" else status for status in statuses)
    found = VerdictRow(
        series=series, kind=kind, call=call, cell="", axis=axis, start=None, end=None, factor=None, low=None, high=None,
        outcome="no verdict", fastest=None, bound="", bound_ratio=None, **NO_STEP, doubts=[],
        left_out=", ".join(f"{count} {reason}" for reason, count in left.items()),
        doubt="", allowed_low=None, allowed_high=None,
    )  # fmt: skip
    if len(points) < 2:
        return found
    first, last = points[0], points[-1]
    below_noise = abs(last["median_s"] - first["median_s"]) < noise_s
    outcome, kinds = _outcome(first, last, below_noise), {first["interval"], last["interval"]}
    low, high = (None, None) if kinds == {MODELLED} else _between(first, last)
    omitted = [left_out[row["cell"]] for row in (first, last) if left_out.get(row["cell"])] if kinds & RANGES else []
    bound_s, best = holding_bound_s(last), min(points, key=lambda row: row["median_s"])
    turns = best is not first and best is not last and reach_within(best)[1] < reach_within(last)[0]
    found.update(
        cell=last["cell"], start=first[axis], end=last[axis], factor=last["median_s"] / first["median_s"], low=low,
        high=high, outcome=outcome, fastest=best[axis] if turns and outcome != "no verdict" else None,
        bound=last["bound"] if bound_s else "", bound_ratio=last["median_s"] / bound_s if bound_s else None,
        left_out=", ".join(dict.fromkeys(omitted)), **off_node(points, axis, kinds == {MODELLED}),
    )  # fmt: skip
    _judge(found, first, last, doubts)
    return found


def _judge(found: VerdictRow, first: TimedRow, last: TimedRow, doubts: Doubts) -> None:
    """Write into a verdict what could turn it, alone or else all together, and how far doubts could move its factor."""
    of_first, of_last = (doubts.get(row["cell"], ()) for row in (first, last))

    def without(kept: Sequence[Against]) -> tuple[float, float]:
        """The interval of t(last) / t(first), allowing for the disturbances as far as they can reach."""
        least = least_s(first, [each for each in of_first if each in kept])
        low = least_s(last, [each for each in of_last if each in kept]) / reach(first)[1]
        return low, reach(last)[1] / least if least > 0 else float("inf")

    def turns(kept: Sequence[Against]) -> bool:
        return any(each.keeps is None for each in kept) or answer_of(found, *without(kept)) != answer_of(found)

    said = [*of_first, *of_last]
    if said and found["outcome"] != "no verdict" and turns(said):
        against = [each for each in said if turns([each])] or said
        found["doubts"] = list(dict.fromkeys(each.doubt for each in against))
        found["doubt"] = "; ".join(dict.fromkeys(each.what for each in against))
    low, high = without(said)
    if (low, high) != without([]):
        found["allowed_low"], found["allowed_high"] = low, high if high < float("inf") else None


def _outcome(first: TimedRow, last: TimedRow, below_noise: bool) -> Outcome:
    kinds = {first["interval"], last["interval"]}
    if not kinds <= {MODELLED, *RANGES} and min(first["launches"], last["launches"]) < FEWEST_LAUNCHES:
        return "no verdict"
    low, high = _between(first, last)
    if not below_noise and not low <= 1 <= high:
        return "falls" if last["median_s"] < first["median_s"] else "rises"
    return "undecided" if kinds & RANGES else "no change shown"


def off_node(points: Sequence[TimedRow], axis: Axis, modelled: bool) -> OffNode:
    """The step off the first node and what comes beyond it; `NO_STEP` where the points do not start on one node."""
    if axis != "nodes" or points[0]["nodes"] != 1:
        return NO_STEP
    first, off, last = points[0], points[1], points[-1]
    low, high = (None, None) if modelled else _between(first, off)
    factor = off["median_s"] / first["median_s"]
    beyond = None if last is off else last["median_s"] / off["median_s"]
    beyond_low, beyond_high = (None, None) if modelled or last is off else _between(off, last)
    return OffNode(
        off_end=off["nodes"], off_factor=factor, off_low=low, off_high=high, beyond_factor=beyond,
        beyond_low=beyond_low, beyond_high=beyond_high,
    )  # fmt: skip


def _along(usable: Sequence[TimedRow]) -> tuple[Axis, list[TimedRow]]:
    """The axis along which a series grows, and its points in that order: one for each value."""
    axis: Axis = "nodes" if len({row["nodes"] for row in usable}) > 1 else "ranks"
    if axis == "nodes":  # with the ranks per node that most node counts have; of equals the larger
        shapes = [row["ranks_per_node"] for row in usable]
        most = max(shapes, key=lambda shape: (shapes.count(shape), shape))
        usable = [row for row in usable if row["ranks_per_node"] == most]
    return axis, sorted({row[axis]: row for row in usable}.values(), key=lambda row: row[axis])


def _between(first: TimedRow, last: TimedRow) -> tuple[float, float]:
    """Least and largest factor between two points; what limits both of a model's has one rate, which is in both."""
    if first["interval"] == last["interval"] == RANGE_OF_PRESETS and first["bound"] == last["bound"]:
        pairs = zip((first["median_s"], *reach(first)), (last["median_s"], *reach(last)), strict=True)
        factors = [after / before for before, after in pairs]
        return min(factors) / LIBRARY, max(factors) * LIBRARY
    (first_low, first_high), (last_low, last_high) = reach(first), reach(last)
    return last_low / first_high, last_high / first_low if first_low > 0 else float("inf")
