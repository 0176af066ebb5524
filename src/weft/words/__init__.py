# SPDX-License-Identifier: BSD-3-Clause
"""Claims in words: nobody else writes sentences about results. Every medium prints a claim as a row of the card."""

from typing import NamedTuple

from weft.analyse.tables.claims import ClaimRow
from weft.bound.terms import COPY, INJECTION, LINK
from weft.format import faster_text, times_text

Said = tuple[str, ...]  # what a row has after its id: label and value, or also a note, or also a command
SAME = 0.005  # a ratio this close to 1 prints as 1.00
PARTS = {INJECTION: "node adapters", COPY: "memory copy"}
CALLS = {"A": "MPI_Alltoall(int)", "B": "MPI_Alltoallv(int)", "C": "MPI_Alltoallv(m-vector)"}


class Row(NamedTuple):
    """A label, a value with its interval, and at most one short clause."""

    id: str  # of the claim
    label: str
    value: str
    note: str = ""
    next: str = ""  # a command to paste; may be empty

    @property
    def text(self) -> str:
        """Value and note on one line."""
        return f"{self.value}   {self.note}" if self.value and self.note else self.value or self.note


def span(claim: ClaimRow) -> tuple[float | None, float | None, float | None]:
    """A claim's value and its interval, as the functions of `weft.format` take them."""
    return claim["value"], claim["low"], claim["high"]


def name_part(name: str) -> str:
    """A bound or link: ``uplink of leaf0``, ``memory copy``, ``node adapters``."""
    place, _, way = name.removeprefix(LINK).strip().rpartition(" ")
    of_link = name.startswith(LINK) and place and way in ("up", "down")
    return f"{way}link of {place}" if of_link else PARTS.get(name, name)


def name_call(call: str) -> str:
    """An operation as MPI names it: ``MPI_Alltoallv(m-vector)`` of ``C``; others keep their own name."""
    return CALLS.get(call, call)


def factor_text(
    ratio: float | None, low: float | None = None, high: float | None = None, coverage: float | None = None
) -> str:
    """``1.25x slower (1.20–1.31)``; without a word where the ratio is 1 in all printed digits."""
    if ratio is not None and low is None and abs(ratio - 1) < SAME:
        return times_text(ratio)
    return faster_text(ratio, low, high, coverage)
