# SPDX-License-Identifier: BSD-3-Clause
"""Repeating phases of a program: stretches of rank 0's calls that come again and again."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import PhaseRow
from weft.analyse.trace.sums import NS, calls_of
from weft.store.trace.layout import Flag

MOST_CALLS = 1 << 20
"""Calls of rank 0 that are searched."""
LONGEST = 4096
"""Calls in the longest phase that is found."""
FEWEST = 3
"""Times that a stretch must come in a row to be a phase."""

Codes = NDArray[np.int64]


def repeating(codes: Codes, longest: int = LONGEST) -> list[tuple[int, int, int]]:
    """Stretches that repeat at once, as (first, length, times), the one that covers most first; none overlap.

    Parameters
    ----------
    codes
        What each call is, shape (n,), any unit: equal codes are equal calls.
    longest
        Of the periods that are tried.
    """
    found: list[tuple[int, int, int]] = []
    for period in range(1, min(longest, len(codes) // FEWEST) + 1):
        same = codes[period:] == codes[:-period]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            times = int(end - begin) // period + 1
            if times >= FEWEST:
                found.append((int(begin), period, times))
    found.sort(key=lambda each: (-each[1] * each[2], each[1]))
    free = np.ones(len(codes), bool)
    kept: list[tuple[int, int, int]] = []
    for first, period, times in found:
        covered = slice(first, first + period * times)
        if free[covered].all():
            free[covered] = False
            kept.append((first, period, times))
    return kept


def phases(events: Expression, sites: Sequence[str], most: int = 8) -> list[PhaseRow]:
    """Rows of PHASES, the longest in time first.

    Parameters
    ----------
    events
        All events.
    sites
        Text of each call site, by its number.
    most
        Phases that are told.
    """
    calls = calls_of(events)
    own = calls.filter((calls.rank == 0) & (calls.call != "MPI_Start") & ((calls.flags & int(Flag.SUMMARY)) == 0))
    # polls without success come as often as the clock will have it
    polls = own.filter((own.flags & int(Flag.UNFINISHED)) == 0).order_by("event").limit(MOST_CALLS)
    rows = polls.select("event", "call", "site", "begin_ns", "end_ns").to_pyarrow()
    if not rows.num_rows:
        return []
    names, call = np.unique(rows["call"].cast("string").to_numpy(zero_copy_only=False), return_inverse=True)
    site = rows["site"].to_numpy()
    begin, end, event = (rows[name].to_numpy() for name in ("begin_ns", "end_ns", "event"))
    found: list[PhaseRow] = []
    for first, period, times in repeating(call.astype(np.int64) * (int(site.max()) + 1) + site):
        within = slice(first, first + period * times)
        took = (end[within] - begin[within]) * NS
        found.append(
            PhaseRow(
                first_event=int(event[first]), calls=period, times=times, begin_s=float(begin[first] - begin[0]) * NS,
                seconds=float(end[within][-1] - begin[first]) * NS, mpi_s=float(took.sum()),
                text=_longest(names[call[within]], site[within], took, sites),
            )
        )  # fmt: skip
    return sorted(found, key=lambda row: -row["seconds"])[:most]


def _longest(names: NDArray[np.str_], site: NDArray[np.int32], took: NDArray[np.float64], sites: Sequence[str]) -> str:
    """The three call sites with most time."""
    keys = [(str(name), int(each)) for name, each in zip(names, site, strict=True)]
    sums: dict[tuple[str, int], float] = {}
    for key, seconds in zip(keys, took, strict=True):
        sums[key] = sums.get(key, 0.0) + float(seconds)
    best = sorted(sums, key=lambda key: -sums[key])[:3]
    return ", ".join(f"{name} at {sites[each]}" if sites[each] else name for name, each in best)
