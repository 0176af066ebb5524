# SPDX-License-Identifier: BSD-3-Clause
"""Repeating phases of a program: stretches of rank 0's calls that come again and again."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import PhaseRow
from weft.analyse.trace.sums import NS, timed_calls
from weft.store.trace.layout import Flag

MOST_CALLS = 1 << 20  # calls of rank 0 that are searched
LONGEST = 4096  # calls in the longest phase that is found
FEWEST = 3  # times that a stretch must come in a row to be a phase
ODD = 0x9E3779B97F4A7C15  # any large odd number: sums that are equal by chance only cost time

Codes = NDArray[np.int64]
Sums = NDArray[np.uint64]


def repeating(codes: Codes, longest: int = LONGEST) -> list[tuple[int, int, int]]:
    """Stretches of codes, (n,), that repeat at once: (first, length, times), what covers most first, none overlap."""
    found: list[tuple[int, int, int]] = []
    sums, powers = _sums(codes)
    for period in range(1, min(longest, len(codes) // FEWEST) + 1):
        for begin, end in _stretches(codes, sums, powers, period):
            if end - begin >= (FEWEST - 1) * period:
                found.append((begin, period, (end - begin) // period + 1))
    found.sort(key=lambda each: (-each[1] * each[2], each[1]))
    free = np.ones(len(codes), bool)
    kept: list[tuple[int, int, int]] = []
    for first, period, times in found:
        covered = slice(first, first + period * times)
        if free[covered].all():
            free[covered] = False
            kept.append((first, period, times))
    return kept


def _sums(codes: Codes) -> tuple[Sums, Sums]:
    """Sums of the first calls, each times a power of an odd number modulo 2^64, and the powers; shape (n + 1,)."""
    powers = np.full(len(codes) + 1, ODD, np.uint64)
    powers[0] = 1
    powers = np.cumprod(powers, dtype=np.uint64)
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[:-1], dtype=np.uint64, out=sums[1:])
    return sums, powers


def _stretches(codes: Codes, sums: Sums, powers: Sums, period: int) -> list[tuple[int, int]]:
    """Longest stretches (begin, end) of calls that equal those a period later, if as long as two periods.

    Such a stretch holds a whole block of calls k * period .. (k + 1) * period, which equals the next one. Blocks are
    compared by their sums (as Karp and Rabin do), n / period of them instead of n calls; then the calls themselves.
    """
    at = sums[::period]
    blocks = at[1:] - at[:-1]
    alike = blocks[:-1] * powers[period] == blocks[1:]
    if not alike.any():
        return []
    found: list[tuple[int, int]] = []
    for begin, end in (_runs(alike) * period).tolist():
        if not np.array_equal(codes[begin:end], codes[begin + period : end + period]):
            return _compared(codes, period)  # two blocks of the same sum
        found.append((_before(codes, period, begin), _after(codes, period, end)))
    return found


def _compared(codes: Codes, period: int) -> list[tuple[int, int]]:
    """The same by comparing every call."""
    runs = _runs(codes[period:] == codes[:-period]).tolist()
    return [(begin, end) for begin, end in runs if end - begin >= 2 * period]


def _runs(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Begin and end of each run of what is true, shape (runs, 2)."""
    return np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).reshape(-1, 2)


def _before(codes: Codes, period: int, begin: int) -> int:
    """Where the stretch begins that reaches ``begin``: less than a period before."""
    first = max(0, begin - period)
    other = np.flatnonzero(codes[first:begin] != codes[first + period : begin + period])
    return first + int(other[-1]) + 1 if len(other) else first


def _after(codes: Codes, period: int, end: int) -> int:
    """Where the stretch ends that reaches ``end``: less than a period after."""
    last = min(len(codes) - period, end + period)
    other = np.flatnonzero(codes[end:last] != codes[end + period : last + period])
    return end + int(other[0]) if len(other) else last


def phases(events: Expression, sites: Sequence[str], most: int = 8) -> list[PhaseRow]:
    """Rows of PHASES, the longest in time first."""
    calls = timed_calls(events)
    own = calls.filter((calls.rank == 0) & (calls.call != "MPI_Start") & ((calls.flags & int(Flag.SUMMARY)) == 0))
    # polls without success come as often as the clock will have it
    polls = own.filter((own.flags & int(Flag.UNFINISHED)) == 0).order_by("event").limit(MOST_CALLS)
    rows = polls.select("event", "call", "site", "begin_ns", "end_ns").to_pyarrow()
    if not rows.num_rows:
        return []
    names, call = np.unique(rows["call"].cast("string").to_numpy(zero_copy_only=False), return_inverse=True)
    begin, end, event, site = (rows[name].to_numpy() for name in ("begin_ns", "end_ns", "event", "site"))
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
    sums: dict[tuple[str, int], float] = defaultdict(float)
    for name, each, seconds in zip(names.tolist(), site.tolist(), took.tolist(), strict=True):
        sums[name, each] += seconds
    best = sorted(sums, key=lambda key: -sums[key])[:3]
    return ", ".join(f"{name} at {sites[each]}" if sites[each] else name for name, each in best)
