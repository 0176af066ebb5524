# SPDX-License-Identifier: BSD-3-Clause
"""Times against message size, as the change-over detector reads them: one value per size and its error.

Launches differ as a whole (one process placement is a little slower than another at every size): that offset is
removed first. The remaining scatter between launches at one size is the noise. Its variance at a size combines the
size's own with the median of its neighbours', so that one disturbed launch does not count as noise everywhere. With a
single launch, the interval of the median is used instead.

On a shared machine, most samples of a launch can be disturbed, and with them its median, but not its fastest samples.
If the fastest samples of the launches agree much better than their medians, they are used instead. If others
may have taken half the time of a launch at a size, that launch is left out at that size. Both decisions use only the
scatter between launches and the time that others took (METHOD 11), never the shape of the curve. A
size that fewer than half of the launches measured (refining ran out of its budget) has a launch's own speed for its
time: it decides nothing, and its error is infinite.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.analyse.tables.times import RARE, CallRow, MedianRow, TimedRow, may_be_half, reach_within, timed
from weft.analyse.thresholds.fit import Numbers
from weft.kernel.sizes import in_all, split_op

Statistic = Literal["median", "fastest"]

#: The fastest samples are used if their errors are under this share of the medians'.
QUIETER = 0.5
#: Least relative error of a time: rounding to nanoseconds, and alignment effects.
SUREST = 0.003
#: Weight of the neighbours' variance, in launches; a size's own variance has the weight of its launches.
PRIOR_LAUNCHES = 4
NEIGHBOURS = 5
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class SizeSeries:
    """Warm times of one operation of one cell, by size."""

    # cell, name: the cell, and the operation without its size: ``alltoall``
    cell: str
    name: str
    sizes: tuple[int, ...]  # bytes, ascending
    # seconds, errors: time at each size over all launches with their offsets removed, and its relative standard error:
    # infinite if every launch was disturbed, or fewer than half of them measured it
    seconds: Numbers
    errors: Numbers
    launches: int  # degrees of freedom of the errors from the launches; 0 for one launch
    rows: tuple[TimedRow, ...]  # the rows of the table of calls, one per size
    statistic: Statistic = "median"  # which value of each launch is used: its median, or its fastest sample


def size_series(rows: Iterable[CallRow], medians: Iterable[MedianRow]) -> list[SizeSeries]:
    """Every series of sizes within a cell, in the order it was measured."""
    groups: dict[tuple[str, str], dict[int, TimedRow]] = {}
    for row in timed(rows, phase="warm"):
        name, size = split_op(row["call"])
        if size is not None:
            groups.setdefault((row["cell"], name), {})[size] = row
    steady = _undisturbed([row for row in medians if row["phase"] == "warm"])
    usual, fastest = _by_launch(steady, "median_s"), _by_launch(steady, "min_s")
    return [
        _quieter(
            make_series(*key, [found[size] for size in sorted(found)], usual.get(key, {})),
            make_series(*key, [found[size] for size in sorted(found)], fastest.get(key, {}), "fastest"),
        )
        for key, found in groups.items()
    ]


def block_series(rows: Iterable[CallRow], medians: Iterable[MedianRow], call: str) -> list[SizeSeries]:
    """Series over the block sizes of cells with the same shape, if each size is a cell of its own.

    Their launches are not the same, so no offset of a launch is removed. `rows`, `medians`: see `size_series`; of
    several cells with one shape and block the first is used.
    """
    groups: dict[tuple[str, int, int, int], dict[int, TimedRow]] = {}
    for row in timed(rows, call, "warm"):
        if split_op(call)[1] is None and row["block_bytes"]:
            shape = (row["kernel"], row["nodes"], row["ranks_per_node"], row["ranks"])
            groups.setdefault(shape, {}).setdefault(row["block_bytes"], row)
    of_cell: dict[str, list[MedianRow]] = {}
    for row in _undisturbed([row for row in medians if (row["call"], row["phase"]) == (call, "warm")]):
        of_cell.setdefault(row["cell"], []).append(row)
    found: list[SizeSeries] = []
    for sizes in groups.values():
        own = [sizes[size] for size in sorted(sizes)]
        launches: dict[int, dict[int, float]] = {}
        for row in own:
            for each in of_cell.get(row["cell"], []):
                launches.setdefault(each["launch"], {})[row["block_bytes"]] = each["median_s"]
        found.append(make_series(own[0]["cell"], call, own, launches, together=False))
    return found


def size_of(row: TimedRow) -> int:
    """Bytes in the name of a row's call, otherwise the block size of its cell."""
    size = split_op(row["call"])[1]
    return row["block_bytes"] if size is None else size


def _undisturbed(medians: Sequence[MedianRow]) -> list[MedianRow]:
    """Rows without those of which others may have taken half the time or more.

    A series keeps all its rows if fewer than half would remain: a kernel that only flags switches flags all ranks that
    yield.
    """
    clean = [row for row in medians if not may_be_half(row)]
    every, stay = (Counter(map(_series_of, rows)) for rows in (medians, clean))
    poor = {series for series, count in every.items() if 2 * stay[series] < count}
    return [row for row in medians if _series_of(row) in poor] + [row for row in clean if _series_of(row) not in poor]


def _series_of(row: MedianRow) -> tuple[str, str]:
    """Cell and operation, without the size."""
    return row["cell"], split_op(row["call"])[0]


def _by_launch(
    medians: Iterable[MedianRow], column: Literal["median_s", "min_s"]
) -> dict[tuple[str, str], dict[int, dict[int, float]]]:
    """Cell and operation -> launch -> size -> seconds."""
    found: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for row in medians:
        name, size = split_op(row["call"])
        if size is not None and (row.get(column) or 0.0) > 0:  # pyrefly: ignore[unsupported-operation]
            found.setdefault((row["cell"], name), {}).setdefault(row["launch"], {})[size] = row[column]
    return found


def _quieter(usual: SizeSeries, fastest: SizeSeries) -> SizeSeries:
    """The medians, or the fastest samples if these agree between launches much better than the medians."""
    if not fastest.launches or np.median(fastest.errors) >= QUIETER * np.median(usual.errors):
        return usual
    return fastest


def make_series(
    cell: str,
    name: str,
    rows: Sequence[TimedRow],
    launches: Mapping[int, Mapping[int, float]],
    statistic: Statistic = "median",
    *,
    together: bool = True,
) -> SizeSeries:
    """One series from its rows, ascending in size, and the median (or fastest sample) of each launch at each size.

    `launches`: launch to size (bytes) to seconds.
    """
    sizes = [size_of(row) for row in rows]
    logs = {launch: {size: math.log(value) for size, value in found.items()} for launch, found in launches.items()}
    offsets = _offsets(logs) if together else dict.fromkeys(logs, 0.0)
    values = [
        [found[size] - offsets[launch] for launch, found in logs.items() if size in found]
        or [math.log(row["median_s"])]
        for size, row in zip(sizes, rows, strict=True)
    ]
    # the median over launches if there are three or more, so that one disturbed launch has no effect
    centres = np.array([float(np.median(each)) for each in values])
    freedom = sum(len(each) - 1 for each in values) - (len(logs) - 1 if logs and together else 0)
    errors = _launch_errors(values) if freedom > 0 else _interval_errors(rows)
    errors = np.maximum(errors, SUREST)
    if logs:
        measured = set[int]().union(*logs.values())
        most = max(map(len, values))
        heard = [size in measured and RARE * len(each) >= most for size, each in zip(sizes, values, strict=True)]
        errors = np.where(heard, errors, np.inf)
    return SizeSeries(cell, name, tuple(sizes), np.exp(centres), errors, max(freedom, 0), tuple(rows), statistic)


def _offsets(logs: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """How much slower each launch is as a whole, over the sizes that all launches have."""
    if len(logs) < 2:
        return dict.fromkeys(logs, 0.0)
    common = sorted(in_all(logs.values()))
    if not common:
        return dict.fromkeys(logs, 0.0)
    means = {size: sum(found[size] for found in logs.values()) / len(logs) for size in common}
    return {launch: float(np.median([found[size] - means[size] for size in common])) for launch, found in logs.items()}


def _launch_errors(values: Sequence[Sequence[float]]) -> Numbers:
    """Standard error of the centre at each size from the scatter of launches; some size must have two."""
    freedom = np.array([len(each) - 1 for each in values])
    own = np.array([float(np.var(each, ddof=1)) if len(each) > 1 else np.nan for each in values])
    # the median of a chi-squared is below its mean (Wilson and Hilferty 1931): few launches would seem too quiet
    known = np.where(freedom > 0, freedom, 1)
    unbiased = own / (1 - 2 / (9 * known)) ** 3
    errors = np.empty(len(values))
    for index in range(len(values)):
        near = unbiased[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
        near = near[~np.isnan(near)]
        around = float(np.median(near)) if len(near) >= 3 else float(np.nanmedian(unbiased))
        mine = freedom[index] * own[index] if freedom[index] else 0.0
        variance = (PRIOR_LAUNCHES * around + mine) / (PRIOR_LAUNCHES + freedom[index])
        count = freedom[index] + 1
        wider = math.pi / 2 if count > 2 else 1.0  # variance of a median over that of a mean, at most
        errors[index] = math.sqrt(variance * wider / count)
    return errors


def _interval_errors(rows: Sequence[TimedRow]) -> Numbers:
    """Standard error from the interval of each median, smoothed: ten samples estimate their spread poorly."""
    ends = [reach_within(row) for row in rows]
    half = np.array([math.log(high / low) / 2 / NORMAL_95 if low > 0 else 0.0 for low, high in ends])
    near = [half[max(0, index - 2) : index + 3] for index in range(len(half))]
    return np.array([float(np.median(each)) for each in near])
