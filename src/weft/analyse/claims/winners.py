# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms that beat the library's own choice as claims, or that none does."""

from collections.abc import Callable, Sequence

from weft.analyse.tables.answers import WinnerRow
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.sweeps import Stretch, beats, find_stretches
from weft.mpi.alltoall import is_own


def claim_winners(
    winners: Sequence[WinnerRow], setting: Callable[[WinnerRow], str] = lambda _: "", following: str = ""
) -> list[ClaimRow]:
    """A claim for each stretch of sizes with a faster algorithm, the one that saves most first.

    ``setting`` is what makes the library take it, ``following`` the command that takes an algorithm of Weft.
    """
    found = find_stretches(winners)
    if not found:
        return [make_claim("collective.none-faster", "answer", "", len(winners), "count")]
    beaten = sum(map(beats, winners))
    return [_stretch(winners, each, beaten, setting(each.best), following) for each in found]


def _stretch(winners: Sequence[WinnerRow], each: Stretch, beaten: int, setting: str, following: str) -> ClaimRow:
    best = each.best
    low, high = best["low"], best["high"]
    ends = (1 / high, 1 / low) if low and high and low < high else (None, None)
    return make_claim(
        "collective.faster-algorithm", "answer", best["algorithm"], 1 / best["ratio"], "factor", ends,
        evidence=[f"winners:{winners.index(best)}"], name=f"MPI_{best['call'].capitalize()}",
        first=each.rows[0]["bytes"], last=each.rows[-1]["bytes"], bytes=best["bytes"], nodes=best["nodes"],
        ranks=best["ranks"], beaten=beaten, of=len(winners), setting=setting,
        next=following if is_own(best["algorithm"]) else "",
    )  # fmt: skip
