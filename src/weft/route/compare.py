# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a comparison of routes, for the terminal and the page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from weft.errors import FabricError
from weft.fabric.findings import Finding
from weft.fabric.network.graph import Network
from weft.fabric.readers.lanes import Service
from weft.format import format_factor
from weft.route.checks import check_routes, hosts_text
from weft.route.deadlock import lanes_of
from weft.route.given import Users, users_of
from weft.route.library import Floats, Ints, Library
from weft.route.patterns import phases, placed_matrix
from weft.route.routes import Routes
from weft.route.score import Score, lower_bound, score

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

    # link, name: its index and name
    link: int
    name: str
    time: float  # its time over that of a host's own link; for a schedule of phases the mean over all phases
    load: int  # units over it
    slowest_in: int  # phases in which it is the slowest link; 0 for an all-to-all
    users: Users  # the hosts whose messages cross it


@dataclass(frozen=True, eq=False)
class Engine:
    """The evaluation of one engine's routes."""

    # name, note: name and remark as given
    name: str
    note: str
    # routes, score: the routed network and its scores
    routes: Routes
    score: Score
    value: float  # relative time of the pattern asked for
    fullest: tuple[Full, ...]  # the most loaded links in that pattern
    findings: tuple[Finding, ...]  # findings of the checks of the routes


@dataclass(frozen=True, eq=False)
class Comparison:
    """All engines under one pattern."""

    pattern: Pattern  # the pattern whose time orders the engines
    ranks: Ints | None  # host of each rank, or None for one on each host
    engines: tuple[Engine, ...]  # in the order given
    # bound, cut: lower bound of the relative time of an all-to-all of all hosts for any tables, and the name of its
    # cut; 0 for a placement on part of them
    bound: float
    cut: str


def compare(
    given: Sequence[Routed],
    library: Library,
    *,
    pattern: Pattern = "all-to-all",
    ranks: Ints | None = None,
    matrix: Floats | None = None,
    checks: bool = True,
) -> Comparison:
    """Evaluate a network under several engines; FabricError for fewer than two ranks.

    `ranks`: host index of each rank, shape (ranks,); one on each host if None. `matrix`: amount from each rank to
    each other, shape (ranks, ranks), in any unit, for the pattern ``matrix``.
    """
    many = len(Routes(given[0].network, library).members(ranks))
    if many < 2:
        raise FabricError(
            f"{many} rank with a cable sends nothing over a network", "name a fabric of two hosts or more"
        )
    engines = tuple(_engine(each, Routes(each.network, library), pattern, ranks, matrix, checks) for each in given)
    bound, cut = lower_bound(engines[0].routes) if ranks is None else (0.0, "")
    return Comparison(pattern, ranks, engines, bound, cut)


def _engine(
    given: Routed, routes: Routes, pattern: Pattern, ranks: Ints | None, matrix: Floats | None, checks: bool
) -> Engine:
    worth = score(routes, ranks)
    if matrix is not None:
        value, full = _by_matrix(routes, matrix, ranks)
    elif pattern == "all-to-all":
        value, full = worth.all_to_all, _scattered(routes, worth, ranks)
    else:
        value, full = _phased(routes, worth, pattern, ranks)
    load = worth.load if ranks is None else None
    findings = tuple(check_routes(routes, lanes_of(routes, given.service), load)) if checks else ()
    return Engine(given.name, given.note, routes, worth, value, full, findings)


def _by_matrix(routes: Routes, matrix: Floats, ranks: Ints | None) -> tuple[float, tuple[Full, ...]]:
    """Time of the slowest link over that of the busiest host's own link, and the most loaded links."""
    load = placed_matrix(routes, matrix, ranks)
    time = load * routes.slowness
    own = float(time[~routes.network.switch_links].max(initial=0))
    time = time / own if own else time
    name = routes.network.link_name
    order = np.argsort(-np.round(time, 9), kind="stable")
    shown = order[((load > 0) & routes.network.switch_links)[order]][:FULLEST].tolist()
    return float(time.max(initial=0)), tuple(
        Full(link, name(link), float(time[link]), int(load[link]), 0, users_of(routes, link, _hosts(ranks)))
        for link in shown
    )


def _scattered(routes: Routes, worth: Score, ranks: Ints | None) -> tuple[Full, ...]:
    name = routes.network.link_name
    return tuple(
        Full(link, name(link), float(worth.time[link]), int(worth.load[link]), 0, users_of(routes, link, _hosts(ranks)))
        for link in worth.fullest(routes, FULLEST)
    )


def _phased(routes: Routes, worth: Score, pattern: Pattern, ranks: Ints | None) -> tuple[float, tuple[Full, ...]]:
    """Mean relative time of a phase, and the links that are the slowest in the most phases."""
    done = worth.phases if pattern == "shift" else phases(routes, "exchange", ranks)
    load = worth.load if done.drawn else done.load  # all phases of either schedule are an all-to-all
    mean = load * routes.shared_slowness / max(1, done.of)
    slow = Counter(int(link) for link in done.link[done.time > 1 + 1e-9])
    name = routes.network.link_name
    return done.mean, tuple(
        Full(link, name(link), float(mean[link]), int(load[link]), number, users_of(routes, link, _hosts(ranks)))
        for link, number in slow.most_common(FULLEST)
    )


def _hosts(ranks: Ints | None) -> Ints | None:
    return None if ranks is None else np.unique(ranks).astype(np.int32)


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
    asked = ("this traffic",) if found.pattern == "matrix" else ()
    rows = [_scores(engine, bool(asked)) for engine in found.engines]
    if found.bound:
        bound = (f"{found.bound:.3f}", f"{share(found.bound):.0f} %")
        rows.append(("lower bound", *("" for _ in asked), *bound, "", "", ""))
    columns = ("engine", *asked, "all-to-all", "injection", "shift", "worst phase", "bisection")
    title, drawn = "Times over that of a host's own link, 1 = best", found.engines[0].score.phases.drawn
    title += f"; shift: {drawn}, drawn at random" if drawn else ""
    return Rows(f"{title}; bisection as a share of full", columns, tuple(rows), frozenset({0}))


def _scores(engine: Engine, asked: bool) -> tuple[str, ...]:
    worth = engine.score
    half = (worth.bisection.high - worth.bisection.low) / 2
    return (
        engine.name,
        *([f"{engine.value:.3f}"] if asked else []),
        f"{worth.all_to_all:.3f}",
        f"{share(worth.all_to_all):.0f} %",
        f"{worth.shift:.3f}" + (f" ± {worth.phases.half:.3f}" if worth.phases.drawn else ""),
        format_factor(float(worth.phases.time.max(initial=0))),
        f"{worth.bisection.share:.3f} ± {half:.3f}",
    )


def link_rows(engine: Engine) -> Rows:
    """The most loaded links under an engine, and their users."""
    phased = any(full.slowest_in for full in engine.fullest)
    columns = ("link", "time", "load", "slowest in" if phased else "routes", "from", "to")
    title = f"{engine.name}: fullest links ({engine.routes.network.routing})"
    return Rows(title, columns, tuple(_link(engine, full, phased) for full in engine.fullest), frozenset({0, 4, 5}))


def _link(engine: Engine, full: Full, phased: bool) -> tuple[str, ...]:
    last = f"{full.slowest_in:,} phases" if phased else f"{full.users.routes:,}"
    return (full.name, f"{full.time:.3f}", f"{full.load:,}", last, *_who(engine, full))


def _who(engine: Engine, full: Full) -> tuple[str, str]:
    """Users of a link in words: number of senders, and the receivers."""
    sources, targets = full.users.sources, full.users.targets
    few = len(sources) <= len(targets)
    shown = hosts_text(engine.routes.network, (sources if few else targets).tolist())
    return (shown, f"{len(targets):,} hosts") if few else (f"{len(sources):,} hosts", shown)
