# SPDX-License-Identifier: BSD-3-Clause
"""Scores of routes: three numbers, since tables that are best for one pattern can be worse for another.

- **all-to-all**: time of the slowest link over that of a host's own link; 1 = as fast as the adapters. The time of an
  all-to-all with messages in no particular order.
- **shift**: the same, as the mean over the phases of a shift. The time of pairwise and ring algorithms.
- **bisection**: effective bisection bandwidth, the share of a host's rate that random pairs achieve.

The unit is the own link of most hosts. A host whose link is slower limits itself and whoever waits for it: such hosts
are named, and the scores are those of the network without that.

Effective bisection bandwidth is that of ORCS (T. Hoefler, T. Schneider, A. Lumsdaine, "Multistage switches are not
crossbars: effects of static routing in high-performance networks", 2008): of hosts in two random halves each of the
first sends to one of the second. The rate of a flow is that of the most loaded link on its route, divided by the number
of flows there; its share is this rate over that of its two hosts' links, the score the mean over flows and splits.
"""

from dataclasses import dataclass, replace

import numpy as np

from weft.fabric.network.graph import Floats, Ints, Longs
from weft.fabric.summary import cuts
from weft.route.routes import DRAWN, FEWEST, SEED, Phases, Ranks, Routes, all_to_all, phases

SAMPLES = 1000
NEARLY = 0.005  # part of a shift or bisection: an all-to-all twice as fast was refused for 0.2 % of a bisection


@dataclass(frozen=True, eq=False)
class Effective:
    """Effective bisection bandwidth."""

    share: float  # mean share of a host's own rate, 0 to 1
    low: float  # 95 % interval of that mean (normal: the mean of many independent splits)
    high: float
    each: Floats  # the share of each split, shape (samples,)


def effective_bisection(routes: Routes, hosts: Ranks = None, samples: int = SAMPLES, seed: int = SEED) -> Effective:
    """Effective bisection bandwidth of some hosts, all with a cable by default; with an odd number one is idle."""
    members = routes.members(hosts)
    samples = min(samples, max(FEWEST, DRAWN // max(1, len(members))))
    each = np.ones(samples)
    if len(members) > 1:
        arguments = (len(members), members, samples, seed, routes.shared_slowness, each)
        routes.library.call("bisections", routes.graph, routes.paths, *arguments)
    mean = float(each.mean())
    spread = 1.96 * float(each.std(ddof=1)) / np.sqrt(samples) if samples > 1 else float("nan")
    return Effective(mean, mean - spread, mean + spread, each)


@dataclass(frozen=True, eq=False)
class Score:
    """Scores of the routes of a network."""

    all_to_all: float  # relative times, 1 = links as fast as the adapters; smaller is better
    shift: float
    bisection: Effective  # larger is better
    load: Longs  # units over each link in the all-to-all, shape (links,)
    time: Floats  # relative time of each link in it, shape (links,)
    phases: Phases  # of the shift
    lost: int  # pairs of ranks without a route
    # hosts that limit themselves, the slowest first: index, and the share of the usual rate that their link has
    limited: tuple[tuple[int, float], ...] = ()

    def no_worse_than(self, other: "Score") -> bool:
        """Whether no score is worse, shift and bisection by over `NEARLY`, and no more pairs are lost."""
        return self.lost < other.lost or (
            self.lost == other.lost
            and self.all_to_all <= other.all_to_all + 1e-9
            and self.shift <= other.shift * (1 + NEARLY)
            and self.bisection.share >= other.bisection.share * (1 - NEARLY)
        )


def score(routes: Routes, ranks: Ranks = None, samples: int = SAMPLES) -> Score:
    """Score the routes of a network for ranks on these hosts, shape (ranks,); one on each with a cable if None."""
    members = routes.members(ranks)
    scattered = all_to_all(routes, members)
    time = scattered.load * routes.shared_slowness / max(1, len(members) - 1)
    shift = phases(routes, "shift", members)
    bisection = effective_bisection(routes, np.unique(members), samples)
    most = float(time.max(initial=0))
    return Score(most, shift.mean, bisection, scattered.load, time, shift, scattered.lost, limited(routes, members))


def limited(routes: Routes, members: Ints) -> tuple[tuple[int, float], ...]:
    """The hosts among ``members`` whose own link is slower than most hosts', and its share of that rate."""
    hosts = np.unique(members)
    own = routes.slowness[routes.network.uplink[hosts]]
    slow = sorted(zip(own.tolist(), hosts.tolist(), strict=True), key=lambda each: (-each[0], each[1]))
    return tuple((host, 1 / times) for times, host in slow if times > 1 + 1e-9)


def lower_bound(routes: Routes) -> tuple[float, str]:
    """Lower bound of the relative time of an all-to-all of all hosts for any tables, and the name of its cut.

    The cut around a leaf of h hosts with u uplinks of a host's rate gives ``h (N - h) / (u (N - 1))``, rounded up to
    whole routes: all that a leaf sends to one host takes one link. Pods, groups and halves likewise, see
    `weft.fabric.summary`. A host's own link gives 1.
    """
    network = routes.network
    rate, count = routes.unit_rate, int((network.uplink >= 0).sum())
    if not np.isfinite(network.links.rate).all():
        network, rate = replace(network, links=replace(network.links, rate=np.ones(len(network.links)))), 1.0
    if count < 2:
        return 0.0, ""
    best = (1.0, "the hosts' own links")
    below = np.bincount(network.leaf[network.leaf >= 0], minlength=len(network.switches))
    for cut in cuts(network):
        inside = np.bincount(network.leaf[list(cut.hosts)], minlength=len(below))
        units = len(cut.hosts) * (count - len(cut.hosts))
        if not units:
            continue
        ways = zip((inside, below - inside), zip(*cut.rates, strict=True), strict=True)
        least = max(_in_whole(units, int(np.gcd.reduce(hosts)), rates) for hosts, rates in ways)
        best = max(best, (least * rate / (count - 1), cut.name))
    return best


def _in_whole(units: int, granule: int, rates: tuple[float, ...]) -> float:
    """Least time, in units over a rate, in which links of these rates carry the units in routes of ``granule`` each."""
    distinct, number = np.unique(rates, return_counts=True)
    time = units / float((distinct * number).sum())
    while granule * (routes := np.floor(time * distinct / granule * (1 + 1e-12) + 1e-9)) @ number < units:
        time = float(((routes + 1) * granule / distinct).min())
    return time
