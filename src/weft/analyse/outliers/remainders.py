# SPDX-License-Identifier: BSD-3-Clause
"""Remainders: each pair's time over what its hop class, slow nodes and slow links predict, and their statistics.

Pairs that are measured at the same time share links: each is judged beside pairs of rounds that load them as much.

The schedule of rounds and the routes are known, so the load of a pair is known, too: the most flows of its round over
one link of its way there or back, or the mean of both ways, which a round trip takes one after the other. A torus, a
dragonfly or narrow uplinks load the links of one round unequally, which makes some pairs several times as slow as
others of their class, and nothing is at fault. Flows are counted, whatever rate the fabric file states for a link: a
cable that is stated to be slow is slow.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.polish import Decomposition
from weft.analyse.outliers.rule import BINS
from weft.analyse.pairs.pair_times import Ends, Floats, PairTimes
from weft.analyse.statistics.quantile import group_medians
from weft.fabric.hops import walk
from weft.kernel.tournament import PairSchedule

FEWEST_NODES = 4  # with at least this many nodes, pairs within a node are compared with the same places of other nodes
SHORTEST_S = 1e-10  # clocks count nanoseconds; a model may give a message inside a node no time at all
Key = tuple[int, str, int]
Ints = NDArray[np.int64]
ALONE = "isolated"
TOGETHER = "all"  # the mode in which all pairs of a round are measured at once


class Scale(NamedTuple):
    """Spread of the remainders of a hop class."""

    pairs: int
    deviation: float  # median absolute
    base_s: float


@dataclass(frozen=True, eq=False)
class Remainders:
    """Each pair of one way with its expected time. Between nodes by the decomposition; within a node the median of the
    same places on other nodes, or if few, of all.
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
        short = (self.base_by_nodes < least_s)[self.ends.nodes]
        return self._without(short) if short.any() else self

    def without_ranks(self, ranks: list[int]) -> "Remainders":
        """Without the pairs of some ranks: one slow rank of four would look like a slow memory."""
        if not ranks:
            return self
        slow = np.zeros(self.ends.places.ranks, bool)
        slow[ranks] = True
        return self._without(slow[self.ends.source] | slow[self.ends.target])

    def _without(self, dropped: NDArray[np.bool_]) -> "Remainders":
        return replace(self, kept=np.flatnonzero(~dropped) if self.kept is None else self.kept[~dropped[self.kept]])

    def _of(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.kept is None else values[self.kept]

    @property
    def _inside(self) -> Ints:
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
        """Buckets of ``spread`` within nodes and ``left`` between, and pairs in each, by hop class. Not of pairs that
        two outliers touch: whether these add in one direction is unknown.
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
        left, ranks = self._of(self.left)[far], ends.places.ranks
        return np.stack([group_medians(self._of(end)[far], left, ranks) for end in (ends.source, ends.target)])

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
    return Remainders(times, time_s, left.astype(np.float32), short - np.log(max(whole, SHORTEST_S)), base, touched)


def round_loads(ends: Ends, *, mean: bool = False) -> NDArray[np.float32] | None:
    """Flows on one link of each pair's round (pairs,), the fuller way or ``mean``; None: unknown, or all alike."""
    if not ends.places.routed or len(ends.places.nodes) < 2:
        return None
    found = _by_rounds(ends, mean=mean)
    low, high = np.full((2, len(ends.places.hops)), [[np.inf], [0.0]])
    np.minimum.at(low, ends.kind, found)
    np.maximum.at(high, ends.kind, found)
    return None if (high <= low).all() else found


def crossing_factors(times: PairTimes) -> NDArray[np.float32] | None:
    """How many times as long as by its load each pair may take, shape (pairs,); None for 1. One that is early comes
    back while others still go there: all that crosses a link either way may share it.
    """
    if times.mode != TOGETHER or not times.ends.places.routed or len(times.ends.places.nodes) < 2:
        return None
    load, most = _by_rounds(times.ends), _by_rounds(times.ends, mean=True, either=True)
    return np.maximum(most / np.maximum(load, 1), 1)


def _by_rounds(ends: Ends, *, mean: bool = False, either: bool = False) -> NDArray[np.float32]:
    """The load of each pair in its round, shape (pairs,): of both ways the higher or the mean; 0 within a node."""
    places, network = ends.places, ends.places.network
    hosts, schedule = places.host[places.node_of], PairSchedule(places.node_of)
    camp = schedule.camp_of()
    # each shift of two camps of one size loads the links alike: their first round tells of all of them
    alike = len(np.unique(np.bincount(places.node_of))) == 1
    load = np.zeros((schedule.camps,) * 2 if alike else (places.ranks,) * 2, np.float32)
    for number in range(0, schedule.between, schedule.width if alike else 1):
        pairs = schedule.pairs(number)
        at = (camp[pairs[:, 0]], camp[pairs[:, 1]]) if alike else (pairs[:, 0], pairs[:, 1])
        ways = [walk(network, hosts[one], hosts[other]) for one, other in (pairs.T, pairs.T[::-1])]
        flows = [np.bincount(way[way >= 0], minlength=len(network.links)) for way in ways]
        if either:  # a link's flows of both ways count together
            flows = [flows[0] + flows[1]] * 2
        loads = [np.where(way >= 0, own[way], 0.0).max(axis=1) for way, own in zip(ways, flows, strict=True)]
        load[at] = load[at[::-1]] = (loads[0] + loads[1]) / 2 if mean else np.maximum(*loads)
    found = load[camp[ends.source], camp[ends.target]] if alike else load[ends.source, ends.target]
    found[ends.inside] = 0.0
    return found


def load_factors(times: PairTimes, *, mean: bool = False) -> Floats | None:
    """What each pair's time would be times, had it the least load of its class; None for 1. n times the flows explain n
    times the time at most, and no more than the medians of the two loads differ by.
    """
    found = round_loads(times.ends, mean=mean) if times.mode == TOGETHER else None
    if found is None:
        return None
    loads, index = np.unique(found, return_inverse=True)
    kinds = len(times.ends.places.hops)
    group = times.ends.kind * np.int32(len(loads)) + index.astype(np.int32)
    usual = group_medians(group, times.time_s, kinds * len(loads)).reshape(kinds, len(loads))
    factor = np.ones_like(usual)
    for own, explained in zip(usual, factor, strict=True):
        known = np.flatnonzero(np.isfinite(own))
        for at in known[1:].tolist():
            least = int(known[0])
            explained[at] = min(1.0, max(own[least] / own[at], float(loads[least]) / max(float(loads[at]), 1.0)))
    return factor.ravel()[group]
