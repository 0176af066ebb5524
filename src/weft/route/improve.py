# SPDX-License-Identifier: BSD-3-Clause
"""Better tables: from several starts, not worse than the present ones on any score (`NEARLY`), free of deadlock.

Starts are the present tables, d-mod-k, and tables made only for an all-to-all. Each is improved entry by entry at its
most loaded link (native/route/relieve.cpp), and the fastest of them phase by phase (native/route/swap.cpp). Of all
stages that are not worse than the present tables on any score, and whose channel dependencies have no cycle, the one
with the fastest all-to-all is the result.

D-mod-k: towards host d a leaf takes its spine number d mod k, that spine its core number (d div k) mod k', and so on
(E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees", 2010), in
any tree, complete or degraded. Where that does not lead there, destinations are spread over the others, so that next to
a failed cable no link carries twice what it did. On complete trees no two flows of a shift share a link.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from weft.fabric.network.graph import Ints, Longs, Network
from weft.fabric.network.minimal import ports_by_switch
from weft.route.checks import find_circle
from weft.route.compare import Score, lower_bound, score
from weft.route.routes import Routes, all_to_all


def d_mod_k(routes: Routes) -> Routes:
    """The same network with d-mod-k tables; on graphs that are not trees, minimal routes spread by destination."""
    network = routes.network
    hosts, count = len(network.hosts), len(network.switches)
    number, most = _numbers(network, *ports_by_switch(hosts, count, network.links))
    source, target = (np.maximum(ends - hosts, 0) for ends in (network.links.source, network.links.target))
    stride = np.ones(count, dtype=np.int64)  # consecutive destinations that a switch sends over one link
    for height in range(2, int(network.level.max(initial=1)) + 1):
        lower = network.level == height - 1
        typical = int(np.median(most[lower])) if lower.any() else 1
        stride[network.level == height] = int(stride[lower].max(initial=1)) * max(1, typical)
    rank = np.empty(hosts, dtype=np.int64)
    rank[np.argsort(network.leaf, kind="stable")] = np.arange(hosts)
    forward = np.full((count, hosts), -1, dtype=np.int32)
    columns = (network.links.source_port, network.level, number[source, target], most, stride, rank)
    routes.library.call("d_mod_k", routes.graph, *map(np.ascontiguousarray, columns), forward)
    return routes.with_network(network.with_tables(forward, "d-mod-k, made by Weft"))


def _numbers(network: Network, out: Ints, peer: Ints) -> tuple[Longs, Longs]:
    """Number of each switch among its siblings, shape (switches, switches), and how many each lower switch uses."""
    count, level = len(network.switches), network.level.tolist()
    above = [{p for p in peer[s][out[s] >= 0].tolist() if level[p] > level[s]} for s in range(count)]
    below: dict[int, list[int]] = defaultdict(list)
    for s, ups in enumerate(above):
        for up in ups:
            below[up].append(s)
    # Siblings: switches that share a switch below; a leaf that lost a cable still numbers all of them.
    number, most = np.zeros((count, count), dtype=np.int64), np.ones(count, dtype=np.int64)
    for s, ups in enumerate(above):
        brothers = sorted({up for near in ups for other in below[near] for up in above[other]})
        most[s] = max(1, len(brothers))
        number[s, brothers] = np.arange(len(brothers))
    return number, most


PASSES, ROUNDS, SEED = 4, 2, 1
LABEL = "better tables, made by Weft"


def rerouted(routes: Routes, branching: float, rank: Ints | None = None) -> Routes:
    """The network with tables for an all-to-all: minimal, or up*/down* by a total order of the switches."""
    forward = np.empty(routes.network.forward.shape, dtype=np.int32)
    routes.library.call("reroute", routes.graph, rank, routes.shared_slowness, branching, PASSES, SEED, forward)
    return routes.with_network(routes.network.with_tables(forward, LABEL))


def relieved(routes: Routes, most: int, rank: Ints | None = None) -> tuple[Routes, int]:
    """The network with at most ``most`` entries changed to relieve its fullest links, and the number of changes."""
    forward = np.array(routes.network.forward, dtype=np.int32, order="C")
    changes = np.empty((max(1, most), 3), dtype=np.int32)
    done = int(routes.library.call("relieve", routes.graph, rank, routes.shared_slowness, most, forward, changes))
    return routes.with_network(routes.network.with_tables(forward, LABEL)), done


def swapped(routes: Routes, most: float, rank: Ints | None = None, limit_s: float = math.inf) -> tuple[Routes, int]:
    """The network with entries of leaves changed for the phases of a shift, for ``limit_s`` seconds; how many were."""
    forward = np.array(routes.network.forward, dtype=np.int32, order="C")
    others = max(1, int((routes.network.uplink >= 0).sum()) - 1)
    given = (rank, routes.shared_slowness, most * others, 0.0, ROUNDS, SEED, limit_s, forward)
    done = int(routes.library.call("swap", routes.graph, *given))
    return (routes.with_network(routes.network.with_tables(forward, LABEL)), done) if done > 0 else (routes, 0)


BRANCHING = (1.0, 100.0, 1000.0)  # cost of a new branch of a tree, see native/route/reroute.cpp
LOOKS = 10
FASTEST = 2  # stages of each start whose phases are improved
STEPS = 12  # stages of improvement that are scored, from each start
BUDGET_S = 45.0
NEAR = 1.03  # times the bound: stages that have come so near and do not get faster leave the time to phases


@dataclass(frozen=True, eq=False)
class Candidate:
    """Tables that were evaluated."""

    how: str  # they were made
    routes: Routes
    score: Score
    changes: int  # number of entries that differ from the present tables


class Improvement:
    """A search for better tables, and its result."""

    def __init__(self, routes: Routes, most_changes: int | None, budget_s: float) -> None:
        self.present, self.own = Candidate("the present tables", routes, score(routes), 0), d_mod_k(routes)
        # the best tables that are not worse on any score; the fastest in an all-to-all, for any other scores; and those
        # that they are judged by: the present tables, whose place those take that lose fewer messages
        self.best = self.fastest = self._reference = self.present
        # as good as the best but for the all-to-all, fewest changes first: each has a faster one than those before it
        self.front: list[Candidate] = []
        self.most_changes, self.tried, self.ended = most_changes, 0, False  # ended: the budget, before all starts
        self.rank: Ints | None = None  # an order of the switches for up*/down* routes, if d-mod-k tables have a cycle
        if find_circle(self.own) is not None:
            level = routes.network.level
            self.rank = (level * len(level) + np.arange(len(level))).astype(np.int32)
        self.deadlocks = find_circle(routes) is not None  # of the present tables, on one virtual lane
        self.bound, self.cut = lower_bound(routes)  # of the relative time of an all-to-all for any tables
        self.least_lost = all_to_all(self.own, self.own.members(None)).lost  # pairs that have no way to each other
        self.budget_s, self.until = budget_s, time.process_time() + budget_s

    @property
    def better(self) -> bool:
        """Whether better tables were found."""
        return self.best is not self.present

    def with_gain(self, share: float) -> "Improvement":
        """The same with the fewest changes for a share (0 to 1) of the gain; itself where tables lose messages."""
        if not self.better or self.present.score.lost > self.best.score.lost:
            return self
        present, best = (each.score.all_to_all for each in (self.present, self.best))
        enough, found = present - share * (present - best) + 1e-9, copy(self)
        found.best = next((each for each in self.front if each.score.all_to_all <= enough), self.best)
        return found

    def is_reached(self, candidate: Candidate) -> bool:
        """Whether tables take no longer and lose no more than what no tables can better."""
        return candidate.score.lost <= self.least_lost and candidate.score.all_to_all <= self.bound + 1e-9

    def looking(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The same candidates, each counted, and kept if it is better."""
        for candidate in candidates:
            self.tried += 1
            self.fastest = min(self.fastest, candidate, key=lambda c: (c.score.lost, c.score.all_to_all))
            self.take(candidate)
            yield candidate

    def take(self, candidate: Candidate) -> bool:
        """Keep a candidate that is the best so far, or better than all with as few changes; whether it is the best."""
        cost, reference = candidate.score.all_to_all, self._reference.score
        if candidate.score.lost < reference.lost and find_circle(candidate.routes) is None:
            self._reference = self.best = candidate
            self.front = [candidate]
            return True
        both = (candidate, self.best)
        mine, its = ((c.score.lost, round(c.score.all_to_all, 6), c.score.shift, c.changes) for c in both)
        no_worse = candidate.score.no_worse_than(reference)
        best, fewest = no_worse and mine < its, no_worse and cost < reference.all_to_all - 1e-9
        beaten = any(each.changes <= candidate.changes and each.score.all_to_all <= cost for each in self.front)
        if (not best and (not fewest or beaten)) or find_circle(candidate.routes) is not None:
            return False
        kept = [each for each in self.front if each.changes < candidate.changes or each.score.all_to_all < cost]
        self.front = sorted([*kept, candidate], key=lambda each: each.changes)
        if best:
            self.best = candidate
        return best

    def starts(self, others: tuple[Network, ...]) -> Iterator[tuple[str, Routes]]:
        """Names and routes of starts, the most promising first: on large fabrics the time may be over after some."""
        routes = self.present.routes
        tried = self.most_changes is None and self.rank is None
        if tried and (self.own.network.forward != routes.network.forward).any():
            yield "d-mod-k", self.own
        yield "the present tables", routes
        if self.most_changes is None:
            for branching in BRANCHING:
                yield f"made for an all-to-all, branches at {branching:g}", rerouted(routes, branching, self.rank)
            for network in others:
                yield network.routing, routes.with_network(network)

    def stages(self, how: str, start: Routes, until: float) -> Iterator[Candidate]:
        """A start, unless it is the present tables, and what more and more changes make of it."""
        if start is not self.present.routes:
            yield self._candidate(how, start)
        left = self.most_changes
        step = max(1, len(start.network.hosts) // 16) if left is None else max(1, -(-left // STEPS))
        routes, total, cost = start, 0, math.inf
        for number in range(STEPS):
            if left == 0 or (time.process_time() > until and (number or start is not self.present.routes)):
                return
            routes, done = relieved(routes, step if left is None else min(step, left), self.rank)
            if not done:
                return
            total += done
            left = None if left is None else left - done
            stage = self._candidate(f"{how}, {total} entries changed for its fullest links", routes)
            yield stage
            last, cost = cost, stage.score.all_to_all
            near = stage.score.lost <= self.least_lost and last - 1e-9 <= cost <= NEAR * self.bound
            if near or self.is_reached(stage):
                return  # more changes cannot, or did not, make it faster
            step = step if left is not None else step * 2

    def in_phase(self, stage: Candidate) -> Iterator[Candidate]:
        """A stage with faster and faster phases; none if the best so far has a faster all-to-all."""
        if stage.score.all_to_all > self.best.score.all_to_all + 1e-9 or stage.score.lost > self.best.score.lost:
            return
        routes, total = stage.routes, 0
        for _ in range(LOOKS):
            left = max(0.0, self.until - time.process_time())
            routes, done = swapped(routes, stage.score.all_to_all, self.rank, limit_s=left)
            if not done:
                return
            total += done
            yield self._candidate(f"{stage.how}, {total} for its phases", routes)
            if time.process_time() > self.until:
                return

    def refine(self) -> None:
        """Take some more changes to the best stage as long as no score gets worse: steps between stages are large."""
        step = max(1, len(self.present.routes.network.hosts) // 16)
        while step > 0 and time.process_time() < self.until:
            routes, done = relieved(self.best.routes, step, self.rank)
            if not done:
                break
            how = f"{self.best.how.removesuffix(' and some more')} and some more"
            if not self.take(self._candidate(how, routes)):
                step //= 2

    def _candidate(self, how: str, routes: Routes) -> Candidate:
        before, after = self.present.routes.network.forward, routes.network.forward
        return Candidate(how, routes, score(routes), int((before != after).sum()))


def improve(
    routes: Routes,
    *,
    most_changes: int | None = None,
    others: tuple[Network, ...] = (),
    budget_s: float = BUDGET_S,
    say: Callable[[str], None] = lambda _: None,
) -> Improvement:
    """Look for better tables by at most ``most_changes`` changed entries, any number if None. `budget_s`: seconds of
    processor time after the present tables' evaluation, after which no stage starts but the first start's first.
    """
    search = Improvement(routes, most_changes, budget_s)
    for how, start in search.starts(others):
        search.ended = search.tried > 0 and time.process_time() > search.until
        if search.ended:
            break
        before, now = search.best, time.process_time()
        half = search.until if most_changes is not None else now + (search.until - now) / 2  # phases need time, too
        stages = list(search.looking(search.stages(how, start, half)))
        if most_changes is None:
            for stage in sorted(stages, key=lambda stage: stage.score.all_to_all)[:FASTEST]:
                list(search.looking(search.in_phase(stage)))
            # If every stage from the present tables made a score worse, try smaller steps.
            stuck = start is routes and search.best is search.present
            if not search.is_reached(search.best) and (search.best is not before or stuck):
                search.refine()
        say(f"{how}: best so far {search.best.score.all_to_all:.3f} (bound {search.bound:.3f})")
        if search.is_reached(search.best):  # further stages could improve only the other scores
            break
        search.ended = time.process_time() > search.until
    return search
