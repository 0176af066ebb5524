# SPDX-License-Identifier: BSD-3-Clause
"""Remainders: each pair's time over what its hop class, slow nodes and slow links predict, and their statistics."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.polish import Decomposition
from weft.analyse.outliers.two_groups import BINS
from weft.analyse.pairs.pair_times import Ends, Floats, PairTimes
from weft.analyse.statistics.quantile import group_medians

#: With at least this many nodes, pairs within a node are compared with the same places of other nodes.
FEWEST_NODES = 4
SHORTEST_S = 1e-10  # clocks count nanoseconds; a model may give a message inside a node no time at all
Key = tuple[int, str, int]
Ints = NDArray[np.int64]


class Scale(NamedTuple):
    """Spread of the remainders of a hop class."""

    pairs: int
    deviation: float  # median absolute
    base_s: float


@dataclass(frozen=True, eq=False)
class Remainders:
    """Each pair of one way with its expected time.

    Between nodes, the decomposition gives the expected time. Within a node, it is the median of the same places on the
    other nodes, which accounts for sockets; with few nodes it is the median of all pairs within nodes.

    """

    times: PairTimes
    time_s: Floats  # half a round trip, as if each pair had the least load of its class; shape (pairs,)
    left: NDArray[np.float32]  # log(time / expected) of each pair
    spread: Floats  # log(time / their median) of the pairs within nodes alone: searched for groups
    base_by_nodes: Floats  # seconds of a pair without outliers, shape (nodes * nodes,)
    touched_by_nodes: NDArray[np.int16]  # ... and how many outliers touch it
    kept: Ints | None = None  # indices of the pairs that count; None for all

    @property
    def ends(self) -> Ends:
        """The ranks of each pair."""
        return self.times.ends

    @property
    def base_s(self) -> Floats:
        """Seconds of the class of each pair without outliers, shape (pairs,)."""
        return self.base_by_nodes[self.ends.nodes]

    def lasting(self, least_s: float) -> "Remainders":
        """Without pairs whose class takes less than that."""
        short = self.base_by_nodes < least_s
        used = np.zeros(len(short), bool)
        used[self.ends.nodes] = True
        return self._without(short[self.ends.nodes]) if (short & used).any() else self

    def without_ranks(self, ranks: list[int]) -> "Remainders":
        """Without the pairs of some ranks: one slow rank of four would look like a slow memory."""
        if not ranks:
            return self
        slow = np.zeros(self.ends.places.ranks, bool)
        slow[ranks] = True
        return self._without(slow[self.ends.source] | slow[self.ends.target])

    def _without(self, dropped: NDArray[np.bool_]) -> "Remainders":
        kept = np.flatnonzero(~dropped) if self.kept is None else self.kept[~dropped[self.kept]]
        return replace(self, kept=kept)

    def _of(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.kept is None else values[self.kept]

    @property
    def _inside(self) -> Ints:
        """Indices of the pairs within nodes that count."""
        inside = np.flatnonzero(self.ends.inside)
        return inside if self.kept is None else np.intersect1d(inside, self.kept, assume_unique=True)

    @cached_property
    def scales(self) -> dict[Key, Scale]:
        """The spread of each hop class."""
        kind, off = self._of(self.ends.kind), np.abs(self._of(self.left))
        counts = np.bincount(kind, minlength=len(self.ends.places.hops))
        deviation = group_medians(kind, off, len(counts))
        base = group_medians(self.ends.places.classes.ravel(), self.base_by_nodes, len(counts))
        return {
            (*self.times.way, class_): Scale(int(counts[class_]), float(deviation[class_]), float(base[class_]))
            for class_ in np.flatnonzero(counts).tolist()
        }

    def histogram(self) -> dict[Key, tuple[Ints, Ints]]:
        """Buckets of ``spread`` within nodes and of ``left`` between them, and pairs in each, by hop class.

        If the slow direction of an outlier is unknown, it is also unknown whether it adds to another outlier in the
        same direction, so pairs that two outliers touch do not form a group.
        """
        values = self.left.copy()
        values[self.ends.inside] = self.spread
        values, kind, nodes = self._of(values), self._of(self.ends.kind), self._of(self.ends.nodes)
        known = (self.touched_by_nodes[nodes] < 2) & np.isfinite(values)
        bucket = np.floor(values[known] * np.float32(BINS)).astype(np.int32)
        if not len(bucket):
            return {}
        low, width = int(bucket.min()), int(bucket.max()) + 1 - int(bucket.min())
        counts = np.bincount(kind[known].astype(np.int64) * width + (bucket - low))
        found: dict[Key, tuple[Ints, Ints]] = {}
        for class_ in np.unique(np.flatnonzero(counts) // width).tolist():
            own = counts[class_ * width : (class_ + 1) * width]
            used = np.flatnonzero(own)
            found[*self.times.way, class_] = used + low, own[used]
        return found

    def by_rank(self) -> Floats:
        """Median remainder of each rank over its pairs with other nodes, shape (2, ranks): as source, as target."""
        ends, far = self.ends, ~self._of(self.ends.inside)
        left = self._of(self.left)[far]
        return np.stack(
            [group_medians(self._of(end)[far], left, ends.places.ranks) for end in (ends.source, ends.target)]
        )

    def by_node(self) -> tuple[Floats, Ints]:
        """Median remainder of the pairs within each node, and their number; shape (nodes,)."""
        inside, count = self._inside, len(self.ends.places.nodes)
        node = self.ends.nodes[inside] // count
        return group_medians(node, self.left[inside], count), np.bincount(node, minlength=count)

    def by_place(self, split: float) -> Floats:
        """Of pairs within nodes: the share of each two places beyond a valley, shape (places, places); nan if none."""
        local, inside = self.ends.places.local_of, self._inside
        count = int(local.max(initial=0)) + 1
        code = local[self.ends.source[inside]] * count + local[self.ends.target[inside]]
        own = self.spread[np.searchsorted(np.flatnonzero(self.ends.inside), inside)] > split
        pairs, beyond = (np.bincount(code, weights, count * count) for weights in (None, own))
        with np.errstate(invalid="ignore"):
            return (beyond / pairs).reshape(count, count)

    def beyond(self, limits: dict[int, float]) -> Ints:
        """Indices of the pairs beyond the limit of their class that not more than one outlier touches."""
        limit = np.full(max(limits, default=0) + 1, np.inf, np.float32)
        limit[list(limits)] = list(limits.values())
        found = np.flatnonzero(self._of(self.left) > limit[self._of(self.ends.kind)])
        found = found if self.kept is None else self.kept[found]
        return found[self.touched_by_nodes[self.ends.nodes[found]] < 2]


def remainders(times: PairTimes, time_s: Floats, parts: Decomposition) -> Remainders:
    """Each pair of a way beside its expected time; ``time_s`` scaled by their loads."""
    ends, places = times.ends, times.ends.places
    inside = np.flatnonzero(ends.inside)
    near = time_s[inside]
    fitted, base, touched = parts.fitted.flatten(), parts.base.flatten(), parts.touched.flatten()
    diagonal = np.arange(len(places.nodes)) * (len(places.nodes) + 1)
    whole = float(np.median(near)) if len(near) else 1.0
    fitted[diagonal], base[diagonal], touched[diagonal] = whole, whole, 0
    expected = np.full(len(inside), whole)
    if len(places.nodes) >= FEWEST_NODES and len(near):
        count = int(places.local_of.max()) + 1
        place = places.local_of[ends.source[inside]] * count + places.local_of[ends.target[inside]]
        expected = group_medians(place, near, count * count)[place]
    left = np.log(np.maximum(time_s, SHORTEST_S))
    left -= np.log(np.maximum(fitted, SHORTEST_S))[ends.nodes]
    short = np.log(np.maximum(near, SHORTEST_S))
    left[inside] = short - np.log(np.maximum(expected, SHORTEST_S))
    spread = short - np.log(max(whole, SHORTEST_S))
    return Remainders(times, time_s, left.astype(np.float32), spread, base, touched)
