# SPDX-License-Identifier: BSD-3-Clause
"""Scaling verdicts: whether the time falls or rises as nodes (or ranks) are added, by what factor and interval."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from weft.analyse.doubts import Against, least_s
from weft.analyse.statistics.interval import MODELLED, RANGE_OF_PRESETS, RANGES
from weft.analyse.tables.answers import FEWEST_LAUNCHES, NO_STEP, OffNode, Outcome, VerdictRow, answer_of
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, reach, reach_within, timed
from weft.analyse.unfitted import LIBRARY


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


Axis = Literal["nodes", "ranks"]


def verdicts(
    rows: Sequence[CallRow],
    scalings: Mapping[str, str],
    call: str,
    noise_s: float = 0.0,
    doubts: Mapping[str, Sequence[Against]] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> list[VerdictRow]:
    """Verdict on each series that scales, in the study's order."""
    of_series: dict[str, list[CallRow]] = {name: [] for name in scalings}
    for row in rows:
        for name in row["series"]:
            of_series.setdefault(name, []).append(row)
    return [
        verdict(of_series[name], name, kind, call, noise_s, doubts or {}, left_out or {})
        for name, kind in scalings.items()
        if kind == "strong" or kind == "weak"
    ]


def verdict(
    rows: Sequence[CallRow],
    series: str,
    kind: Literal["strong", "weak"],
    call: str,
    noise_s: float = 0.0,
    doubts: Mapping[str, Sequence[Against]] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> VerdictRow:
    """Verdict on one series, without oversubscribed points, cold phases and rows without numbers.

    Measured times of under `FEWEST_LAUNCHES` launches have a factor, but no verdict. Modelled times with a range of
    what their model leaves out have one only if both ends of that range agree.
    """
    own = [row for row in rows if series in row["series"] and row["call"] == call and row["phase"] == "warm"]
    usable = [row for row in timed(own) if not row["oversubscribed"]]
    axis, points = _along(usable)
    if len(points) < 2:
        return _without(series, kind, call, axis, points, own)
    first, last = points[0], points[-1]
    low, high = _between(first, last)
    factor = last["median_s"] / first["median_s"]
    below_noise = abs(last["median_s"] - first["median_s"]) < noise_s
    outcome = _outcome(first, last, below_noise)
    kinds = {first["interval"], last["interval"]}
    exact = kinds == {MODELLED}
    omitted = _of_both((first, last), left_out or {}, ", ") if kinds & RANGES else ""
    fastest = _turning_point(points, axis) if outcome != "no verdict" else None
    bound_s = holding_bound_s(last)
    ratio = last["median_s"] / bound_s if bound_s else None
    found = VerdictRow(
        series=series, kind=kind, call=call, cell=last["cell"], axis=axis, start=first[axis], end=last[axis],
        factor=factor, low=None if exact else low, high=None if exact else high, outcome=outcome,
        fastest=fastest, **off_node(points, axis, exact),
        bound=last["bound"] if bound_s else "", bound_ratio=ratio, left_out=omitted,
        doubts=[], doubt="", allowed_low=None, allowed_high=None,
    )  # fmt: skip
    _judge(found, first, last, doubts or {})
    return found


def _judge(found: VerdictRow, first: TimedRow, last: TimedRow, doubts: Mapping[str, Sequence[Against]]) -> None:
    """Write into a verdict what could turn it, and how far doubts could move its factor."""
    against = turning(found, first, last, doubts)
    found["doubts"] = list(dict.fromkeys(each.doubt for each in against))
    found["doubt"] = "; ".join(dict.fromkeys(each.what for each in against))
    kept, free = without(first, last, doubts), without(first, last, {})
    if kept != free:
        found["allowed_low"], high = kept
        found["allowed_high"] = high if high < float("inf") else None


def _outcome(first: TimedRow, last: TimedRow, below_noise: bool) -> Outcome:
    """What two points of a series show."""
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
    low, high = _between(first, off)
    found = NO_STEP | OffNode(
        off_end=off["nodes"], off_factor=off["median_s"] / first["median_s"], off_low=None if modelled else low,
        off_high=None if modelled else high, beyond_factor=None, beyond_low=None, beyond_high=None,
    )  # fmt: skip
    if last is not off:
        low, high = _between(off, last)
        found["beyond_factor"] = last["median_s"] / off["median_s"]
        found["beyond_low"], found["beyond_high"] = (None, None) if modelled else (low, high)
    return found


def _of_both(points: Iterable[TimedRow], words: Mapping[str, str], between: str) -> str:
    """What is said of the points behind a verdict, each once."""
    return between.join(dict.fromkeys(words[row["cell"]] for row in points if words.get(row["cell"])))


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


def _turning_point(points: Sequence[TimedRow], axis: Axis) -> int | None:
    best = min(points, key=lambda row: row["median_s"])
    inside = best is not points[0] and best is not points[-1]
    return best[axis] if inside and reach_within(best)[1] < reach_within(points[-1])[0] else None


def _without(
    series: str,
    kind: Literal["strong", "weak"],
    call: str,
    axis: Axis,
    points: Sequence[TimedRow],
    own: Sequence[CallRow],
) -> VerdictRow:
    return VerdictRow(
        series=series, kind=kind, call=call, cell="", axis=axis, start=None, end=None, factor=None, low=None, high=None,
        outcome="no verdict", fastest=None, bound="", bound_ratio=None, **NO_STEP, left_out=_reasons(own), doubts=[],
        doubt="", allowed_low=None, allowed_high=None,
    )  # fmt: skip


def _reasons(own: Iterable[CallRow]) -> str:
    """Why points were left out, counted."""
    reasons = [
        "oversubscribed" if row["status"] == "ok" else row["status"]
        for row in own
        if (row["oversubscribed"] or row["status"] != "ok")
    ]
    return ", ".join(f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons))
