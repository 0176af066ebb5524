# SPDX-License-Identifier: BSD-3-Clause
"""Sizes at which the library changes protocol or algorithm, and its eager limit."""

from collections.abc import Sequence

from weft.analyse.claims.known import Known
from weft.analyse.tables.answers import CHANGES, ChangeRow
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.sweeps import Line


def find_thresholds(known: Known, lines: Sequence[Line]) -> list[ClaimRow]:
    """The eager limit of each pattern, or else how many change-overs there are, and sizes slower than their double."""
    limits = [(line, change) for line in lines for change in line.changes if change["eager_limit"]]
    limits.sort(key=lambda each: not each[1]["confirmed"])
    found: dict[str, ClaimRow] = {}
    for line, change in limits:  # a pair has the same limit hot and cold
        found.setdefault(str(line.cell.parameters.get("members", line.name)), _limit(known, line, change))
    jumps = [change for line in lines for change in line.jumps]
    slower = sum(len(line.slower) for line in lines)
    counted = [] if limits else [_count(lines, jumps)]
    doubles = [make_claim("threshold.slower-than-double", "breakdown", "", slower, "count")] if slower else []
    return [*found.values(), *counted, *doubles]


def _limit(known: Known, line: Line, change: ChangeRow) -> ClaimRow:
    ends = (change["low"], change["high"]) if change["low"] != change["high"] else (None, None)
    return make_claim(
        "threshold.eager-limit", "breakdown", line.name, change["factor"], "factor", ends,
        confidence="B" if change["confirmed"] else "A",
        cell=change["cell"], call=change["call"], evidence=[f"change_overs:{_place(known, change)}"],
        lower=change["lower"], upper=change["upper"], confirmed=change["confirmed"],
        knobs=dict(zip(change["knobs"], change["knob_values"], strict=True)), refuted=change["refuted"],
    )  # fmt: skip


def _place(known: Known, change: ChangeRow) -> int:
    return CHANGES.read(known.path).index(change)


def _count(lines: Sequence[Line], jumps: Sequence[ChangeRow]) -> ClaimRow:
    switched = sum(bool(each["algorithm_after"]) for each in jumps)
    confirmed = sum(bool(each["confirmed"]) for each in jumps)
    possible = sum(bool(each["knobs"]) for each in jumps) - confirmed
    return make_claim(
        "threshold.change-overs", "breakdown", "", len(jumps), "count", switched=switched, confirmed=confirmed,
        possible=possible, bends=sum(change["kind"] == "bend" for line in lines for change in line.changes),
    )  # fmt: skip
