# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a comparison of routes, for the terminal and the page."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from weft.errors import FabricError
from weft.fabric.checks import Finding
from weft.fabric.network.graph import Network
from weft.format import format_factor
from weft.route.checks import Service, check_routes, hosts_text, lanes_of
from weft.route.given import Users, users_of
from weft.route.library import Library
from weft.route.routes import Amounts, Ranks, Routes, phases, placed_matrix
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

    link: int  # index
    name: str
    time: float  # over that of a host's own link; for a schedule of phases the mean over all phases
    load: int  # units over it
    slowest_in: int  # phases in which it is the slowest link; 0 for an all-to-all
    users: Users  # the hosts whose messages cross it


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
        Full(link, network.link_name(link), float(time[link]), int(load[link]), many, users_of(routes, link, hosts))
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
        last = f"{full.slowest_in:,} phases" if phased else f"{full.users.routes:,}"
        ends = (full.users.sources, full.users.targets)  # the fewer by name
        who = [f"{len(end):,} hosts" for end in ends]
        few = 0 if len(ends[0]) <= len(ends[1]) else 1
        who[few] = hosts_text(engine.routes.network, ends[few].tolist())
        rows.append((full.name, f"{full.time:.3f}", f"{full.load:,}", last, *who))
    title = f"{engine.name}: fullest links ({engine.routes.network.routing})"
    return Rows(title, columns, tuple(rows), frozenset({0, 4, 5}))
