# SPDX-License-Identifier: BSD-3-Clause
"""What most of a call's time goes to: a link that was busy for most of it, else the largest part that is known.

A link may have carried something for a third of the time while ranks that came late, or the library's algorithm, took
the rest: then the larger of the two is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from weft.analyse.tables.breakdown import BreakdownRow, Step
from weft.analyse.tables.causes import CauseKind, CauseRow, part_in_words
from weft.analyse.tables.links import HOSTS, BottleneckRow
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, timed
from weft.bound.terms import INJECTION
from weft.format import capital

#: From this share of the time on, a part is what most of it goes to.
MOST = 0.5
#: A part below this share is told as under 1 %.
LEAST = 0.01

STEPS: Mapping[Step, tuple[str, str]] = {
    "messages": ("the cost of messages", "what each message costs beyond the hardware"),
    "contention": ("contention", "messages that meet on their way"),
    "algorithm": ("the library's algorithm", "what the library's algorithm adds to plain rounds"),
    "arrival": ("late ranks", "waiting for ranks that come late"),
}


def causes(
    calls: Iterable[CallRow], breakdown: Sequence[BreakdownRow], bottlenecks: Sequence[BottleneckRow], call: str
) -> list[CauseRow]:
    """A row for each cell whose main call has a time.

    Parameters
    ----------
    calls
        The table of calls.
    breakdown
        The steps of every call that has a breakdown.
    bottlenecks
        What was counted on the links, empty without counters.
    call
        The kernel's main call.
    """
    breakdowns = {key: list(group) for key, group in groupby(breakdown, key=lambda row: (row["cell"], row["call"]))}
    busy = {row["cell"]: row for row in bottlenecks if row["busiest"] and row["name"]}
    return [
        _largest(
            _of_link(row, busy[row["cell"]]) if row["cell"] in busy else None,
            _of_breakdown(row, breakdowns.get((row["cell"], row["call"]), [])),
        )
        or _of_bound(row)
        for row in timed(calls, call, "warm")
    ]


def _largest(link: CauseRow | None, step: CauseRow | None) -> CauseRow | None:
    """The link if it was busy most of the time or longer than the step took, or if that is the hardware: the link."""
    if link is None or step is None or step["kind"] == "hardware":
        return link or step
    busy = link["share"] or 0.0
    return link if busy > MOST or busy >= (step["share"] or 0.0) else step


def _row(row: TimedRow, kind: CauseKind, name: str, share: float | None, short: str, statement: str) -> CauseRow:
    return CauseRow(
        cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], kind=kind, name=name, share=share,
        short=short, statement=statement,
    )  # fmt: skip


def _of_link(row: TimedRow, found: BottleneckRow) -> CauseRow:
    share = found["busiest"]["share"] if found["busiest"] else None
    short = part_in_words(found["name"])
    was, its = ("were the busiest links", "their") if found["name"] == INJECTION else ("was the busiest link", "its")
    busy = f" ({share:.0%} of {its} rate while the calls ran)".replace("%", " %", 1) if share is not None else ""
    return _row(row, "link", found["name"], share, short, f"{capital(short)} {was}{busy}.")


def _of_breakdown(row: TimedRow, steps: Sequence[BreakdownRow]) -> CauseRow | None:
    """The step that adds most, of those that surely add something; None without a breakdown."""
    if not steps:
        return None
    below = [0.0, *(step["seconds"] for step in steps)]
    # alone, messages may take longer than the whole call: no step has more of it than what stands above the floor
    whole, floor = steps[-1]["seconds"], steps[0]["seconds"] if steps[0]["step"] == "hardware" else 0.0
    added = [
        (min(step["seconds"] - before, whole if step["step"] == "hardware" else whole - floor), step)
        for before, step in zip(below, steps, strict=False)
        if step["factor"] is None or (step["factor_low"] or step["factor"]) > 1
    ]
    most, step = max(added, key=lambda each: each[0])
    share = max(0.0, most) / whole
    if step["step"] == "hardware":
        short = what = part_in_words(step["name"])
    else:
        short, what = STEPS[step["step"]]
    much = "Most of the time" if share > MOST else "The largest part of the time"
    return _row(row, step["step"], step["name"], share, short, f"{much}, {_percent(share)}, goes to {what}.")


def _of_bound(row: TimedRow) -> CauseRow:
    """How much the nearest bound explains, if no sample beat it; the rest has no known cause."""
    bound_s = holding_bound_s(row)
    if bound_s is None:
        return _row(row, "unknown", "", None, "", "The cause is not known.")
    share, part = min(1.0, bound_s / row["median_s"]), part_in_words(row["bound"])
    explains = f"{capital(part)} {'explain' if part == HOSTS else 'explains'} {_percent(share)} of the time"
    if share > MOST:
        return _row(row, "bound", row["bound"], share, part, f"{explains}.")
    rest = "the cause is not known" if share < LEAST else "the cause of the rest is not known"
    return _row(row, "unknown", row["bound"], share, "", f"{explains}; {rest}.")


def _percent(share: float) -> str:
    return "under 1 %" if share < LEAST else f"{100 * share:.0f} %"
