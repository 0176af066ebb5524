# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown of an all-to-all: of its time, how much is hardware, messages, contention, algorithm and late arrival.

Each step is measured or known, and is above the one below it (docs/why.md). Messages are M = W + B max(1, L / A):
blocks that stay in a node (W) and those that leave it (B) by plain messages with nobody else on their links. The
hardware would need A for those; where the fullest link of the whole exchange needs L > A, it carries L / A times that
at the same cost. A step that is not slower than the one below it counts as that. Samples of all steps were taken in
turns with the call's own (METHOD 17); factors are of neighbouring steps within a launch, with intervals over
launches.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from weft.analyse.statistics.interval import NO_INTERVAL, interval_over_launches
from weft.analyse.tables.answers import MATTERS
from weft.analyse.tables.breakdown import STEPS, BreakdownRow, Effect, RoundRow, Step, TurnRow
from weft.analyse.tables.times import CallRow, holding_bound_s
from weft.analyse.thresholds.knob import Settings
from weft.bound.links import fullest_links
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, MESSAGE_GAP, OVERHEAD
from weft.fabric.model import Fabric
from weft.format import format_seconds
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.steps import BETWEEN, PAIRWISE, ROUNDS, SHIFT, WHOLE, WITHIN
from weft.mpi.algorithms import DEFAULT, algorithms, knob
from weft.mpi.knobs import Where, plain
from weft.mpi.transport import message_knobs
from weft.plan.records import Cell, Plan
from weft.store.tables import grouped

PARTS: Mapping[str, str] = {
    COPY: "the memory's rate; fewer ranks a node",
    INJECTION: "a faster adapter; fewer ranks a node",
    LATENCY: "the adapter's latency; larger blocks",
    OVERHEAD: "what a processor needs for a message; larger blocks",
    MESSAGE_GAP: "what the adapter needs for a message; larger blocks",
}
Launches = Sequence[Mapping[str, float]]  # seconds of each step
Turns = Sequence[TurnRow]
Cells = Mapping[str, Cell]
LEAST_SHARE = 0.1  # messages inside nodes, or between them, that take less of the time of plain messages do not rule it
SAME = 0.005  # a time this close to the one below it is the same time


def mover(step: Step, call: CallRow, cell: Cell, settings: Settings, where: Where, model: Fabric | None) -> str:
    """What would move a step, in words."""
    block_bytes = call["block_bytes"] or cell.block_bytes
    if step == "hardware":
        link = call["bound"].removeprefix(LINK)
        return PARTS.get(call["bound"], f"more or faster cables on the way {link}; a placement that crosses it less")
    if step == "messages" and model:  # what its file says: ``network.overhead = 4 us``
        inside = {"node.latency": model.node.latency or 0.0} if where != "network" else {}
        between = model.network.stated_costs(block_bytes) if model.network and where != "node" else {}
        costs = [f"{key} = {format_seconds(seconds)}" for key, seconds in (inside | between).items() if seconds]
        return "; ".join(costs) or "what the fabric file does not state: a message costs nothing there but its bytes"
    if step == "messages":
        return message_knobs(settings.library, settings.values, where, block_bytes)
    if step == "contention":
        return "which ranks share a node" if cell.nodes == 1 else "placement; routes"
    if step == "algorithm":
        return _algorithm(call, cell, settings)
    return "what the late ranks do before the call; binding; other work on their cores"


def _algorithm(call: CallRow, cell: Cell, settings: Settings) -> str:
    """The algorithm in use, the knob that chooses, and what it may choose."""
    collective = kernel_named(call["kernel"]).collective_of(call["call"]) or "alltoallv"
    chooser = knob(settings.library, collective)
    if not chooser:
        return f"another algorithm of MPI_{collective.capitalize()}"
    known = algorithms(settings.library, collective, call["ranks"])
    forced = next((each.name for each in known if each.value == plain(settings.values).get(chooser)), DEFAULT)
    chosen = str(cell.parameters.get("algorithm", forced))
    now = "the library's own choice" if chosen == DEFAULT else chosen
    return f"{chooser} ({now}; there are {', '.join(each.name for each in known)})"


def breakdown_rows(
    turns: Turns, calls: Sequence[CallRow], cells: Cells, settings: Mapping[str, Settings], model: Fabric | None = None
) -> list[BreakdownRow]:
    """The breakdown of every call that has one, in the order of the cells."""
    warm = {(row["cell"], row["call"]): row for row in calls if row["phase"] == "warm"}
    by_call = grouped(turns, lambda turn: (turn["cell"], turn["call"]))
    order = {name: place for place, name in enumerate(cells)}
    rows: list[BreakdownRow] = []
    for key in sorted(by_call, key=lambda each: (order[each[0]], split_op(each[1])[1] or 0, each[1])):
        launches = grouped(by_call[key], lambda turn: turn["launch"]).values()
        steps = [{turn["step"]: turn for turn in own} for own in launches]
        whole = [each for each in steps if {SHIFT, WHOLE} <= each.keys()]
        if whole and key in warm and warm[key]["status"] == "ok":
            rows += _rows(warm[key], cells[key[0]], whole, settings.get(key[0], Settings("", {})), model)
    return rows


def _rows(
    call: CallRow, cell: Cell, launches: Sequence[Mapping[str, TurnRow]], settings: Settings, model: Fabric | None
) -> list[BreakdownRow]:
    seconds = [{name: turn["seconds"] for name, turn in each.items()} for each in launches]
    scale, known = link_scale(cell), [name for name in (SHIFT, PAIRWISE) if all(name in each for each in seconds)]
    plain = min(known, key=lambda name: median(each[name] for each in seconds))  # the faster rounds
    reached = steps_reached(seconds, plain, scale, holding_bound_s(call))
    reached["algorithm"] = [each[WHOLE]["seconds"] for each in launches]
    reached["arrival"] = [each[WHOLE]["total_s"] for each in launches]
    where = carried(cell, seconds, scale)
    names = {"hardware": call["bound"], "contention": plain}
    rows: list[BreakdownRow] = []
    below: Sequence[float] | None = None
    for step in STEPS:
        if step in reached:
            moved_by = mover(step, call, cell, settings, where, model)
            rows.append(_row(call, step, below, reached[step], names.get(step, ""), moved_by))
            below = reached[step]
    rows[-1].update(seconds=call["median_s"] or rows[-1]["seconds"], low=call["low_s"], high=call["high_s"])
    return rows


def steps_reached(launches: Launches, plain: str, scale: float, bound_s: float | None) -> dict[Step, list[float]]:
    """Seconds up to hardware, messages and contention in each launch; no hardware where plain rounds beat the bound."""
    contention = [each[plain] for each in launches]
    messages = [each.get(WITHIN, 0.0) + scale * each.get(BETWEEN, 0.0) for each in launches]
    found: dict[Step, list[float]] = {}
    if median(over / alone if alone else 1.0 for over, alone in zip(contention, messages, strict=True)) <= 1:
        messages = contention
    if bound_s is not None and bound_s <= median(contention):
        found["hardware"] = [bound_s] * len(launches)
        if median(messages) <= bound_s:
            messages = found["hardware"]
    found["messages"], found["contention"] = messages, contention
    return found


def carried(cell: Cell, launches: Launches, scale: float) -> Where:
    """Where the step of plain messages took its time: a kind of message with under a tenth of it is not the cause."""
    if cell.nodes == 1 or cell.ranks_per_node == 1:
        return "node" if cell.nodes == 1 else "network"
    within = median(each.get(WITHIN, 0.0) for each in launches)
    between = scale * median(each.get(BETWEEN, 0.0) for each in launches)
    total = within + between
    return "network" if within < LEAST_SHARE * total else "node" if between < LEAST_SHARE * total else "both"


def _row(
    call: CallRow, step: Step, below: Sequence[float] | None, reached: Sequence[float], name: str, moved_by: str
) -> BreakdownRow:
    low, high, *_ = interval_over_launches(reached, NO_INTERVAL) if below else NO_INTERVAL
    row = BreakdownRow(
        cell=call["cell"], call=call["call"], nodes=call["nodes"], ranks=call["ranks"],
        block_bytes=call["block_bytes"], step=step, launches=len(reached), seconds=median(reached), low=low, high=high,
        effect="floor", factor=None, factor_low=None, factor_high=None, name=name, mover=moved_by,
    )  # fmt: skip
    if below:
        ratios = [value / (under or value or 1.0) for value, under in zip(reached, below, strict=True)]
        factor, (low, high, *_) = median(ratios), interval_over_launches(ratios, NO_INTERVAL)
        row.update(factor=factor, factor_low=low, factor_high=high)
        row["effect"] = effect(factor, low or factor, high or factor)
    return row


def effect(factor: float, low: float, high: float) -> Effect:
    """What a step's factor shows, by its interval."""
    if low <= 1 <= high and (low < 1 / MATTERS or high > MATTERS):  # it may as well be a large effect
        return "unsure"
    if abs(factor - 1) < SAME or (low < high and low <= 1 <= high):
        return "none"
    return "adds" if factor > 1 else "saves"


def _size(cell: Cell, call: str) -> int:
    """Bytes of a call's blocks; 0 where they are not known."""
    return split_op(call)[1] or (cell.block_bytes if call == kernel_named(cell.kernel).main else 0)


def link_scale(cell: Cell) -> float:
    """How much longer the fullest link of the whole exchange takes than one rank's blocks alone: at least 1."""
    alone, scale = cell.alone_s_per_byte, 1.0
    for call, bound in cell.bounds.items():
        links = [s for name, s in bound.terms.items() if name == INJECTION or name.startswith(LINK)]
        if alone and (size := _size(cell, call)) and links:
            scale = max(1.0, max(links) / (alone * size))
    return scale


def round_rows(turns: Turns, plan: Plan) -> list[RoundRow]:
    """The rounds of every breakdown, by distance."""
    cells = {cell.id: cell for cell in plan.cells}
    calls = grouped((turn for turn in turns if turn["step"] == ROUNDS), lambda turn: (turn["cell"], turn["call"]))
    fabric, links = plan.planned_fabric, dict[str, Sequence[tuple[str, float]]]()
    is_read = fabric.network is not None and fabric.network.is_read  # a dump is no part of a run folder
    for name in dict.fromkeys(cell for cell, _ in calls):
        cell = cells[name]
        links[name] = cell.round_links if is_read else fullest_links(cell, cell.order, fabric)
    rows: list[RoundRow] = []
    for (name, call), own in calls.items():
        cell, size = cells[name], _size(cells[name], call)
        for distance, each in sorted(grouped(own, lambda turn: turn["place"]).items()):
            link, s_per_byte = links[name][distance] if size and distance < len(links[name]) else ("", None)
            rows.append(RoundRow(
                cell=name, call=call, nodes=cell.nodes, ranks=cell.ranks, distance=distance, link=link,
                seconds=median(turn["seconds"] for turn in each),
                link_s=None if s_per_byte is None else s_per_byte * size,
            ))  # fmt: skip
    return rows
