# SPDX-License-Identifier: BSD-3-Clause
"""What most of a call's time goes to: a link that was busy for most of it, else the largest part that is known.

A link may have carried something for a third of the time while ranks that came late, or the library's algorithm, took
the rest: then the larger of the two is named.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from weft.analyse.tables.breakdown import BreakdownRow
from weft.analyse.tables.causes import CauseKind, CauseRow
from weft.analyse.tables.links import BottleneckRow
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, timed

#: From this share of the time on, a part is what most of it goes to.
MOST = 0.5


def causes(
    calls: Iterable[CallRow], breakdown: Sequence[BreakdownRow], bottlenecks: Sequence[BottleneckRow], call: str
) -> list[CauseRow]:
    """A row for each cell whose main call has a time."""
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


def _row(row: TimedRow, kind: CauseKind, name: str, share: float | None) -> CauseRow:
    return CauseRow(
        cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], kind=kind, name=name, share=share
    )  # fmt: skip


def _of_link(row: TimedRow, found: BottleneckRow) -> CauseRow:
    return _row(row, "link", found["name"], found["busiest"]["share"] if found["busiest"] else None)


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
        if step["effect"] in ("floor", "adds")
    ]
    most, step = max(added, key=lambda each: each[0])
    return _row(row, step["step"], step["name"], max(0.0, most) / whole)


def _of_bound(row: TimedRow) -> CauseRow:
    """How much the nearest bound explains, if no sample beat it; the rest has no known cause."""
    bound_s = holding_bound_s(row)
    if bound_s is None:
        return _row(row, "unknown", "", None)
    share = min(1.0, bound_s / row["median_s"])
    return _row(row, "bound" if share > MOST else "unknown", row["bound"], share)
