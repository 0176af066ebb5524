# SPDX-License-Identifier: BSD-3-Clause
"""The verdict: does the time fall as nodes (or ranks) are added, does it rise, by what factor, how surely."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Row = dict[str, Any]
Axis = Literal["nodes", "ranks"]
Outcome = Literal["falls", "rises", "no change shown", "no verdict"]

SYMBOL = {"nodes": "N", "ranks": "p"}
KEPT = {"strong": "With the whole array kept the same", "weak": "With the array of each {one} kept the same"}


@dataclass(frozen=True)
class Verdict:
    """What a series says about scaling.

    Attributes
    ----------
    kind
        ``strong``: one global array for all points; ``weak``: one local array.
    axis
        What grows: ``nodes`` where the series has points on several numbers of nodes, else ``ranks``.
    start, end
        Smallest and largest usable point on the axis; None without a verdict.
    factor, low, high
        t(end) / t(start), and its conservative interval: from the worst ends of both medians' 95 % intervals, widened
        to the smallest and largest median of a launch.
    outcome
        ``falls``, ``rises``, ``no change shown`` (the interval holds 1, or the difference is below the noise floor), or
        ``no verdict``.
    fastest
        Point of the smallest time, where that is neither start nor end and surely below the end's; else None.
    bound, bound_ratio
        The lower bound nearest at the end point, and the measured time over it.
    statement
        All of it in one or two sentences.
    """

    series: str
    kind: Literal["strong", "weak"]
    call: str
    axis: Axis
    start: int | None
    end: int | None
    factor: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    fastest: int | None
    bound: str
    bound_ratio: float | None
    statement: str

    def as_json(self) -> Row:
        """The verdict as ``weft show --format json`` writes it: start and end are called ``from`` and ``to`` there."""
        row = asdict(self)
        return {{"start": "from", "end": "to"}.get(key, key): value for key, value in row.items()}


def verdicts(rows: Sequence[Row], scalings: Mapping[str, str], call: str, noise_s: float = 0.0) -> list[Verdict]:
    """Verdict of each series that scales, in the study's order.

    Parameters
    ----------
    rows
        The table of calls.
    scalings
        Series name to ``strong``, ``weak`` or ``none``.
    call
        The kernel's main call.
    noise_s
        Time of an empty operation: a smaller difference is no difference (METHOD 21).
    """
    return [
        verdict(rows, name, kind, call, noise_s)
        for name, kind in scalings.items()
        if kind == "strong" or kind == "weak"
    ]


def verdict(
    rows: Sequence[Row], series: str, kind: Literal["strong", "weak"], call: str, noise_s: float = 0.0
) -> Verdict:
    """Verdict of one series; oversubscribed points, cold phases and rows without numbers never enter it."""
    own = [row for row in rows if series in row["series"] and row["call"] == call and row["phase"] == "warm"]
    usable = [row for row in own if row["status"] == "ok" and row["median_s"] and not row["oversubscribed"]]
    axis, points = _along(usable)
    if len(points) < 2:
        return _without(series, kind, call, axis, points, own)
    first, last = points[0], points[-1]
    low, high = _between(first, last)
    factor = last["median_s"] / first["median_s"]
    below_noise = abs(last["median_s"] - first["median_s"]) < noise_s
    outcome: Outcome = "no change shown" if below_noise or low <= 1 <= high else "falls" if factor < 1 else "rises"
    fastest = _turning_point(points, axis)
    ratio = last["median_s"] / last["bound_s"] if last["bound_s"] else None
    found = Verdict(
        series, kind, call, axis, first[axis], last[axis], factor, low, high, outcome, fastest, last["bound"], ratio, ""
    )
    return replace(found, statement=_statement(found, first, last, below_noise))


def _along(usable: Sequence[Row]) -> tuple[Axis, list[Row]]:
    """What grows in a series, and its points in that order: one for each value."""
    axis: Axis = "nodes" if len({row["nodes"] for row in usable}) > 1 else "ranks"
    if axis == "nodes":  # along the nodes with as many ranks on each as most node counts have; the larger of equals
        shapes = [row["ranks_per_node"] for row in usable]
        most = max(shapes, key=lambda shape: (shapes.count(shape), shape))
        usable = [row for row in usable if row["ranks_per_node"] == most]
    return axis, sorted({row[axis]: row for row in usable}.values(), key=lambda row: row[axis])


def reach(row: Row) -> tuple[float, float]:
    """Smallest and largest value the median may have: its interval, widened to the medians of the launches."""
    return min(row["low_s"], row["launch_low_s"]), max(row["high_s"], row["launch_high_s"])


def _between(first: Row, last: Row) -> tuple[float, float]:
    (first_low, first_high), (last_low, last_high) = reach(first), reach(last)
    return last_low / first_high, last_high / first_low if first_low > 0 else float("inf")


def _turning_point(points: Sequence[Row], axis: Axis) -> int | None:
    best = min(points, key=lambda row: row["median_s"])
    inside = best is not points[0] and best is not points[-1]
    return best[axis] if inside and reach(best)[1] < reach(points[-1])[0] else None


def _without(
    series: str, kind: Literal["strong", "weak"], call: str, axis: Axis, points: Sequence[Row], own: Sequence[Row]
) -> Verdict:
    left_out = _reasons(own)
    have = "no point has" if not points else f"only {SYMBOL[axis]} = {points[0][axis]} has"
    statement = f"No verdict on {kind} scaling ({series}): {have} usable times of {call}"
    statement += f" ({left_out})." if left_out else ", and two are needed."
    return Verdict(series, kind, call, axis, None, None, None, None, None, "no verdict", None, "", None, statement)


def _reasons(own: Iterable[Row]) -> str:
    """Why points were left out, counted."""
    reasons = ["oversubscribed" if row["status"] == "ok" else row["status"] for row in own if _left_out(row)]
    return ", ".join(f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons))


def _left_out(row: Row) -> bool:
    return row["oversubscribed"] or row["status"] != "ok"


def times(factor: float) -> str:
    """A factor in words' digits: two or three of them."""
    return f"{factor:.2f}" if factor < 10 else f"{factor:.1f}" if factor < 100 else f"{factor:,.0f}"


def _statement(found: Verdict, first: Row, last: Row, below_noise: bool) -> str:
    assert found.factor is not None and found.low is not None and found.high is not None
    one = "node" if found.axis == "nodes" else "rank"
    symbol = SYMBOL[found.axis]
    kept = KEPT[found.kind].format(one=one)
    span = f"from {symbol} = {found.start} to {found.end}"
    if found.outcome == "falls":
        faster = f"{times(1 / found.factor)} times faster ({times(1 / found.high)}–{times(1 / found.low)})"
        share = f" on {times(last[found.axis] / first[found.axis]).rstrip('0').rstrip('.')} times the {one}s"
        text = f"{kept}, the time falls {span}: {faster}{share}."
    elif found.outcome == "rises":
        text = f"{kept}, the time rises {span} by a factor of {times(found.factor)}"
        text += f" ({times(found.low)}–{times(found.high)})."
    else:
        why = "the difference is below the noise floor" if below_noise else "the interval holds 1"
        text = f"{kept}, no change is shown {span}: factor {times(found.factor)}"
        text += f" ({times(found.low)}–{times(found.high)}; {why})."
    if found.fastest is not None:
        text += f" It is fastest at {symbol} = {found.fastest} and slower beyond."
    return text


def headline(found: Sequence[Verdict]) -> str:
    """The answer to "is it the bottleneck?" in one or two plain sentences, from a run's verdicts."""
    told = [each for each in found if each.outcome != "no verdict"]
    if not told:
        return found[0].statement if found else "This study has no series that scales: no verdict."
    weak = next((each for each in told if each.kind == "weak"), None)
    strong = next((each for each in told if each.kind == "strong"), None)
    opening = _opening(weak, strong)
    last = weak or strong
    assert last is not None
    return opening + _nearest(last)


def _opening(weak: Verdict | None, strong: Verdict | None) -> str:
    if weak is not None and weak.factor is not None:
        what = (
            "All-to-all communication" if weak.axis == "nodes" else "All-to-all exchange between the ranks of one node"
        )
        span = f"from {weak.start} to {weak.end} {weak.axis}"
        one = weak.axis.rstrip("s")
        interval = f"({times(weak.low or 0)}–{times(weak.high or 0)})"
        if weak.outcome == "rises":
            opening = f"{what} limits scaling: with the same data on each {one} it takes {times(weak.factor)} times "
            opening += f"{interval} as long {span}"
        else:
            shown = "no change is shown" if weak.outcome == "no change shown" else "the time even falls"
            opening = f"{what} does not limit scaling up to here: with the same data on each {one} {shown} {span}, "
            opening += f"factor {times(weak.factor)} {interval}"
        return opening + (f"; {_strong_clause(strong)}." if strong is not None else ".")
    assert strong is not None and strong.factor is not None
    clause = _strong_clause(strong)
    return clause[0].upper() + clause[1:] + "."


def _strong_clause(strong: Verdict) -> str:
    assert strong.factor is not None
    if strong.outcome == "falls":
        return f"with one array shared by all it gets {times(1 / strong.factor)} times faster"
    if strong.outcome == "rises":
        return f"with one array shared by all it gets slower too, {times(strong.factor)} times"
    return "with one array shared by all no change is shown"


def _nearest(found: Verdict) -> str:
    if not found.bound or found.bound_ratio is None:
        return ""
    at = f"at {SYMBOL[found.axis]} = {found.end}"
    return f" The nearest lower bound {at} is {found.bound}: the measured time is {times(found.bound_ratio)} times it."
