# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm to take where, in sentences, with what it saves; and where none is shown to be faster."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from weft.analyse.tables.answers import FEWEST_LAUNCHES, WinnerRow
from weft.format import exact_bytes, measured_factor, plural
from weft.kernel.line_name import cell_place
from weft.mpi.algorithms import DEFAULT, algorithms, setting
from weft.mpi.alltoall import is_own
from weft.report.headline import Number

#: So many stretches are told; the table of winners has all.
TOLD = 3
NONE = "No algorithm is shown to beat the library's own choice"


class Stretch(NamedTuple):
    """Neighbouring sizes of one call and shape at which the same algorithm beats the library's own choice."""

    rows: tuple[WinnerRow, ...]

    @property
    def best(self) -> WinnerRow:
        """The row at which it saves most."""
        return min(self.rows, key=lambda row: row["ratio"])


def beats(row: WinnerRow) -> bool:
    """Whether another algorithm is shown to be faster, its interval included."""
    return row["algorithm"] != DEFAULT and row["high"] is not None and row["high"] < 1


def stretches(found: Iterable[WinnerRow]) -> list[Stretch]:
    """The stretches at which the library's own choice is beaten, the one that saves most first."""
    own: list[Stretch] = []
    ordered = sorted(found, key=lambda row: (row["call"], row["nodes"], row["ranks"], row["bytes"]))
    for _, shape in groupby(ordered, key=lambda row: (row["call"], row["nodes"], row["ranks"])):
        for name, rows in groupby(shape, key=lambda row: row["algorithm"] if beats(row) else DEFAULT):
            own += [Stretch(tuple(rows))] if name != DEFAULT else []
    return sorted(own, key=lambda each: each.best["ratio"])


def won_line(found: Sequence[WinnerRow]) -> str:
    """The answer at a glance: ``pairwise saves up to 65 %``."""
    own = stretches(found)
    if not own:
        return NONE
    best = own[0].best
    return f"{best['algorithm']} saves up to {100 * (1 - best['ratio']):.0f} %"


def won_finding(found: Sequence[WinnerRow]) -> str:
    """What to take where, by how much, and at how many points nothing is shown to be faster."""
    own = stretches(found)
    if not own:
        return f"{NONE} at any of {plural(len(found), 'point')} (call, size and number of processes)."
    told = "; ".join(_told(each) for each in own[:TOLD])
    more = f"; {plural(len(own) - TOLD, 'more range')} of sizes in the table" if len(own) > TOLD else ""
    left = sum(not beats(row) for row in found)
    rest = f" At {left} of {plural(len(found), 'point')} no algorithm is shown to be faster." if left else ""
    return f"{told}{more}.{rest}"


def _told(each: Stretch) -> str:
    """``pairwise beats the library's own choice in MPI_Alltoall at 4 KiB (N = 1, p = 4): it takes 0.6 of its time``."""
    best, first, last = each.best, each.rows[0], each.rows[-1]
    size = exact_bytes(best["bytes"])
    sizes = f"from {exact_bytes(first['bytes'])} to {exact_bytes(last['bytes'])}" if first is not last else f"at {size}"
    at = f"at {size} it takes" if first is not last else "it takes"
    place = cell_place(best["nodes"], best["ranks"], oversubscribed=False)
    return (
        f"{best['algorithm']} beats the library's own choice in MPI_{best['call'].capitalize()} {sizes} ({place}): "
        f"{at} {_of_its_time(best)} of its time"
    )


def _of_its_time(row: WinnerRow) -> str:
    low, high = row["low"], row["high"]
    exact = low is None or high is None or low >= high
    return measured_factor(row["ratio"], None if exact else low, None if exact else high)


def won_numbers(found: Sequence[WinnerRow]) -> list[Number]:
    """What the best algorithm takes, and at how many points the library's own choice is beaten."""
    own = stretches(found)
    count = (f"{sum(map(beats, found))} of {len(found)}", "points at which the library's own choice is beaten")
    if not own:
        return [count]
    best = own[0].best
    place = cell_place(best["nodes"], best["ranks"], oversubscribed=False)
    where = f"MPI_{best['call'].capitalize()} at {exact_bytes(best['bytes'])}, {place}"
    return [(_of_its_time(best), f"of the library's time takes {best['algorithm']}: {where}"), count]


def won_advice(found: Sequence[WinnerRow], library: str) -> str:
    """How the algorithm that saves most is taken: by a table of Weft's, or by variables of the library.

    Parameters
    ----------
    found
        The winners.
    library
        The MPI library's version string.
    """
    own = stretches(found)
    if not own:
        return ""
    best = own[0].best
    if is_own(best["algorithm"]):
        return "To try: `weft exec --table TABLE`, with the table that `weft tune` writes."
    known = algorithms(library, best["call"], best["ranks"])
    chosen = next((each for each in known if each.name == best["algorithm"]), None)
    values = setting(library, best["call"], chosen) if chosen else {}
    return f"To try: {' '.join(f'{name}={value}' for name, value in values.items())}." if values else ""


def too_few(launches: int) -> str:
    """Why no winner is named."""
    timed = plural(launches, "launch")
    return f"No winner is named: each algorithm was timed in {timed}, and {FEWEST_LAUNCHES} are needed."
