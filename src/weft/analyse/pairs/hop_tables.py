# SPDX-License-Identifier: BSD-3-Clause
"""The tables of pairs by hop class: times, first contact, contention; and the pairs farthest from their class."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.outliers.remainders import ALONE, Remainders
from weft.analyse.pairs.pair_times import Ends, Floats, PairTimes, inconsistent
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.statistics.quantile import group_medians, median_ranks, quantile_rank
from weft.analyse.times import P99_FROM

CLASS = ["bytes", "mode", "class_"]
Rows = list[dict[str, Any]]


def _by_class(times: PairTimes, kind: NDArray[np.int16]) -> Iterator[tuple[dict[str, Any], NDArray[np.bool_]]]:
    """Each hop class, nearest first: the row's first columns, and which pairs are of it."""
    places = times.ends.places
    for class_ in np.flatnonzero(np.bincount(kind)).tolist():
        named = {"class_": class_, "hops": places.hops[class_], "class": places.labels[class_]}
        yield {"bytes": times.bytes, "mode": times.mode, **named}, kind == class_


def _count(own: NDArray[np.bool_], counts: NDArray[np.int64] | None) -> int:
    return int(own.sum() if counts is None else counts[own].sum())


def hop_rows(times: PairTimes) -> Rows:
    """Times of the pairs of each hop class, as in paper 002: over the final times of its pairs.

    ``least_s``, ``most_s``: shortest and longest single sample; ``broken``: inconsistent pairs (METHOD 20).
    """
    least, most = np.fmin.reduce(list(times.each("min_s"))), np.fmax.reduce(list(times.each("max_s")))
    samples, broken = np.add.reduce(list(times.each("samples", np.int64))), times.counts("broken")
    if broken is None:
        broken = inconsistent(least, times.over_launches("median_s"), most, samples)
    counts, names = times.counts(), ("fastest_s", "mean_s")
    fastest_s, mean_s = (times.time_s if counts is None else times.over_launches(name) for name in names)
    found: Rows = []
    for row, own in _by_class(times, times.ends.kind):
        time = times.time_s[own]
        tail = len(time) >= P99_FROM and counts is None
        found.append(row | {
            "pairs": _count(own, counts), "samples": int(samples[own].sum()), "broken": int(broken[own].sum()),
            "min_s": float(fastest_s[own].min()), "median_s": float(np.median(time)),
            "mean_s": float(np.average(mean_s[own], weights=None if counts is None else counts[own])),
            "p99_s": float(np.quantile(time, 0.99)) if tail else None, "max_s": float(times.slowest_s[own].max()),
            "least_s": float(np.fmin.reduce(least[own])), "most_s": float(np.fmax.reduce(most[own])),
        })  # fmt: skip
    return found


def cold_rows(times: PairTimes) -> Rows:
    """First contact of the pairs of each class: bytes, mode, class_, pairs, median_s, max_s, ratio (cold over warm)."""
    cold = times.over_launches("cold_s")
    counts, names = times.counts("cold_pairs"), ("cold_max_s", "cold_mean_s")
    longest, whole = (cold if counts is None else times.over_launches(name) for name in names)
    whole = whole if counts is None else whole * counts
    found: Rows = []
    for row, own in _by_class(times, times.ends.kind):
        known = own & np.isfinite(cold)
        if known.any():
            found.append(row | {
                "pairs": _count(known, counts), "median_s": float(np.median(cold[known])),
                "max_s": float(longest[known].max()), "total_s": float(whole[known].sum()),
                "ratio": float(np.median(cold[known] / times.time_s[known])),
            })  # fmt: skip
    return found


class Contention:
    """Each pair's time with concurrent pairs over its isolated time (METHOD 17), by medians of interleaved samples.

    The final time of a slow pair (METHOD 19) includes remeasurements at the cell's end, under other disturbances.
    """

    def __init__(self, beside: PairTimes, alone: PairTimes) -> None:
        self.times, self._alone, self.ends = beside, alone, beside.ends
        # places of the pairs that both have, in each
        self._beside: slice | NDArray[np.int64] = slice(None)
        self._isolated: slice | NDArray[np.int64] = slice(None)
        if beside.ends is not alone.ends:
            ends, others = beside.ends, alone.ends.code
            _, self._beside, self._isolated = np.intersect1d(ends.code, others, True, return_indices=True)
            self.ends = Ends(ends.source[self._beside], ends.target[self._beside], ends.places)
        self.factor = self._factor(beside.over_launches("median_s"), alone.over_launches("median_s"))

    def _factor(self, beside: Floats, alone: Floats) -> Floats:
        return beside[self._beside] / alone[self._isolated]

    def rows(self, *, modelled: bool) -> Rows:
        """The factor of each hop class with its interval, and quantiles over pairs.

        Pairs of a launch share what that met: it is the median over launches; of one launch alone over pairs, and says
        so.
        """
        each, counts = self._by_launch(), self.times.counts()
        counts = None if counts is None else counts[self._beside]
        found: Rows = []
        for row, own in _by_class(self.times, self.ends.kind):
            launches = [float(np.median(known)) for one in each if len(known := one[own][np.isfinite(one[own])])]
            if not launches:
                continue
            factor = np.sort(self.factor[own])
            low, high, coverage = median_ranks(len(factor))
            within = Interval(float(factor[low - 1]), float(factor[high - 1]), coverage, "none")
            interval = NO_INTERVAL if modelled else interval_over_launches(launches, within)
            over = (0.05, 0.95, 1.0) if counts is None else ()
            p5, p95, most = [float(factor[quantile_rank(len(factor), q) - 1]) for q in over] or (None,) * 3
            ends = {"low": interval.low, "high": interval.high, "coverage": interval.coverage}
            found.append(row | ends | {
                "pairs": _count(own, counts), "launches": len(launches), "factor": median(launches),
                "interval": interval.kind, "p5": p5, "p95": p95, "max": most,
            })  # fmt: skip
        return found

    def _by_launch(self) -> list[Floats]:
        alone = {part[0].number: own for part, own in zip(self._alone.parts, self._alone.each("median_s"), strict=True)}
        every = zip(self.times.parts, self.times.each("median_s"), strict=True)
        return [self._factor(own, alone[part[0].number]) for part, own in every if part[0].number in alone]

    def by_nodes(self) -> Floats:
        """The median factor of every two nodes, flattened; nan where there is none."""
        return group_medians(self.ends.nodes, self.factor, len(self.ends.places.nodes) ** 2)


def list_contention(ways: Sequence[PairTimes]) -> Iterator[Contention]:
    """The contention of each size and mode that was measured isolated, too."""
    alone = {times.bytes: times for times in ways if times.mode == ALONE}
    both = (each for each in ways if each.mode != ALONE and each.bytes in alone)
    yield from (found for each in both if len((found := Contention(each, alone[each.bytes])).factor))


def worst_rows(left: Iterable[Remainders], places: Places, most: int) -> Rows:
    """The slowest pairs relative to the time of their class, with the three measurements of each (METHOD 19)."""
    found: Rows = []
    for each in left:
        times, base, time = each.times, each.base_s, each.time_s
        of_nodes = times.file.by_nodes
        if of_nodes:  # ... of the slowest pair of their ranks, scaled by the same load
            time = time * np.divide(times.slowest_s, times.time_s, out=np.ones_like(base), where=times.time_s > 0)
        # a model may give a message inside a node no time at all
        factor = np.divide(time, base, out=np.ones_like(base), where=base > 0)
        at = _largest(factor, most)
        again = {name: times.over_launches(f"{name}_s")[at] for name in ("again_1", "again_2")}
        again["first"] = (times.slowest_s if of_nodes else times.over_launches("median_s"))[at]
        ends = each.ends.source, each.ends.target
        names = ("slowest_source", "slowest_target")
        ranks = [times.of_slowest(name, np.int32) for name in names] if of_nodes else ends
        for place, row in enumerate(at.tolist()):
            source, target, class_ = (int(column[row]) for column in (*ranks, each.ends.kind))
            source_name, target_name = (places.nodes[int(places.node_of[end[row]])] for end in ends)
            found.append({
                "bytes": times.bytes, "mode": times.mode, "source": source, "target": target,
                "source_name": source_name, "target_name": target_name,
                "hops": places.hops[class_], "class": places.labels[class_], "time_s": float(time[row]),
                "base_s": float(base[row]), "factor": float(factor[row]), "checked": bool(times.checked[row]),
                **{f"{name}_s": float(of[place]) if np.isfinite(of[place]) else None for name, of in again.items()},
            })  # fmt: skip
    found.sort(key=lambda row: (-row["factor"], row["source"], row["target"], row["bytes"], row["mode"]))
    return found[:most]


def _largest(values: Floats, most: int) -> NDArray[np.int64]:
    """Places of the largest values; of equal ones the first."""
    if len(values) <= most:
        return np.arange(len(values))
    limit = np.partition(values, len(values) - most)[len(values) - most]
    above = np.flatnonzero(values > limit)
    return np.concatenate([above, np.flatnonzero(values == limit)[: most - len(above)]])


def class_histogram(histogram: Expression, classes: Expression) -> Expression:
    """The stored histogram of samples, summed by class: bytes, mode, class_, bucket, count."""
    placed = histogram.inner_join(classes, ["source_node", "target_node"])
    return placed.group_by([*CLASS, "bucket"]).agg(count=placed["count"].sum())
