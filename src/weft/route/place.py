# SPDX-License-Identifier: BSD-3-Clause
"""Which free hosts to ask for: the sets of N with the fastest and the slowest all-to-all, and bounds on both.

Ordered by the relative time of the slowest link in an all-to-all, then by the mean over the phases of a shift. Few
sets are all evaluated; else the search starts from sets of neighbours and swaps single hosts.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from weft.errors import FabricError
from weft.fabric.importing import folded_names
from weft.fabric.network.graph import Floats, Ints, Network
from weft.format import format_factor
from weft.route.compare import share
from weft.route.routes import Amounts, Ranks, Routes, all_to_all, flow_loads, phases
from weft.text import lean_table

EXHAUSTIVE = 20_000  # most sets for an exhaustive search
SWAPS, FEWEST_SWAPS = 400, 20  # swaps tried from each start: fewer where a set takes longer to evaluate
STARTS = 12
TIE = 1e-9  # relative times that differ by less are equal
WORK = 300_000_000  # links and messages looked at in a search: some seconds of a core
SEED = 7


@dataclass(frozen=True, eq=False)
class Placement:
    """A set of hosts."""

    hosts: Ints  # host indices in rank order
    all_to_all: float  # relative times among them: 1 = links as fast as the fastest adapter of all hosts to choose from
    shift: float

    def names(self, network: Network) -> list[str]:
        """The hosts in rank order."""
        return [network.hosts[h] for h in self.hosts.tolist()]

    @property
    def key(self) -> tuple[float, float]:
        """The sort key of placements."""
        return (round(self.all_to_all, 9), round(self.shift, 9))


@dataclass(frozen=True, eq=False)
class Placements:
    """The result of a search for placements."""

    best: Placement
    worst: Placement
    bound: float  # lower bound of the time of any set
    limit: float  # upper bound of it
    exact: bool  # whether all sets were evaluated
    looked_at: int  # number of sets evaluated
    traffic: str = "an all-to-all"  # what they carry, in words


def between_nodes(sent: Floats, count: int) -> Floats:
    """Amount from each node to each other, shape (count, count), of ranks that fill the nodes; FabricError for none."""
    if len(sent) % count:
        what = f"{len(sent)} ranks, which {count} nodes cannot share equally"
        raise FabricError(what, f"give a divisor of {len(sent)}: --nodes")
    each = len(sent) // count
    summed = sent.reshape(count, each, count, each).sum(axis=(1, 3))
    np.fill_diagonal(summed, 0)
    if not summed.any():
        what = f"the ranks of {count} nodes send nothing from one node to another"
        raise FabricError(what, "give more nodes: --nodes")
    return summed


def place(routes: Routes, count: int, free: Ranks = None, beside: Amounts = None, sent: Amounts = None) -> Placements:
    """The best and the worst set of ``count`` free hosts. `free`: host indices to choose from, shape (free,); all with
    a cable if None. `beside`: load of other jobs on each link, shape (links,), in units of what one host sends to one
    other. `sent`: amount from each node to each other, shape (count, count), in any unit; an all-to-all if None. The
    time is then relative to that of the node that sends or gets most, over the fastest adapter. FabricError for fewer
    than two hosts, or more than are free.
    """
    members = np.unique(routes.members(free))
    if count < 2 or count > len(members):
        raise FabricError(f"{count} nodes of {len(members)} that are free", f"ask for 2 to {len(members)}")
    search = _Search(routes, members, count, beside, sent)
    exact = math.comb(len(members), count) <= EXHAUSTIVE
    if exact:
        for chosen in combinations(members.tolist(), count):
            search.look(np.array(chosen, dtype=np.int32))
    else:
        for sign in (1, -1):
            for start in search.starts(sign):
                search.better(start, sign)
    best, worst = (search.found[sign] for sign in (1, -1))  # there are count hosts, so at least one set was evaluated
    # at least the slowest link of the fastest hosts; at most all messages one after the other over the slowest link.
    # Of traced messages the node that sends most may have the fastest adapter
    bound, limit = float(search.own[0 if sent is not None else count - 1]), float(count * search.slowness.max())
    bound, limit = (best.all_to_all, worst.all_to_all) if exact else (bound, limit)
    words = "an all-to-all" if sent is None else "the traced messages"
    return Placements(best, worst, bound, limit, exact, search.looked_at, words)


class _Search:
    """Evaluates sets and keeps the best (sign 1) and the worst (sign -1)."""

    def __init__(self, routes: Routes, members: Ints, count: int, beside: Amounts, sent: Amounts) -> None:
        self.routes, self.members, self.count = routes, members, count
        self.sent = sent if sent is None else sent * (count - 1) / max(sent.sum(axis=0).max(), sent.sum(axis=1).max())
        self.beside = np.zeros(len(routes.network.links)) if beside is None else beside
        own = routes.slowness[routes.arrays[2][members]]
        self.unit = float(own.min())  # not that of the slowest host: others would seem faster than their adapters
        self.own, self.slowness = np.sort(own / self.unit), routes.slowness / self.unit
        self.found: dict[int, Placement] = {}
        self.looked_at = 0
        self.whole = not (routes.lengths[:, members] < 0).any()
        work = len(routes.network.links) + (4 * count if self.whole else 16 * len(routes.network.hosts))
        self.swaps = min(SWAPS, max(FEWEST_SWAPS, WORK // (2 * STARTS * work)))
        self.tie = TIE if self.swaps == SWAPS else -TIE
        self.random = np.random.default_rng(SEED)

    def look(self, hosts: Ints, beyond: float | None = None, sign: int = 1, load: Amounts = None) -> Placement | None:
        """Evaluate a set; keep it if it is the best or the worst so far. `load`: its load of each link, if known.
        None for one whose time is neither beyond ``beyond``, by ``sign``, nor the best or the worst: its shift, which
        decides among equal ones alone, takes longer. In large networks equal ones are not distinguished.
        """
        self.looked_at += 1
        # Order ranks by switch: neighbours in rank are neighbours in the network.
        order = hosts[np.argsort(self.routes.row[hosts], kind="stable")]
        if load is None and self.sent is not None:
            source, target = np.nonzero(self.sent)
            load = flow_loads(self.routes, order[source], order[target], self.sent[source, target])
        load = self._loads(hosts) if load is None else load
        time = float(((load + np.where(load > 0, self.beside, 0)) * self.slowness).max()) / (self.count - 1)
        ends = [(side, kept.all_to_all) for side, kept in self.found.items()]
        if beyond is not None and all(side * (time - end) > self.tie for side, end in (*ends, (sign, beyond))):
            return None
        shift = phases(self.routes, "shift", order, slowness=self.routes.slowness).mean / self.unit
        seen = Placement(order, time, shift)
        best, worst = (self.found.get(side, seen) for side in (1, -1))
        self.found = {1: min(best, seen, key=lambda each: each.key), -1: max(worst, seen, key=lambda each: each.key)}
        return seen

    def _loads(self, hosts: Ints) -> Floats:
        """Loads of an all-to-all: by its messages, or through the tables of all hosts where these are fewer."""
        if not self.whole or len(hosts) ** 2 > len(self.routes.network.links):
            return all_to_all(self.routes, hosts).load.astype(np.float64)
        return flow_loads(self.routes, np.repeat(hosts, len(hosts)), np.tile(hosts, len(hosts)))

    def _swapped(self, load: Floats, hosts: Ints, place: int, other: int) -> Floats:
        rest = np.delete(hosts, place)
        old, new = np.full_like(rest, hosts[place]), np.full_like(rest, other)
        amounts = np.repeat([-1.0, 1.0], 2 * len(rest))
        ends = np.concatenate([old, rest, new, rest]), np.concatenate([rest, old, rest, new])
        return load + flow_loads(self.routes, *ends, amounts)

    def starts(self, sign: int) -> list[Ints]:
        """Start sets: packed on few leaves, spread over all leaves, and random."""
        row = self.routes.row[self.members]
        by_leaf = [self.members[row == leaf] for leaf in np.unique(row)]
        largest = sorted(by_leaf, key=len, reverse=True)
        packed = np.concatenate(largest)[: self.count]  # pyrefly: ignore[no-matching-overload]
        closest = next((hosts[: self.count] for hosts in by_leaf[::-1] if len(hosts) >= self.count), packed)
        turns = [hosts[i] for i in range(max(map(len, by_leaf))) for hosts in by_leaf if i < len(hosts)]
        chosen = [packed, closest, np.array(turns[: self.count], dtype=np.int32), self.members[: self.count]]
        if sign < 0:
            chosen.append(self.members[-self.count :])
        while len(chosen) < STARTS:
            chosen.append(self.random.choice(self.members, self.count, replace=False))
        return [np.asarray(hosts, dtype=np.int32) for hosts in chosen]

    def better(self, start: Ints, sign: int) -> None:
        """Swap single hosts while the set gets better (or worse, for sign -1)."""
        inside, load = start.copy(), self._loads(start) if self.sent is None and self.whole else None
        kept = self.look(start, load=load)
        assert kept is not None
        for _ in range(self.swaps):
            free = np.ones(len(self.routes.network.hosts), dtype=np.bool_)
            free[inside] = False
            outside = self.members[free[self.members]]
            if not outside.size or (sign > 0 and kept.key <= (1.0, 1.0)):
                return
            tried, place = inside.copy(), int(self.random.integers(self.count))
            tried[place] = self.random.choice(outside)
            loads = None if load is None else self._swapped(load, inside, place, int(tried[place]))
            seen = self.look(tried, kept.all_to_all, sign, loads)
            if seen and ((seen.key < kept.key) if sign > 0 else (seen.key > kept.key)):
                inside, kept, load = tried, seen, loads


def scheduler_words(network: Network, placement: Placement, free: list[str]) -> dict[str, str]:
    """Options for a scheduler: request these hosts, or exclude the other free ones."""
    chosen = placement.names(network)
    sets = {"nodelist": chosen, "exclude": [name for name in free if name not in set(chosen)]}
    return {option: f"--{option}={folded_names(sorted(listed))}" for option, listed in sets.items() if listed}


def placement_text(found: Placements, network: Network, title: str, free: list[str]) -> RenderableType:
    """Best and worst placement as text, the verdict first."""
    best, worst = found.best, found.worst
    how = f"all {found.looked_at:,} sets looked at" if found.exact else f"{found.looked_at:,} sets looked at"
    head = (
        f"{title}: the best {len(best.hosts)} nodes carry {found.traffic} at {share(best.all_to_all):.0f} % of "
        f"injection, the worst at {share(worst.all_to_all):.0f} % ({how})"
    )
    columns = ("set", found.traffic.removeprefix("an "), "shift", "nodes")
    table = lean_table(*columns, words=(0, 3), title="Times over that of the fastest host's own link")
    for name, each in (("best", best), ("worst", worst)):
        table.add_row(name, f"{each.all_to_all:.3f}", f"{each.shift:.3f}", folded_names(sorted(each.names(network))))
    if not found.exact:
        between = f"{format_factor(found.bound)} to {format_factor(found.limit)}"
        table.add_row("bounds", between, "", "none outside", style="dim")
    words = scheduler_words(network, best, free)
    order = Text("rank order: " + ",".join(best.names(network)))
    return Group(Text(head, style="bold"), Text(), table, Text(), *(Text(w) for w in words.values()), order)


def placement_tree(found: Placements, network: Network, free: list[str]) -> dict[str, Any]:
    """Best and worst placement for JSON (schema ``weft-place/1``)."""

    def tree(placement: Placement) -> dict[str, Any]:
        return {"nodes": placement.names(network), "all_to_all": placement.all_to_all, "shift": placement.shift}

    return {
        "schema": "weft-place/1",
        "best": tree(found.best),
        "worst": tree(found.worst),
        "bounds": [found.bound, found.limit],
        "exact": found.exact,
        "looked_at": found.looked_at,
        "scheduler": scheduler_words(network, found.best, free),
    }
