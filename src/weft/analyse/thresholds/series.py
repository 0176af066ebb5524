# SPDX-License-Identifier: BSD-3-Clause
"""Times against message size, as the change-over detector reads them: one value per size and its error.

Launches differ as a whole: that offset is removed first. The remaining scatter between launches at one size is the
noise. Its variance combines the size's own with the median of its neighbours', so that one disturbed launch does not
count as noise everywhere. With a single launch, the interval of the median is used instead.

On a shared machine, most samples of a launch can be disturbed, and with them its median, but not its fastest samples:
where these agree much better between launches, they are used. A launch of which others may have taken half the time at
a size is left out there. Both decisions use only the scatter between launches and the time that others took (METHOD
11), never the shape of the curve. A size that fewer than half of the launches measured (refining ran out of its budget)
has a launch's own speed for its time: it decides nothing, and its error is infinite.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from weft.analyse.tables.times import RARE, CallRow, MedianRow, TimedRow, may_be_half, reach_within, timed
from weft.analyse.thresholds.fit import Numbers, Pieces
from weft.kernel.sizes import in_all, split_op

Statistic = Literal["median", "fastest"]
Rows: TypeAlias = Sequence[TimedRow]
ByLaunch: TypeAlias = Mapping[int, Mapping[int, float]]  # launch to size (bytes) to seconds, or to their logarithm

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

    cell: str
    name: str  # the operation without its size: ``alltoall``
    sizes: tuple[int, ...]  # bytes, ascending
    seconds: Numbers  # time at each size over all launches with their offsets removed
    # ... and its relative standard error: infinite if every launch was disturbed, or fewer than half measured it
    errors: Numbers
    launches: int  # degrees of freedom of the errors from the launches; 0 for one launch
    rows: tuple[TimedRow, ...]  # the rows of the table of calls, one per size
    statistic: Statistic = "median"  # which value of each launch is used: its median, or its fastest sample

    @property
    def algorithms(self) -> list[str]:
        """The algorithm that the run recorded at each size, or an empty string."""
        return [row.get("algorithm") or "" for row in self.rows]

    def pieces(self, places: Sequence[int]) -> Pieces:
        """The pieces of the times at these sizes (indices)."""
        index = list(places)
        return Pieces(np.array(self.sizes, dtype=np.float64)[index], self.seconds[index], self.errors[index])


def size_series(rows: Iterable[CallRow], medians: Iterable[MedianRow]) -> list[SizeSeries]:
    """Every series of sizes within a cell, in the order it was measured."""
    groups: dict[tuple[str, str], dict[int, TimedRow]] = {}
    for row in timed(rows, phase="warm"):
        name, size = split_op(row["call"])
        if size is not None:
            groups.setdefault((row["cell"], name), {})[size] = row
    steady = _undisturbed([row for row in medians if row["phase"] == "warm"])
    by_median, by_fastest = _by_launch(steady, "median_s"), _by_launch(steady, "min_s")
    series: list[SizeSeries] = []
    for key, found in groups.items():
        own = [found[size] for size in sorted(found)]
        usual = make_series(*key, own, by_median.get(key, {}))
        fastest = make_series(*key, own, by_fastest.get(key, {}), "fastest")
        # the fastest samples where these agree between launches much better than the medians
        quieter = fastest.launches and np.median(fastest.errors) < QUIETER * np.median(usual.errors)
        series.append(fastest if quieter else usual)
    return series


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


def _undisturbed(medians: Sequence[MedianRow]) -> list[MedianRow]:
    """Rows without those of which others may have taken half the time or more.

    A series keeps all its rows if fewer than half would remain: a kernel that only flags switches flags all ranks that
    yield.
    """
    named = [((row["cell"], split_op(row["call"])[0]), row) for row in medians]
    clean = [(series, row) for series, row in named if not may_be_half(row)]
    every, stay = (Counter(series for series, _ in rows) for rows in (named, clean))
    poor = {series for series, count in every.items() if 2 * stay[series] < count}
    return [row for series, row in named if series in poor] + [row for series, row in clean if series not in poor]


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


def make_series(
    cell: str, name: str, rows: Rows, launches: ByLaunch, statistic: Statistic = "median", *, together: bool = True
) -> SizeSeries:
    """One series from its rows, ascending in size, and the median (or fastest sample) of each launch at each size."""
    named = (split_op(row["call"])[1] for row in rows)
    sizes = [row["block_bytes"] if size is None else size for size, row in zip(named, rows, strict=True)]
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
    errors = np.maximum(_launch_errors(values) if freedom > 0 else _interval_errors(rows), SUREST)
    if logs:
        measured = set[int]().union(*logs.values())
        most = max(map(len, values))
        heard = [size in measured and RARE * len(each) >= most for size, each in zip(sizes, values, strict=True)]
        errors = np.where(heard, errors, np.inf)
    return SizeSeries(cell, name, tuple(sizes), np.exp(centres), errors, max(freedom, 0), tuple(rows), statistic)


def _offsets(logs: ByLaunch) -> dict[int, float]:
    """How much slower each launch is as a whole, over the sizes that all launches have."""
    common = sorted(in_all(logs.values())) if len(logs) > 1 else []
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
    for index, free in enumerate(freedom.tolist()):
        near = unbiased[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
        near = near[~np.isnan(near)]
        around = float(np.median(near)) if len(near) >= 3 else float(np.nanmedian(unbiased))
        variance = (PRIOR_LAUNCHES * around + (free * own[index] if free else 0.0)) / (PRIOR_LAUNCHES + free)
        wider = math.pi / 2 if free > 1 else 1.0  # variance of a median over that of a mean, at most
        errors[index] = math.sqrt(variance * wider / (free + 1))
    return errors


def _interval_errors(rows: Rows) -> Numbers:
    """Standard error from the interval of each median, smoothed: ten samples estimate their spread poorly."""
    ends = [reach_within(row) for row in rows]
    half = np.array([math.log(high / low) / 2 / NORMAL_95 if low > 0 else 0.0 for low, high in ends])
    near = [half[max(0, index - 2) : index + 3] for index in range(len(half))]
    return np.array([float(np.median(each)) for each in near])
