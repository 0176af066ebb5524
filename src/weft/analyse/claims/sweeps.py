# SPDX-License-Identifier: BSD-3-Clause
"""Claims on sweeps over sizes: change-overs, the eager limit, and which call or algorithm wins."""

from collections.abc import Callable, Sequence

from weft.analyse.claims.known import Known
from weft.analyse.tables.answers import CHANGES, ChangeRow, WinnerRow
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.sweeps import Line, beats, find_stretches, most_saved
from weft.mpi.alltoall import is_own


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


def name_change(known: Known, change: ChangeRow) -> str:
    """A change-over as evidence of a claim."""
    return f"change_overs:{CHANGES.read(known.path).index(change)}"


def _limit(known: Known, line: Line, change: ChangeRow) -> ClaimRow:
    ends = (change["low"], change["high"]) if change["low"] != change["high"] else (None, None)
    return make_claim(
        "threshold.eager-limit", "breakdown", line.name, change["factor"], "factor", ends,
        confidence="B" if change["confirmed"] else "A", at=change, evidence=[name_change(known, change)],
        lower=change["lower"], upper=change["upper"], confirmed=change["confirmed"],
        knobs=dict(zip(change["knobs"], change["knob_values"], strict=True)), refuted=change["refuted"],
    )  # fmt: skip


def _count(lines: Sequence[Line], jumps: Sequence[ChangeRow]) -> ClaimRow:
    switched = sum(bool(each["algorithm_after"]) for each in jumps)
    confirmed = sum(bool(each["confirmed"]) for each in jumps)
    possible = sum(bool(each["knobs"]) for each in jumps) - confirmed
    return make_claim(
        "threshold.change-overs", "breakdown", "", len(jumps), "count", switched=switched, confirmed=confirmed,
        possible=possible, bends=sum(change["kind"] == "bend" for line in lines for change in line.changes),
    )  # fmt: skip


def claim_winners(
    winners: Sequence[WinnerRow], setting: Callable[[WinnerRow], str] = lambda _: "", following: str = ""
) -> list[ClaimRow]:
    """A claim for each stretch of sizes with a faster algorithm, the one that saves most first.

    ``setting`` is what makes the library take it, ``following`` the command that takes an algorithm of Weft.
    """
    found: list[ClaimRow] = []
    for rows in find_stretches(winners):
        best = most_saved(rows)
        low, high = best["low"], best["high"]
        ends = (1 / high, 1 / low) if low and high and low < high else (None, None)
        found.append(make_claim(
            "collective.faster-algorithm", "answer", best["algorithm"], 1 / best["ratio"], "factor", ends,
            evidence=[f"winners:{winners.index(best)}"], name=f"MPI_{best['call'].capitalize()}",
            first=rows[0]["bytes"], last=rows[-1]["bytes"], bytes=best["bytes"], nodes=best["nodes"],
            ranks=best["ranks"], beaten=sum(map(beats, winners)), of=len(winners), setting=setting(best),
            next=following if is_own(best["algorithm"]) else "",
        ))  # fmt: skip
    return found or [make_claim("collective.none-faster", "answer", "", len(winners), "count")]
