# SPDX-License-Identifier: BSD-3-Clause
r"""The breakdown of an all-to-all: of its time, how much is hardware, messages, contention, algorithm and late arrival.

Each step is measured or known, and stands on the one below it:

hardware
    H, the nearest lower bound (:mod:`weft.bound`).
messages
    M = W + B max(1, L / A): blocks that stay in a node (W) and those that leave it (B) by plain messages with nobody
    else on their links. B is of one rank, one message after the other; the hardware would need A for these. Where the
    fullest link of the whole exchange needs L > A, it carries L / A times that, at the same cost a byte.
contention
    The same blocks, everybody at once, by plain messages in rounds: the faster of shift and pairwise.
algorithm
    The library's call, from the last arrival on. Below the rounds it is better than plain.
arrival
    The same from the first arrival on: what ranks that come late cost the others.

Factors are those of neighbouring steps within a launch; value and interval are over the launches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, cast

from weft.analyse.breakdown_words import mover
from weft.analyse.interval import NO_INTERVAL, over_launches
from weft.analyse.tables.breakdown import STEPS, BreakdownRow, Step, TurnRow
from weft.analyse.tables.times import CallRow, holding_bound_s
from weft.analyse.thresholds.knob import Settings
from weft.bound.terms import INJECTION, LINK
from weft.fabric import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.steps import BETWEEN, PAIRWISE, SHIFT, WHOLE, WITHIN
from weft.mpi.knobs import Where
from weft.plan.records import Cell

Seconds = Mapping[str, float]
#: Messages inside nodes, or between them, that take less of the time of plain messages do not rule it.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Rungs:
    """The steps of a call in one launch, in seconds; hardware is None where no bound is known."""

    hardware: float | None
    messages: float
    contention: float
    algorithm: float
    arrival: float

    def at(self, step: Step) -> float | None:
        """Seconds up to a step."""
        found: float | None = getattr(self, step)
        return found


def breakdown_rows(
    turns: Sequence[TurnRow],
    calls: Sequence[CallRow],
    cells: Mapping[str, Cell],
    settings: Mapping[str, Settings],
    model: Fabric | None = None,
) -> list[BreakdownRow]:
    """The breakdown of every call that has one, in the order of the cells.

    Parameters
    ----------
    turns
        What was measured in each launch.
    calls
        With their bounds.
    cells
        The plan's cells by id.
    settings
        Of the library, by cell.
    model
        The fabric whose file states what a message costs; None where a library and a network decide.
    """
    warm = {(row["cell"], row["call"]): row for row in calls if row["phase"] == "warm"}
    by_call: dict[tuple[str, str], dict[int, dict[str, TurnRow]]] = {}
    for turn in turns:
        launches = by_call.setdefault((turn["cell"], turn["call"]), {})
        launches.setdefault(turn["launch"], {})[turn["step"]] = turn
    order = {name: place for place, name in enumerate(cells)}
    rows: list[BreakdownRow] = []
    for key in sorted(by_call, key=lambda each: (order[each[0]], split_op(each[1])[1] or 0, each[1])):
        row = warm.get(key)
        if row is None or row["status"] != "ok":
            continue
        whole = [each for each in by_call[key].values() if {SHIFT, WHOLE} <= each.keys()]
        if whole:
            rows += _rows(row, cells[key[0]], whole, settings.get(key[0], Settings("", {})), model)
    return rows


def _rows(
    call: CallRow, cell: Cell, launches: Sequence[Mapping[str, TurnRow]], settings: Settings, model: Fabric | None
) -> list[BreakdownRow]:
    seconds = [{name: turn["seconds"] for name, turn in each.items()} for each in launches]
    plain = faster_rounds(seconds)
    scale = link_scale(cell)
    rungs = [
        _rungs(each, holding_bound_s(call), plain, scale, launch[WHOLE]["late_s"])
        for each, launch in zip(seconds, launches, strict=True)
    ]
    where = carried(cell, seconds, scale)
    rows: list[BreakdownRow] = []
    below: Step | None = None
    for step in STEPS:
        if rungs[0].at(step) is None:
            continue
        name = {"hardware": call["bound"], "contention": plain}.get(step, "")
        row = _row(call, step, below, rungs) | {"name": name}
        row |= {"mover": mover(step, call, cell, settings.library, settings.values, where, model)}
        rows.append(cast(BreakdownRow, row))
        below = step
    return rows


def carried(cell: Cell, launches: Sequence[Seconds], scale: float) -> Where:
    """Where the step of plain messages took its time: a kind of message with under a tenth of it is not the cause."""
    if cell.nodes == 1 or cell.ranks_per_node == 1:
        return "node" if cell.nodes == 1 else "network"
    within = median(each.get(WITHIN, 0.0) for each in launches)
    between = scale * median(each.get(BETWEEN, 0.0) for each in launches)
    total = within + between
    return "network" if within < LEAST_SHARE * total else "node" if between < LEAST_SHARE * total else "both"


def _row(call: CallRow, step: Step, below: Step | None, rungs: Sequence[Rungs]) -> dict[str, Any]:
    """A step's numbers: those of hardware are one for all launches, and have no interval."""
    values = [each.at(step) or 0.0 for each in rungs]
    low, high = ends(values) if below else (None, None)
    row = {"cell": call["cell"], "call": call["call"], "nodes": call["nodes"], "ranks": call["ranks"]}
    row |= {"block_bytes": call["block_bytes"], "step": step, "launches": len(rungs)}
    row |= {"seconds": median(values), "low": low, "high": high}
    row |= dict.fromkeys(("factor", "factor_low", "factor_high"))
    if below:
        ratios = [value / (each.at(below) or value) for value, each in zip(values, rungs, strict=True)]
        row["factor"] = median(ratios)
        row["factor_low"], row["factor_high"] = ends(ratios)
    return row


def faster_rounds(launches: Sequence[Seconds]) -> str:
    """Which plain rounds are faster, by the median over the launches; pairwise may not be there."""
    found = {
        name: median(each[name] for each in launches)
        for name in (SHIFT, PAIRWISE)
        if all(name in each for each in launches)
    }
    return min(found, key=lambda name: found[name])


def link_scale(cell: Cell) -> float:
    """How much more the fullest link of the whole exchange carries than one rank's blocks, in time; at least 1.

    Sizes do not matter to it: it is taken at the largest that was planned.
    """
    alone = cell.alone_s_per_byte
    scales: list[float] = []
    for call, bound in cell.bounds.items():
        links = [s for name, s in bound.terms.items() if name == INJECTION or name.startswith(LINK)]
        size = split_op(call)[1] or (cell.block_bytes if call == kernel_named(cell.kernel).main else 0)
        if alone and size and links:
            scales.append(max(links) / (alone * size))
    return max(1.0, scales[-1]) if scales else 1.0


def _rungs(seconds: Seconds, bound_s: float | None, plain: str, scale: float, late_s: float | None) -> Rungs:
    return Rungs(
        hardware=bound_s,
        messages=seconds.get(WITHIN, 0.0) + scale * seconds.get(BETWEEN, 0.0),
        contention=seconds[plain],
        algorithm=seconds[WHOLE],
        arrival=seconds[WHOLE] + (late_s or 0.0),
    )


def ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The interval over the launches; none for one of them."""
    found = over_launches(values, NO_INTERVAL)
    return found.low, found.high
