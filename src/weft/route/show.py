# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of routes as text and as JSON: the verdict first, then engines, links, findings."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.fabric.checks import COLOURS
from weft.format import format_factor, plural
from weft.route.compare import Comparison, Engine, Rows, engine_rows, link_rows, share
from weft.route.hashed import EXACT, MOST_CONNECTIONS, WELL_BELOW, Hashed, Slowdowns
from weft.route.improve import Candidate, Improvement
from weft.text import lean_table

if TYPE_CHECKING:
    import altair

EVEN, NAMED = 0.005, 3
WORDS = {
    "all-to-all": "an all-to-all",
    "shift": "the phases of a shift",
    "exchange": "the phases of an exchange",
    "matrix": "this traffic",
}


def verdict(found: Comparison) -> str:
    """The verdict in one or two sentences."""
    best, worst = (pick(found.engines, key=lambda e: (e.score.lost, e.value)) for pick in (min, max))
    text = f"{best.name} carries {WORDS[found.pattern]} at {share(best.value):.0f} % of injection"
    if worst.value > best.value * (1 + EVEN):
        text += f"; {worst.name} at {share(worst.value):.0f} %: {_reason(worst, found)}"
    elif best.value > 1 + EVEN and best.fullest:
        text += f": {_reason(best, found)}"
    else:
        text += ": no link between switches is fuller than the hosts' own"
    if found.bound > 1 + EVEN and found.pattern == "all-to-all":
        text += f". No tables can do better than {share(found.bound):.0f} % ({found.cut})"
    limited = best.score.limited
    if limited:
        hosts = ", ".join(f"{best.routes.network.hosts[host]} at {100 * part:.0f} %" for host, part in limited[:NAMED])
        more = f" and {len(limited) - NAMED} more" if len(limited) > NAMED else ""
        text += f". Without the limit of slow host links: {plural(len(limited), 'host')} ({hosts}{more})"
    lost = [f"{engine.name} loses {engine.score.lost:,} pairs" for engine in found.engines if engine.score.lost]
    return f"{text}." + (f" {'; '.join(lost)}: they have no route." if lost else "")


def _reason(engine: Engine, found: Comparison) -> str:
    if not engine.fullest:
        return "no link is named"
    full = engine.fullest[0]
    if full.slowest_in:
        return f"{full.name} is the slowest link of {full.slowest_in:,} of {len(engine.score.phases.time):,} phases"
    return f"{full.routes:,} routes share {full.name}"


def as_text(found: Comparison, title: str) -> RenderableType:
    """The comparison for the terminal."""
    head = Text(f"{title}: {verdict(found)}", style="bold")
    parts: list[RenderableType] = [head, Text(), _printed(engine_rows(found), "lower bound")]
    for engine in found.engines:
        parts += [Text(), _printed(link_rows(engine))]
        parts += [Text.assemble((f"{f.severity}: ", COLOURS[f.severity]), f.what) for f in engine.findings]
        if engine.note:
            parts.append(Text.assemble(("warning: ", COLOURS["warning"]), engine.note))
    return Group(*parts)


def _printed(rows: Rows, faint: str = "") -> Table:
    table = lean_table(*rows.columns, words=rows.words, title=rows.title)
    for row in rows.rows:
        table.add_row(*row, style="dim" if row[0] == faint else None)
    return table


def as_tree(found: Comparison) -> dict[str, Any]:
    """The comparison for JSON (schema ``weft-route/1``)."""
    return {
        "schema": "weft-route/1",
        "verdict": verdict(found),
        "pattern": found.pattern,
        "unit_bytes_per_second": None if math.isnan(rate := found.engines[0].routes.unit_rate) else rate,
        "lower_bound": {"all_to_all": found.bound, "cut": found.cut} if found.bound else None,
        "engines": [_engine_tree(engine) for engine in found.engines],
    }


def _engine_tree(engine: Engine) -> dict[str, Any]:
    worth, hosts, phases = engine.score, engine.routes.network.hosts, engine.score.phases
    shift = {"mean": worth.shift, "half_interval": phases.half, "worst": float(phases.time.max(initial=0))}
    return {
        "name": engine.name,
        "routing": engine.routes.network.routing,
        "note": engine.note or None,
        "value": engine.value,
        "all_to_all": worth.all_to_all,
        "shift": {**shift, "phases": len(phases.time), "of": phases.of},
        "bisection": {"share": worth.bisection.share, "low": worth.bisection.low, "high": worth.bisection.high},
        "pairs_without_route": worth.lost,
        "hosts_that_limit_themselves": [{"host": hosts[host], "share": part} for host, part in worth.limited],
        "fullest": [
            {
                "link": full.name,
                "time": full.time,
                "load": full.load,
                "slowest_in_phases": full.slowest_in or None,
                "routes": full.routes,
                "sources": [hosts[h] for h in full.sources.tolist()],
                "targets": [hosts[h] for h in full.targets.tolist()],
            }
            for full in engine.fullest
        ],
        "findings": [{key: value for key, value in asdict(f).items() if key != "id"} for f in engine.findings],
    }


def hashed_text(found: Hashed, title: str) -> RenderableType:
    """Hashed paths beside static tables as text, the verdict first."""
    asked, shifted, mean = found.asked, found.phases, found.phases.mean
    head = (
        f"{title}: over hashed paths an all-to-all takes {_times(asked.quantile(0.5))} at once, and "
        f"{_times(mean[0])} ({format_factor(mean[1])}-{format_factor(mean[2])}) in the phases of a shift"
    )
    table = lean_table("paths", "at once: median", "95 % of seeds", "shift: mean", "95 % of phases")
    for each in dict.fromkeys(filter(None, (asked, found.enough))):
        method = f"hash, {plural(each.connections, 'connection')} a pair, {each.method}"
        once = (_times(each.quantile(0.5)), _times(each.quantile(0.95)))
        shift = (_times(mean[0]), _times(shifted.quantile(0.95))) if each is asked else ("", "")
        table.add_row(method, *once, *shift)
    static = _times(shifted.tables) if shifted.tables else ""
    table.add_row(f"static tables: {found.routing}", _times(found.tables), "", static, "")
    table.add_row(f"spread evenly: {share(found.even):.0f} % of injection", _times(1.0), "", "", "", style="dim")
    few = f"no number of connections up to {MOST_CONNECTIONS:,} keeps 95 % of the seeds below {WELL_BELOW}x"
    if found.enough:
        connections = plural(found.enough.connections, "connection")
        few = f"{connections} a pair: below {WELL_BELOW}x at once for 95 % of the seeds"
    drawn = "all outcomes" if asked.method == EXACT else f"{len(asked.values):,} seeds"
    about = f"{drawn}; {len(shifted.times):,} phases, over the time of a host's own link"
    return Group(Text(head, style="bold"), Text(), table, Text(), Text(few), Text(about, style="dim"))


def _times(factor: float) -> str:
    return f"{format_factor(factor)}x"


def hashed_tree(found: Hashed) -> dict[str, Any]:
    """Hashed paths beside static tables for JSON (schema ``weft-route-hash/1``)."""

    def tree(drawn: Slowdowns) -> dict[str, Any]:
        figures = {
            name: {"slowdown": drawn.quantile(part), "interval": drawn.interval(part)}
            for name, part in (("p5", 0.05), ("median", 0.5), ("p95", 0.95))
        }
        return {"connections": drawn.connections, "method": drawn.method, "seeds": len(drawn.values), **figures}

    mean, *interval = found.phases.mean
    shift = {"mean": mean, "interval": interval, "p95": found.phases.quantile(0.95)}
    return {
        "schema": "weft-route-hash/1",
        "hash": tree(found.asked),
        "enough": tree(found.enough) if found.enough else None,
        "tables": {"slowdown": found.tables, "routing": found.routing},
        "even": found.even,
        "shift": {**shift, "phases": len(found.phases.times), "tables": found.phases.tables},
    }


def improvement_text(found: Improvement, title: str) -> RenderableType:
    """Better tables and the present ones as text, the verdict first."""
    present, best = found.present.score, found.best.score
    if found.better:
        before = f"in place of {share(present.all_to_all):.0f} %"
        if present.lost > best.lost:
            before = f"with routes for {present.lost - best.lost:,} of {present.lost:,} pairs that had none"
        head = (
            f"{title}: an all-to-all at {share(best.all_to_all):.0f} % of injection {before}, "
            f"{100 * best.all_to_all / found.bound - 100:.1f} % from the bound, "
            f"by {found.best.changes:,} changed entries"
        )
    elif found.ended:
        tried = plural(found.tried, "table")
        head = f"{title}: budget ended after {tried}, none better: --budget {2 * found.budget_s:g}"
    elif present.all_to_all <= found.bound * (1 + EVEN):
        head = f"{title}: the current tables already reach the lower bound"
    else:
        head = f"{title}: no better tables among {found.tried}"
    drawn = f"of {present.phases.drawn}" if present.phases.drawn else ""
    table = lean_table("tables", "all-to-all", f"shift, mean {drawn}".strip(), "bisection", "entries changed")
    rows = {"present": found.present}
    if found.better:
        rows["better"] = found.best
    if found.fastest.score.all_to_all < best.all_to_all * (1 - EVEN):
        rows["fastest, but worse elsewhere"] = found.fastest
    for name, candidate in rows.items():
        worth = candidate.score
        scores = (f"{worth.all_to_all:.3f}", f"{worth.shift:.3f}", f"{worth.bisection.share:.4f}")
        table.add_row(f"{name}: {candidate.how}", *scores, f"{candidate.changes:,}")
    table.add_row(f"lower bound: {found.cut}", f"{found.bound:.3f}", "", "", "", style="dim")
    proof = "free of deadlock: no circle in the channel dependency graph, on one virtual lane" if found.better else ""
    if found.better and found.ended:
        proof += f"\nbudget ended: --budget {2 * found.budget_s:g} tries the other starts"
    if found.deadlocks:
        proof += "\nwarning: the present tables hold a circle of links that wait for each other on one virtual lane"
    return Group(Text(head, style="bold"), Text(), table, Text(proof.strip()))


def improvement_tree(found: Improvement) -> dict[str, Any]:
    """Better tables and the present ones for JSON (schema ``weft-route-fix/1``)."""

    def tree(candidate: Candidate) -> dict[str, Any]:
        worth = candidate.score
        scores = {"all_to_all": worth.all_to_all, "shift": worth.shift, "bisection": worth.bisection.share}
        return {"how": candidate.how, **scores, "lost": worth.lost, "changes": candidate.changes}

    return {
        "schema": "weft-route-fix/1", "better": found.better, "present_deadlocks_on_one_lane": found.deadlocks,
        "present": tree(found.present), "best": tree(found.best), "fastest": tree(found.fastest),
        "lower_bound": {"all_to_all": found.bound, "cut": found.cut}, "tried": found.tried,
        "budget_ended": found.ended,
    }  # fmt: skip


def drawing(found: Comparison, engine: Engine, title: str) -> "altair.LayerChart":
    """The drawing of the network, with cables coloured by their time in an all-to-all under an engine."""
    from weft.fabric.drawing.drawing import draw

    time, meaning = engine.score.time, "all-to-all: time of a cable over that of a host's own link"
    scale = (0.0, 1.0, max(2.0, float(time.max(initial=0))))  # the most loaded gets the last colour unless all are low
    return draw(engine.routes.network, f"{title}, {engine.name}", verdict(found), time, meaning, scale=scale)


def draw_engine(found: Comparison, title: str, path: Path) -> None:
    """Draw the first engine of a comparison into a file (.svg, .png, .json); FabricError if that is impossible."""
    from weft.fabric.drawing.drawing import save

    save(drawing(found, found.engines[0], title), path)
