# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft whatif``: a replay for each variant, and their times side by side."""

import shlex
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analyse.claims.make import claim_doubt, judge
from weft.analyse.doubts import doubt_model
from weft.analyse.ranges import is_unfitted, range_of_effects
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, QualityRow, extras, make_claim
from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.files.atomic import file_checksum, file_errors, write_json
from weft.format import plural
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.launch.preload import route_library
from weft.report import page
from weft.report.card import print_rows
from weft.report.page import Front
from weft.report.tabular import terminal
from weft.report.view import load_view
from weft.route.given import write_tables
from weft.route.improve import improve
from weft.route.routes import Routes, placed_matrix
from weft.route.subnet import require_addresses
from weft.run.one import run_study
from weft.run.progress import for_terminal
from weft.store.trace.folder import TraceFolder
from weft.store.trace.script import read_sizes, sent_in
from weft.text import console
from weft.trace.replay import Asked, fewest_nodes, inherited_confidence, introduction, is_traced_machine, prepare
from weft.whatif.variants import (
    COMPUTATION,
    STATIC,
    Outcome,
    SideBySide,
    Variant,
    refuse_real,
    simulated,
    variants,
    with_network,
)
from weft.words.card import Card

LEAST = 0.02  # differences below this are called none: a model's own roundness, and the drawing of rounds
#: The command that follows an alternative which helps, by its name.
NEXT = {
    "placement": "weft place {fabric} --nodes {nodes} --traffic {trace}",
    "all-to-all": 'weft exec --force "{alltoall}" -- mpirun -n {ranks} ./application',
    "tables": "weft route fix {fabric}",
}
NAME, WORDS = "tables", "better tables"


def make_claims(found: SideBySide, trace: str) -> list[ClaimRow]:
    """The claims of a question, through the gate of the doubts about its trace and machine."""
    doubts = [claim_doubt(row) for row in found.doubts]
    unchanged = found.outcomes[0].simulated_s
    if found.nothing_played or not unchanged or not found.simulated:
        reason = "nothing-replayed" if found.nothing_played else "not-simulated"
        return judge([make_claim("whatif.untimed", "answer", reason=reason), *doubts], found.doubts)
    best = min(found.simulated, key=lambda each: each.seconds)
    helps = best.seconds <= (1 - LEAST) * unchanged
    others = [each for each in sorted(found.simulated, key=lambda each: each.seconds) if each is not best or not helps]
    claims = [_answer(found, best, helps=helps)]
    if (bound := max(found.outcomes[0].bound_s, found.least)) > 0:
        limit = "computation" if found.least >= bound else "fullest link"
        more: dict[str, Any] = {"seconds": unchanged, "limit": limit, "of": "bound", "basis": "simulated"}
        claims.append(make_claim("bottleneck.bound", "breakdown", limit, bound=bound, **more))
    for each in others:
        name, ratio = f"alternative.{each.variant.name}", each.seconds / unchanged
        ends, more = _range(found.outcomes[0], each), dict[str, Any](seconds=each.seconds, level=each.level.name)
        claims.append(make_claim(name, "breakdown", each.variant.words, ratio, "factor", ends, **more))
    if found.least > 0:  # what no network could improve on: the busiest rank's computation
        name, ratio = "alternative.no-network", found.least / unchanged
        claims.append(make_claim(name, "breakdown", "no network at all", ratio, "factor", seconds=found.least))
    return judge([*claims, _remedy(found, best, trace, helps=helps), *doubts], found.doubts)


def _answer(found: SideBySide, best: Outcome, *, helps: bool) -> ClaimRow:
    unchanged = found.outcomes[0]
    tried: dict[str, Any] = {"simulated": len(found.simulated), "of": len(found.outcomes) - 1}
    if not helps:
        return make_claim("whatif.nothing-helps", "answer", least_share=LEAST, **tried)
    equal = [each for each in found.simulated if each.seconds <= (1 + LEAST) * best.seconds]
    subject = " or ".join(each.variant.words for each in equal)
    then, now = _ranges(unchanged, best)
    overlaps = now[1] > then[0]
    return make_claim(
        f"whatif.{INCONCLUSIVE if overlaps else 'helps'}", "answer", subject, best.seconds / unchanged.seconds,
        "factor", _range(unchanged, best), seconds=best.seconds, overlaps=overlaps, **tried,
    )  # fmt: skip


def _range(unchanged: Outcome, other: Outcome) -> tuple[float | None, float | None]:
    """The range of a ratio of two times that have ranges; none of times that have none."""
    (low, high), (low_then, high_then) = _ranges(unchanged, other)
    if low == high and low_then == high_then:
        return None, None
    return low_then / high, high_then / low if low > 0 else None


def _ranges(unchanged: Outcome, other: Outcome) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of two times, in s; of an unfitted machine without that of its numbers: their error is in both."""
    if unchanged.own_s is not None and other.own_s is not None:
        return unchanged.own_s, other.own_s
    return unchanged.range_s, other.range_s


def _remedy(found: SideBySide, best: Outcome, trace: str, *, helps: bool) -> ClaimRow:
    if not helps:
        return make_claim("remedy.faster-processors", "remedy")
    asked = best.variant.asked
    words = {
        "fabric": shlex.quote(found.on or found.fabric), "nodes": asked.nodes, "trace": shlex.quote(trace),
        "alltoall": asked.alltoall, "ranks": found.ranks,
    }  # fmt: skip
    saved = 1 - best.seconds / found.outcomes[0].seconds
    name, following = f"remedy.whatif-{best.variant.name}", NEXT.get(best.variant.name, "").format(**words)
    return make_claim(name, "remedy", best.variant.words, saved, "share", next=following, basis="simulated")


def better_tables(fabric: Fabric, asked: Asked, folder: Path, say: Callable[[str], None]) -> Variant | str:
    """The machine with better tables, or why there are none; WeftError if files cannot be read or written."""
    if (section := fabric.network) is None or section.dump is None or section.dump.tables is None:
        return f"{WORDS}: {fabric.name} has no forwarding tables (weft fabric import DUMP --tables FILE)"
    marks: list[str] = []
    for path in (fabric.path.parent / name for name in (section.dump.file, section.dump.tables)):
        with file_errors(path):
            marks.append(file_checksum(path))
    file = (folder / f"{NAME}-{zlib.crc32(' '.join(marks).encode()):08x}.lfts").resolve()
    if not file.is_file():  # the search has a limit of time: a second one could find others, for which no run is there
        if not (network := build_network(fabric)).cables_known:
            return f"{WORDS}: {fabric.name} does not state by how many cables its switches are connected"
        say(f"{WORDS}: looking for them")
        try:
            require_addresses(network)
            found = improve(Routes(network, route_library()), say=say)
        except FabricError as error:  # the other lines do not need them
            return f"{WORDS}: {error.what}"
        if not found.better:
            return f"{WORDS}: none of {found.tried} tried is better, and worse on no score (weft route fix)"
        with file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        write_tables(found.best.routes.network, file)
    dump = section.dump.model_copy(update={"tables": str(file)})
    return Variant(NAME, WORDS, with_network(fabric, NAME, dump=dump), asked)


def what_if(trace: Path, on: str, nodes: int | None, compute: float) -> int:
    """Replay a trace on a simulated machine and variants, on ``nodes`` or few; prints; the exit code, or WeftError."""
    fabric = load_fabric(on)
    refuse_real(fabric)  # before its size is: no number of nodes makes a real one fit
    _, made = prepare(trace, [fabric], Asked(nodes))
    nodes = nodes or fewest_nodes(fabric, made.ranks)
    found, left_out = variants(fabric, made.ranks, nodes, made.alltoalls)
    sys.stdout.write("\n".join(introduction(made)) + "\n")
    base = trace / "whatif" / f"{fabric.name}-{nodes}-x{compute:g}"
    tables = better_tables(fabric, found[0].asked, base, for_terminal().say) if nodes > 1 else ""
    if isinstance(tables, str):
        left_out += [tables] if tables else []
    else:
        found.append(tables)
    least = made.busiest_s * compute
    outcomes = [_outcome(variant, trace, base / variant.name, compute, least, sent_in(made.path)) for variant in found]
    folder = TraceFolder.open(trace)
    answers = SideBySide(
        made.ranks, fabric.name, outcomes, least, on=on, nothing_played=not read_sizes(made.path).messages,
        traced_s=made.traced_s, is_traced_machine=is_traced_machine(folder, fabric), doubts=_doubts(folder, fabric),
    )  # fmt: skip
    notes = answers.contradictions()
    notes += [f"not simulated: {each.variant.words}: {each.reason}" for each in outcomes if each.reason]
    notes += [f"{line}; none of these times has them" for line in introduction(made)[1:]]
    _shown(answers, trace, base, [*notes, *(f"left out: {line}" for line in left_out)])
    return 0 if all(outcome.simulated_s is not None for outcome in outcomes) else 1


def _doubts(folder: TraceFolder, fabric: Fabric) -> tuple[QualityRow, ...]:
    grade, because = inherited_confidence(folder, [fabric])
    trace = QualityRow(
        doubt="trace", grade=grade, count=1, of=1, share=1.0, noun=because, worst=None, launches=None, turns=""
    )
    found = [row for row in (doubt_model(fabric), trace if grade > "A" else None) if row]
    return tuple(sorted(found, key=lambda row: row["grade"], reverse=True))


def _shown(answers: SideBySide, trace: Path, base: Path, notes: list[str]) -> None:
    claims, table = make_claims(answers, str(trace)), answers.table()
    size = (plural(answers.ranks, "rank"), plural(answers.outcomes[0].variant.asked.nodes or 1, "node"), "simulated")
    card = Card.of(f"{trace.name} on {answers.fabric}", size, claims)
    print_rows(card, console(120), terminal(table))
    sys.stdout.write("".join(f"{line}\n" for line in notes))
    tree = {"card": [row._asdict() for row in card.rows], "claims": [{**each, "more": extras(each)} for each in claims]}
    write_json(base / "whatif.json", answers.as_tree() | tree)
    front = Front(card, answers.draw(), table, tuple(notes))
    path = page.write([each.folder for each in answers.outcomes], base / "whatif.html", front=front)
    sys.stdout.write(f"page of all replays: {path}\nnumbers: {base / 'whatif.json'}\n")


def _fullest_link_s(fabric: Fabric, hosts: Sequence[str], sent: NDArray[np.floating]) -> float | None:
    """Seconds of the fullest link, max b / r, for what ranks send, (ranks, ranks); None if not known. FabricError."""
    if not (network := build_network(fabric)).cables_known or not hosts:
        return None
    ranks = np.repeat(network.indices(list(hosts)), len(sent) // len(hosts)).astype(np.int32)
    load = placed_matrix(Routes(network, route_library()), sent, ranks)
    rate = network.links.rate[used := load > 0]
    return float((load[used] / rate).max(initial=0)) if np.isfinite(rate).all() else None


def _outcome(
    variant: Variant, trace: Path, folder: Path, compute: float, least: float, sent: NDArray[np.float64] | None
) -> Outcome:
    """Simulate a variant; where that is refused, what its fullest link needs at least."""
    asked = Asked(variant.asked.nodes, compute, variant.asked.place, variant.asked.alltoall)
    study, _ = prepare(trace, [variant.fabric], asked)
    progress = for_terminal()
    progress.say(f"{variant.words}:")
    run_study(load_study(study), variant.fabric, folder, launcher_for(variant.fabric, None, progress.say), progress)
    view = load_view(folder)
    hosts = next((cell.hosts for cell in view.plan.cells if cell.hosts and cell.kernel == view.plan.kernel), ())
    longest = None if sent is None else _fullest_link_s(variant.fabric, hosts, sent)
    bound_s = max(longest or 0.0, least)
    warm = next((row for row in view.rows if (row["call"], row["phase"]) == ("replay", "warm")), None)
    if warm is not None and warm["median_s"] is not None:
        level = simulated(variant.fabric)
        cell = next(each for each in view.plan.cells if each.id == warm["cell"])
        seconds, unfitted = warm["median_s"], is_unfitted(variant.fabric)
        own = range_of_effects(cell, "replay", variant.fabric, seconds) if unfitted else None
        low = warm["low_s"] and min(seconds, max(warm["low_s"], least))  # no range reaches below what ranks compute
        return Outcome(variant, folder, seconds, level, "", low, warm["high_s"], bound_s, own)
    why = next((row["reason"] for row in view.rows if row["call"] == "replay" and row["reason"]), "no reason is known")
    level = STATIC if longest and longest >= least else COMPUTATION
    return Outcome(variant, folder, bound_s, level, why, bound_s=bound_s)
