# SPDX-License-Identifier: BSD-3-Clause
r"""Times against message size, one value per size with its error, and the fit of straight pieces to them.

Launches differ as a whole: that offset is removed first. The remaining scatter between launches at one size is the
noise; its variance combines the size's own with the median of its neighbours', so that one disturbed launch is not
noise everywhere. With one launch it is the interval of the median. On a shared machine most samples of a launch, and
its median, can be disturbed, but not its fastest: these are used where they agree much better. A launch of which
others may have taken half the time at a size is left out there. Both decisions use only scatter and the time that
others took (METHOD 11), never the shape of the curve. A size that fewer than half of the launches measured has an
infinite error.

Each piece is the latency and rate of one protocol, t = a + b s. Over sizes s_i with times t_i and their relative
standard errors e_i it minimises

.. math:: R = \sum_i \Bigl( \frac{t_i - a - b s_i}{t_i e_i} \Bigr)^2

so every size has the same weight. The pieces of a series are the cheapest partition, found by dynamic programming
(Bellman 1961; for change-points Auger and Lawrence 1989), which needs no start value.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables.sweeps import sized
from weft.analyse.tables.times import RARE, CallRow, MedianRow, TimedRow, may_be_half, reach_within, timed
from weft.kernel.sizes import in_all, split_op
from weft.store.tables import grouped

Numbers: TypeAlias = NDArray[np.float64]
LEAST = 3  # latency and rate would fit fewer points than this exactly, without any evidence
#: If the time grows faster than this power of the size, there is a step between: no rate explains it. A cache overflow
#: reaches 2 at most.
STEEPEST = 3.0
Statistic = Literal["median", "fastest"]
Rows: TypeAlias = Sequence[TimedRow]
ByLaunch: TypeAlias = Mapping[int, Mapping[int, float]]  # launch to size (bytes) to seconds, or to their logarithm
QUIETER = 0.5  # the fastest samples are used if their errors are under this share of the medians'
SUREST = 0.003  # least relative error of a time: rounding to nanoseconds, and alignment effects
#: Weight of the neighbours' variance, in launches; a size's own variance has the weight of its launches.
PRIOR_LAUNCHES = 4
NEIGHBOURS = 5
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Piece:
    """Sizes ``first`` to ``last`` (indices, inclusive) under one latency and one rate."""

    first: int
    last: int
    latency_s: float  # a
    per_byte_s: float  # b
    # covariance of (a, b), for the given relative standard errors
    covariance: tuple[tuple[float, float], tuple[float, float]]

    def at(self, size: float) -> float:
        """Seconds that the piece predicts for a size."""
        return self.latency_s + self.per_byte_s * size

    def error_at(self, size: float) -> float:
        """Standard error of the prediction, in seconds."""
        (aa, ab), (_, bb) = self.covariance
        return max(aa + 2 * ab * size + bb * size * size, 0.0) ** 0.5


class Pieces:
    """Costs of all pieces of a series of ascending sizes (bytes), seconds, and their relative standard errors."""

    def __init__(self, sizes: Numbers, seconds: Numbers, errors: Numbers) -> None:
        self.sizes = sizes
        weight = 1 / errors
        self._scale = float(np.median(seconds)), float(np.median(seconds) / max(np.median(sizes), 1.0))
        self._u, self._v, self._w = weight * self._scale[0] / seconds, weight * self._scale[1] * sizes / seconds, weight
        # R of every piece: rows by first point, columns by last; infinite if it has too few points
        count = len(self.sizes)
        inside = np.triu(np.ones((count, count)))
        u, v, w = self._u, self._v, self._w
        # sums start anew at each first point: differences of running sums would lose the small sizes
        sums = (np.cumsum(inside * (x * y), axis=1) for x, y in ((u, u), (u, v), (v, v), (u, w), (v, w), (w, w)))
        uu, uv, vv, uw, vw, ww = sums
        determinant = uu * vv - uv * uv
        # two sizes alone may be collinear to rounding: such a piece is never used
        safe = np.where(determinant > 1e-12 * uu * vv, determinant, np.inf)
        found = np.maximum(ww - (uw * uw * vv - 2 * uw * vw * uv + vw * vw * uu) / safe, 0.0)
        long_enough = np.triu(np.ones((count, count), dtype=bool), LEAST - 1)
        latency = (uw * vv - vw * uv) / safe * self._scale[0]
        bytes_s = (vw * uu - uw * uv) / safe * self._scale[1] * self.sizes[:, None]
        too_steep = (bytes_s > 0) & (bytes_s > STEEPEST * (latency + bytes_s))
        self.costs = np.where(long_enough & ~too_steep, found, np.inf)

    def piece(self, first: int, last: int) -> Piece:
        """The best latency and rate of some points."""
        u, v, w = (column[first : last + 1] for column in (self._u, self._v, self._w))
        inverse = np.linalg.inv(np.array([[u @ u, u @ v], [u @ v, v @ v]]))
        a, b = inverse @ np.array([u @ w, v @ w])
        scale = np.array(self._scale)
        (aa, ab), (_, bb) = inverse * np.outer(scale, scale)
        covariance = ((float(aa), float(ab)), (float(ab), float(bb)))
        return Piece(first, last, float(a * scale[0]), float(b * scale[1]), covariance)

    def cost(self, cuts: tuple[int, ...]) -> float:
        """R of the pieces that begin at 0 and at each cut."""
        return float(sum(self.costs[begin, end - 1] for begin, end in pairwise((0, *cuts, len(self.sizes)))))

    def partitions(self, most: int) -> list[tuple[int, ...]]:
        """The cheapest cuts into 1, 2, ... ``most`` pieces (as many as there are points for)."""
        count = len(self.sizes)
        best = [self.costs[0].copy()]
        came: list[NDArray[np.int64]] = []
        for _ in range(1, min(most, count // LEAST)):
            # row: where the last piece begins; column: where it ends
            total = np.full((count, count), np.inf)
            total[1:] = best[-1][:-1, None] + self.costs[1:]
            came.append(np.argmin(total, axis=0))
            best.append(np.min(total, axis=0))
        found: list[tuple[int, ...]] = []
        for pieces, cost in enumerate(best):
            if np.isfinite(cost[-1]):
                cuts: tuple[int, ...] = (count,)
                for step in reversed(came[:pieces]):
                    cuts = (int(step[cuts[0] - 1]), *cuts)
                found.append(cuts[:-1])
        return found


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
    steady = _undisturbed([row for row in medians if row["phase"] == "warm"])
    by_median, by_fastest = _by_launch(steady, "median_s"), _by_launch(steady, "min_s")
    series: list[SizeSeries] = []
    for key, own in sized(rows).items():
        usual = make_series(*key, own, by_median.get(key, {}))
        fastest = make_series(*key, own, by_fastest.get(key, {}), "fastest")
        # the fastest samples where these agree between launches much better than the medians
        quieter = fastest.launches and np.median(fastest.errors) < QUIETER * np.median(usual.errors)
        series.append(fastest if quieter else usual)
    return series


def block_series(rows: Iterable[CallRow], medians: Iterable[MedianRow], call: str) -> list[SizeSeries]:
    """Series over the block sizes of cells of one shape, the first of a block, if each size is a cell of its own. Their
    launches are not the same, so no offset of a launch is removed.
    """
    groups: dict[tuple[str, int, int, int], dict[int, TimedRow]] = {}
    for row in timed(rows, call, "warm"):
        if split_op(call)[1] is None and row["block_bytes"]:
            shape = (row["kernel"], row["nodes"], row["ranks_per_node"], row["ranks"])
            groups.setdefault(shape, {}).setdefault(row["block_bytes"], row)
    steady = _undisturbed([row for row in medians if (row["call"], row["phase"]) == (call, "warm")])
    of_cell = grouped(steady, lambda row: row["cell"])
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
    """Rows without those of which others may have taken half the time or more. All rows of a series that would keep
    fewer than half: a kernel that only flags switches flags all that yield.
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
    if freedom > 0:
        errors = _launch_errors(values)
    else:  # from the interval of each median, smoothed: ten samples estimate their spread poorly
        ends = (reach_within(row) for row in rows)
        half = np.array([math.log(high / low) / 2 / NORMAL_95 if low > 0 else 0.0 for low, high in ends])
        errors = np.array([float(np.median(half[max(0, place - 2) : place + 3])) for place in range(len(half))])
    errors = np.maximum(errors, SUREST)
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
    unbiased = own / (1 - 2 / (9 * np.maximum(freedom, 1))) ** 3
    errors = np.empty(len(values))
    for index, free in enumerate(freedom.tolist()):
        near = unbiased[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
        near = near[~np.isnan(near)]
        around = float(np.median(near)) if len(near) >= 3 else float(np.nanmedian(unbiased))
        variance = (PRIOR_LAUNCHES * around + (free * own[index] if free else 0.0)) / (PRIOR_LAUNCHES + free)
        wider = math.pi / 2 if free > 1 else 1.0  # variance of a median over that of a mean, at most
        errors[index] = math.sqrt(variance * wider / (free + 1))
    return errors
