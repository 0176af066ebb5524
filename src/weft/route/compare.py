# SPDX-License-Identifier: BSD-3-Clause
"""Scores of routes, and a comparison of engines by them, as rows for the terminal and the page.

Three numbers, since tables that are best for one pattern can be worse for another:

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

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from weft.errors import FabricError
from weft.fabric.checks import Finding
from weft.fabric.network.graph import Floats, Ints, Longs, Network
from weft.fabric.summary import cuts
from weft.format import format_factor
from weft.route.checks import Service, check_routes, hosts_text, lanes_of
from weft.route.given import users_of
from weft.route.library import Library
from weft.route.routes import DRAWN, FEWEST, SEED, Amounts, Phases, Ranks, Routes, all_to_all, phases, placed_matrix

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
    """Lower bound of the relative time of an all-to-all of all hosts for any tables, and the name of its cut. The cut
    around a leaf of h hosts with u uplinks of a host's rate gives ``h (N - h) / (u (N - 1))``, rounded up to whole
    routes: all that a leaf sends to one host takes one link. Pods, groups and halves likewise, see
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


Pattern = Literal["all-to-all", "shift", "exchange", "matrix"]
FULLEST = 10


@dataclass(frozen=True, eq=False)
class Routed:
    """A network as an engine routes it; ``note`` is for the user, ``service`` has its virtual lanes, if known."""

    name: str
    network: Network
    note: str = ""
    service: Service | None = None


@dataclass(frozen=True, eq=False)
class Full:
    """One of the most loaded links."""

    link: int  # index
    name: str
    time: float  # over that of a host's own link; for a schedule of phases the mean over all phases
    load: int  # units over it
    slowest_in: int  # phases in which it is the slowest link; 0 for an all-to-all
    sources: Ints  # indices of the hosts whose messages cross it
    targets: Ints  # of the hosts they are sent to
    routes: int  # from a leaf switch to a host that cross it


@dataclass(frozen=True, eq=False)
class Engine:
    """The evaluation of one engine's routes."""

    name: str
    note: str  # as given
    routes: Routes
    score: Score
    value: float  # relative time of the pattern asked for
    fullest: tuple[Full, ...]  # the most loaded links in that pattern
    findings: tuple[Finding, ...]  # about the routes


@dataclass(frozen=True, eq=False)
class Comparison:
    """All engines under one pattern."""

    pattern: Pattern  # whose time orders the engines
    ranks: Ranks  # host of each rank, or None for one on each host
    engines: tuple[Engine, ...]  # in the order given
    bound: float  # of the relative time of an all-to-all of all hosts for any tables; 0 for a placement on part of them
    cut: str  # name of the cut that gives it


def compare(
    given: list[Routed], library: Library, pattern: Pattern = "all-to-all", ranks: Ranks = None, matrix: Amounts = None
) -> Comparison:
    """Evaluate a network for hosts of ranks (ranks,), or a matrix of amounts, any unit; FabricError for under two."""
    many = len(Routes(given[0].network, library).members(ranks))
    if many < 2:
        what = f"{many} rank with a cable sends nothing over a network"
        raise FabricError(what, "name a fabric of two hosts or more")
    engines = tuple(_engine(each, Routes(each.network, library), pattern, ranks, matrix) for each in given)
    bound, cut = lower_bound(engines[0].routes) if ranks is None else (0.0, "")
    return Comparison(pattern, ranks, engines, bound, cut)


def _engine(given: Routed, routes: Routes, pattern: Pattern, ranks: Ranks, matrix: Amounts) -> Engine:
    worth, network = score(routes, ranks), routes.network
    value, time, load = worth.all_to_all, worth.time, worth.load
    if matrix is not None:  # over the busiest host's own link
        load = placed_matrix(routes, matrix, ranks)
        time = load * routes.slowness
        own = float(time[~network.switch_links].max(initial=0))
        time = time / own if own else time
        value = float(time.max(initial=0))
    if pattern in ("shift", "exchange") and matrix is None:  # the links that are the slowest in the most phases
        done = worth.phases if pattern == "shift" else phases(routes, "exchange", ranks)
        value, load = done.mean, worth.load if done.drawn else done.load  # all phases of either are an all-to-all
        time = load * routes.shared_slowness / max(1, done.of)
        slowest: list[int] = done.link[done.time > 1 + 1e-9].tolist()
        shown: list[tuple[int, int]] = Counter(slowest).most_common(FULLEST)
    else:
        order = np.argsort(-np.round(time, 9), kind="stable")
        shown = [(link, 0) for link in order[((load > 0) & network.switch_links)[order]][:FULLEST].tolist()]
    hosts = None if ranks is None else np.unique(ranks).astype(np.int32)
    full = tuple(
        Full(link, network.link_name(link), float(time[link]), int(load[link]), many, *users_of(routes, link, hosts))
        for link, many in shown
    )
    findings = check_routes(routes, lanes_of(routes, given.service), worth.load if ranks is None else None)
    return Engine(given.name, given.note, routes, worth, value, full, tuple(findings))


class Rows(NamedTuple):
    """A table of texts: its title, headings and rows; ``words`` are the columns with words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int]


def share(value: float) -> float:
    """Per cent of the adapters' rate that a relative time corresponds to."""
    return 100 / value if value else 0.0


def engine_rows(found: Comparison) -> Rows:
    """The scores of each engine, and the lower bound below them."""
    asked, rows = ("this traffic",) if found.pattern == "matrix" else (), list[tuple[str, ...]]()
    for engine in found.engines:
        worth, half = engine.score, (engine.score.bisection.high - engine.score.bisection.low) / 2
        rows.append((
            engine.name, *(f"{engine.value:.3f}" for _ in asked),
            f"{worth.all_to_all:.3f}", f"{share(worth.all_to_all):.0f} %",
            f"{worth.shift:.3f}" + (f" ± {worth.phases.half:.3f}" if worth.phases.drawn else ""),
            format_factor(float(worth.phases.time.max(initial=0))), f"{worth.bisection.share:.3f} ± {half:.3f}",
        ))  # fmt: skip
    if found.bound:
        gap = ("",) * len(asked)
        rows.append(("lower bound", *gap, f"{found.bound:.3f}", f"{share(found.bound):.0f} %", "", "", ""))
    columns = ("engine", *asked, "all-to-all", "injection", "shift", "worst phase", "bisection")
    title, drawn = "Times over that of a host's own link, 1 = best", found.engines[0].score.phases.drawn
    title += f"; shift: {drawn}, drawn at random" if drawn else ""
    return Rows(f"{title}; bisection as a share of full", columns, tuple(rows), frozenset({0}))


def link_rows(engine: Engine) -> Rows:
    """The most loaded links under an engine, and their users."""
    phased, rows = any(full.slowest_in for full in engine.fullest), list[tuple[str, ...]]()
    columns = ("link", "time", "load", "slowest in" if phased else "routes", "from", "to")
    for full in engine.fullest:
        last = f"{full.slowest_in:,} phases" if phased else f"{full.routes:,}"
        ends = (full.sources, full.targets)  # the fewer by name
        who = [f"{len(end):,} hosts" for end in ends]
        few = 0 if len(ends[0]) <= len(ends[1]) else 1
        who[few] = hosts_text(engine.routes.network, ends[few].tolist())
        rows.append((full.name, f"{full.time:.3f}", f"{full.load:,}", last, *who))
    title = f"{engine.name}: fullest links ({engine.routes.network.routing})"
    return Rows(title, columns, tuple(rows), frozenset({0, 4, 5}))
