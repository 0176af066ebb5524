# SPDX-License-Identifier: BSD-3-Clause
"""Which collective is furthest above its alternative, or else above its bound."""

from collections.abc import Iterable, Sequence

from weft.analyse.claims.kernels.exchange import find_bottleneck
from weft.analyse.claims.known import Known
from weft.analyse.claims.thresholds import find_thresholds
from weft.analyse.tables.answers import FEWEST_LAUNCHES
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, make_claim
from weft.analyse.tables.sweeps import (
    Line,
    Stretch,
    beats,
    common_rows,
    find_stretches,
    largest_lines,
    own_lines,
    size_of,
)
from weft.analyse.tables.times import TimedRow, holding_bound_s, reach
from weft.mpi.algorithms import DEFAULT, algorithms, setting
from weft.mpi.alltoall import is_own

UNTIMED = "collective.untimed"


def find_claims(known: Known) -> list[ClaimRow]:
    """Algorithms that beat the library's own choice; without rivals the call furthest above its bound."""
    lines = own_lines(known.lines)
    rest = find_thresholds(known, lines)
    if known.winners:
        return [*_won(known), *rest]
    launches = few_launches(known.lines)
    if launches:
        options = ("--launches", str(FEWEST_LAUNCHES))
        few = make_claim(f"collective.{INCONCLUSIVE}", "answer", launches=launches, next=known.again(*options))
        return [few, *rest]
    return [*_above_bound(known, largest_lines(lines)), *rest]


def few_launches(lines: Sequence[Line]) -> int:
    """In how many launches rival algorithms were timed, if those are too few to name a winner; else 0."""
    rivals = {line.algorithm for line in lines}
    if DEFAULT not in rivals or len(rivals) < 2:
        return 0
    launches = min(row["launches"] for line in lines for row in line.rows)
    return launches if launches < FEWEST_LAUNCHES else 0


def _won(known: Known) -> list[ClaimRow]:
    beaten = sum(map(beats, known.winners))
    found = find_stretches(known.winners)
    if not found:
        return [make_claim("collective.none-faster", "answer", "", len(known.winners), "count")]
    return [_stretch(known, each, beaten) for each in found]


def _stretch(known: Known, each: Stretch, beaten: int) -> ClaimRow:
    best = each.best
    ends = (1 / best["high"] if best["high"] else None, 1 / best["low"] if best["low"] else None)
    library = " ".join(known_setting(known, best["call"], best["ranks"], best["algorithm"]))
    return make_claim(
        "collective.faster-algorithm", "answer", best["algorithm"], 1 / best["ratio"], "factor", ends,
        evidence=[f"winners:{known.winners.index(best)}"], name=f"MPI_{best['call'].capitalize()}",
        first=each.rows[0]["bytes"], last=each.rows[-1]["bytes"], bytes=best["bytes"], nodes=best["nodes"],
        ranks=best["ranks"], beaten=beaten, of=len(known.winners), setting=library,
        next="weft exec --table TABLE" if is_own(best["algorithm"]) else "",
    )  # fmt: skip


def known_setting(known: Known, call: str, ranks: int, name: str) -> Iterable[str]:
    """``NAME=VALUE`` for each variable of the library that chooses an algorithm."""
    library = known.library
    chosen = next((each for each in algorithms(library, call, ranks) if each.name == name), None)
    return (f"{key}={value}" for key, value in (setting(library, call, chosen) if chosen else {}).items())


def _above_bound(known: Known, lines: Sequence[Line]) -> list[ClaimRow]:
    rows = common_rows(lines) or [(line, line.rows[-1]) for line in lines]
    if not rows:
        return [make_claim(UNTIMED, "answer")]
    bounded = [(row["median_s"] / bound_s, line, row) for line, row in rows if (bound_s := holding_bound_s(row))]
    if not bounded:
        line, row = max(rows, key=lambda each: each[1]["median_s"])
        return [_call(known, "collective.slowest", line, row)]
    _, line, row = max(bounded, key=lambda each: each[0])
    return [_call(known, "collective.above-bound", line, row), *find_bottleneck(known, row["cell"], row["call"])]


def _call(known: Known, id: str, line: Line, row: TimedRow) -> ClaimRow:
    bound_s, (low, high) = holding_bound_s(row), reach(row)
    of = bound_s or 1.0
    return make_claim(
        id, "answer", line.name, row["median_s"] / of, "factor" if bound_s else "seconds",
        (low / of, high / of) if row["low_s"] else (None, None), bound=bound_s, coverage=row["coverage"],
        cell=row["cell"], call=row["call"], bytes=size_of(row), seconds=row["median_s"], limit=row["bound"],
        nodes=row["nodes"], ranks=row["ranks"], calls=len(largest_lines(own_lines(known.lines))),
    )  # fmt: skip
