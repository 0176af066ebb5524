# SPDX-License-Identifier: BSD-3-Clause
"""Pairs that are measured at the same time share links: each is judged beside pairs of rounds that load them as much.

The schedule of rounds and the routes are known, so the load of a pair is known, too: the most flows of its round over
one link of its way there or back, or the mean of both ways, which a round trip takes one after the other. A torus, a
dragonfly or narrow uplinks load the links of one round unequally, which makes some pairs several times as slow as
others of their class, and nothing is at fault. Flows are counted, whatever rate the fabric file states for a link: a
cable that is stated to be slow is slow.
"""

import numpy as np
from numpy.typing import NDArray

from weft.analyse.pairs.pair_times import Ends, Floats, PairTimes
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import group_medians
from weft.fabric.hops import walk
from weft.kernel.tournament import PairSchedule

ALONE = "isolated"
TOGETHER = "all"
"""The mode in which all pairs of a round are measured at once."""


def round_loads(ends: Ends, *, mean: bool = False) -> NDArray[np.float32] | None:
    """The load of each pair in its own round, shape (pairs,): flows on one link, 0 within a node.

    None where routes are unknown, or where all pairs of a class are loaded alike. ``mean``: of both ways, not the more
    crowded one.
    """
    places = ends.places
    if not places.routed or len(places.nodes) < 2:
        return None
    found = _by_rounds(ends, mean=mean)
    low, high = np.full((2, len(places.hops)), [[np.inf], [0.0]])
    np.minimum.at(low, ends.kind, found)
    np.maximum.at(high, ends.kind, found)
    return None if (high <= low).all() else found


def crossing_factors(times: PairTimes) -> NDArray[np.float32] | None:
    """How many times as long as by its load each pair may take, shape (pairs,); None for 1.

    A pair that is done early on its way there comes back while others of its round still go there. So what may share a
    link with it is all that crosses this link either way, and each of its two ways takes so many times as long at most.
    """
    if times.mode != TOGETHER or not times.ends.places.routed or len(times.ends.places.nodes) < 2:
        return None
    load, most = _by_rounds(times.ends), _by_rounds(times.ends, mean=True, either=True)
    return np.maximum(most / np.maximum(load, 1), 1)


def _by_rounds(ends: Ends, *, mean: bool = False, either: bool = False) -> NDArray[np.float32]:
    """The load of each pair in its round, shape (pairs,): of both ways the higher or the mean; 0 within a node."""
    places = ends.places
    schedule = PairSchedule(places.node_of)
    camp = schedule.camp_of()
    # each shift of two camps of one size loads the links alike: their first round tells of all of them
    alike = len(np.unique(np.bincount(places.node_of))) == 1
    load = np.zeros((schedule.camps,) * 2 if alike else (places.ranks,) * 2, np.float32)
    for number in range(0, schedule.between, schedule.width if alike else 1):
        pairs = schedule.pairs(number)
        at = (camp[pairs[:, 0]], camp[pairs[:, 1]]) if alike else (pairs[:, 0], pairs[:, 1])
        load[at] = load[at[::-1]] = _of_round(places, pairs, mean, either)
    found = load[camp[ends.source], camp[ends.target]] if alike else load[ends.source, ends.target]
    found[ends.inside] = 0.0
    return found


def _of_round(places: Places, pairs: NDArray[np.int32], mean: bool, either: bool) -> Floats:
    """Loads of the pairs of a round, shape (pairs,); ``either``: a link's flows of both ways count together."""
    hosts, network = places.host[places.node_of], places.network
    ways = [walk(network, hosts[one], hosts[other]) for one, other in (pairs.T, pairs.T[::-1])]
    flows = [np.bincount(way[way >= 0], minlength=len(network.links)) for way in ways]
    if either:
        flows = [flows[0] + flows[1]] * 2
    loads = [np.where(way >= 0, own[way], 0.0).max(axis=1) for way, own in zip(ways, flows, strict=True)]
    return (loads[0] + loads[1]) / 2 if mean else np.maximum(*loads)


def load_factors(times: PairTimes, *, mean: bool = False) -> Floats | None:
    """What the time of each pair would be times, had it the load that is the least of its class; None for 1.

    A load of so many times as many flows explains a time so many times as long, and no more; of that it explains what
    the medians of the two loads differ by. So what slows few of its pairs, or all of them by more, stays to be found.
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
            most = float(loads[least]) / max(float(loads[at]), 1.0)
            explained[at] = min(1.0, max(own[least] / own[at], most))
    return factor.ravel()[group]
