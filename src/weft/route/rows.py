# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a comparison of routes, for the terminal and the page."""

from typing import NamedTuple

from weft.format import format_factor
from weft.route.checks import hosts_text
from weft.route.compare import Comparison, Engine, Full


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
    title = "Times over that of a host's own link, 1 = best; bisection as a share of full"
    return Rows(title, columns, tuple(rows), frozenset({0}))


def _scores(engine: Engine, asked: bool) -> tuple[str, ...]:
    worth = engine.score
    half = (worth.bisection.high - worth.bisection.low) / 2
    return (
        engine.name,
        *([f"{engine.value:.3f}"] if asked else []),
        f"{worth.all_to_all:.3f}",
        f"{share(worth.all_to_all):.0f} %",
        f"{worth.shift:.3f}",
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
