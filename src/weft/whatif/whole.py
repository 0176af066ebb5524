# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft whatif``: a replay for each variant, and their times side by side."""

import sys
from dataclasses import dataclass
from pathlib import Path

from weft.fabric import Fabric, load_fabric
from weft.files.atomic import write_json
from weft.format import format_seconds
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.report import page
from weft.report.tabular import Table, terminal
from weft.report.view import load_view
from weft.run.one import run_study
from weft.run.progress import for_terminal
from weft.text import console
from weft.trace.replay import Asked, fewest_nodes, introduction, prepare
from weft.trace.script import Made
from weft.whatif.variants import Variant, variants

ALONE = 0.02
"""Differences below this are called none: a model's own roundness, and the drawing of rounds."""


@dataclass(frozen=True)
class Outcome:
    """A variant and its simulated time; None if it was not simulated."""

    variant: Variant
    folder: Path
    seconds: float | None


def what_if(trace: Path, on: str, nodes: int | None, compute: float) -> int:
    """Replay a trace on a simulated machine and its variants; print them side by side. Returns the exit code.

    Parameters
    ----------
    trace
        The folder of a trace.
    on
        A simulated fabric.
    nodes
        Number of nodes; None: as few as have a core for each rank.
    compute
        Time between calls, as a multiple of the traced one.

    Raises
    ------
    WeftError
        The fabric is not simulated or too small, or the trace cannot be replayed.
    """
    fabric = load_fabric(on)
    _, made = prepare(trace, [fabric], Asked(nodes))
    nodes = nodes or fewest_nodes(fabric, made.ranks)
    found, left_out = variants(fabric, made.ranks, nodes)
    sys.stdout.write("\n".join(introduction(made)) + "\n")
    base = trace / "whatif" / f"{fabric.name}-{nodes}-x{compute:g}"
    outcomes = [_simulated(variant, trace, base / variant.name, compute) for variant in found]
    least = made.busiest_s * compute
    console(120).print(terminal(_table(made, fabric, outcomes, least)))
    for line in (_sentence(outcomes, least), *(f"left out: {line}" for line in left_out)):
        sys.stdout.write(line + "\n")
    _written(base, made.ranks, outcomes, least)
    return 0 if all(outcome.seconds is not None for outcome in outcomes) else 1


def _simulated(variant: Variant, trace: Path, folder: Path, compute: float) -> Outcome:
    asked = Asked(variant.asked.nodes, compute, variant.asked.place, variant.asked.alltoall)
    study, _ = prepare(trace, [variant.fabric], asked)
    progress = for_terminal()
    progress.say(f"{variant.words}:")
    launcher = launcher_for(variant.fabric, None, progress.say)
    run_study(load_study(study), variant.fabric, folder, launcher, progress)
    warm = [row["median_s"] for row in load_view(folder).rows if (row["call"], row["phase"]) == ("replay", "warm")]
    return Outcome(variant, folder, warm[0] if warm else None)


def _table(made: Made, fabric: Fabric, outcomes: list[Outcome], least: float) -> Table:
    """One row for each variant, and what no network could improve on."""
    today = outcomes[0].seconds
    rows = [
        (outcome.variant.words, _time(outcome.seconds), _against(outcome.seconds, today), "simulated")
        for outcome in outcomes
    ]
    rows.append(
        ("no network at all", _time(made.busiest_s), _against(made.busiest_s, today), "bound: computation alone")
    )
    title = f"What if: {made.ranks} ranks on {fabric.name} (simulated)"
    return Table(title, ("what is changed", "time", "against today", "from"), tuple(rows), words=frozenset({0, 3}))


def _time(seconds: float | None) -> str:
    return "not simulated" if seconds is None else format_seconds(seconds)


def _against(seconds: float | None, today: float | None) -> str:
    return f"{seconds / today:.3f}" if seconds is not None and today else "–"


def _sentence(outcomes: list[Outcome], least: float) -> str:
    """What helps most, by how much."""
    today = outcomes[0].seconds
    known = [(outcome.seconds, outcome.variant.words) for outcome in outcomes[1:] if outcome.seconds is not None]
    if not today or not known:
        return "Nothing is shown: today's replay, or every other one, was not simulated."
    best, words = min(known)
    most = f"No network could save more than {max(0.0, 1 - least / today):.0%}."
    if best > (1 - ALONE) * today:
        return f"Nothing that was tried saves {ALONE:.0%}. {most}"
    return f"What helps most: {words}, {1 - best / today:.0%} less time (simulated). {most}"


def _written(base: Path, ranks: int, outcomes: list[Outcome], least: float) -> None:
    """The numbers as JSON, and a page on all replays."""
    rows = [
        {"variant": each.variant.name, "changed": each.variant.words, "seconds": each.seconds, "from": "simulated",
         "run": each.folder.name}
        for each in outcomes
    ]  # fmt: skip
    bound = {"seconds": least, "from": "bound: computation alone"}
    write_json(base / "whatif.json", {"schema": "weft-whatif/1", "ranks": ranks, "variants": rows, "bound": bound})
    path = page.write([each.folder for each in outcomes], base / "whatif.html", files_too=False)
    sys.stdout.write(f"page of all replays: {path}\nnumbers: {base / 'whatif.json'}\n")
