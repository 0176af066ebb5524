# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown in words: what each step adds or takes away, and what would move it."""

from collections.abc import Mapping, Sequence

from weft.analyse.tables.breakdown import BreakdownRow, Step
from weft.analyse.tables.outcome import MATTERS
from weft.analyse.tables.times import CallRow
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, MESSAGE_GAP, OVERHEAD
from weft.fabric import Fabric
from weft.format import format_seconds, measured_factor
from weft.kernel.registry import kernel_named
from weft.mpi.algorithms import DEFAULT, algorithms, knob
from weft.mpi.knobs import Where, plain
from weft.mpi.transport import message_knobs
from weft.plan.records import Cell

NAMES: Mapping[Step, str] = {
    "messages": "messages", "contention": "contention", "algorithm": "the algorithm", "arrival": "late ranks",
}  # fmt: skip
MANY = frozenset({"messages", "arrival"})
PARTS: Mapping[str, str] = {
    COPY: "the memory's rate; fewer ranks a node",
    INJECTION: "a faster adapter; fewer ranks a node",
    LATENCY: "the adapter's latency; larger blocks",
    OVERHEAD: "what a processor needs for a message; larger blocks",
    MESSAGE_GAP: "what the adapter needs for a message; larger blocks",
}
#: A time this close to the one below it is the same time.
SAME = 0.005


def statement(row: BreakdownRow, breakdown: Sequence[BreakdownRow]) -> str:
    """A step in words; the sentence of a whole breakdown stands at its lowest step.

    ``408 ms at N = 4: the link leaf0 up needs 343 ms, messages add 6 %, contention adds 9 %, the algorithm adds 3 %.``
    """
    if row is not breakdown[0]:
        return added(row)
    shown = [
        each for each in breakdown
        if each["step"] != "arrival" or (each["factor"] or 1) > 1 + SAME or (each["factor_high"] or 1) > MATTERS
    ]  # fmt: skip
    where = f"N = {row['nodes']}" if row["nodes"] > 1 else f"p = {row['ranks']}"
    steps = [floor(row), *(added(each) for each in shown[1:])]
    return f"{format_seconds(shown[-1]['seconds'])} at {where}: {', '.join(steps)}."


def floor(row: BreakdownRow) -> str:
    """The lowest step: the hardware, or messages where no bound is known."""
    if row["step"] != "hardware":
        return f"no bound is known, plain messages alone need {format_seconds(row['seconds'])}"
    return f"{hardware(row['name'])} needs {format_seconds(row['seconds'])}"


def hardware(bound: str) -> str:
    """A bound as part of a sentence: ``the link leaf0 up``, ``injection``, ``memory copy``."""
    return f"the {bound}" if bound.startswith(LINK) else bound


def added(row: BreakdownRow) -> str:
    """``contention adds 9 %``, ``messages make it 3.4 times as long``, ``the algorithm takes 12 % away``."""
    factor, name = row["factor"], NAMES.get(row["step"], "")
    if factor is None:
        return floor(row)
    many = row["step"] in MANY
    low, high = row["factor_low"] or factor, row["factor_high"] or factor
    if low <= 1 <= high and (low < 1 / MATTERS or high > MATTERS):  # it may as well be a large effect
        return f"{name} {'are' if many else 'is'} undecided ({measured_factor(factor, low, high, 'times')})"
    if abs(factor - 1) < SAME:
        return f"{name} add nothing" if many else f"{name} adds nothing"
    if low < high and low <= 1 <= high:
        return f"{name} {'show' if many else 'shows'} no effect"
    if factor >= 2:
        return f"{name} {'make' if many else 'makes'} it {measured_factor(factor)} times as long"
    if factor > 1:
        return f"{name} {'add' if many else 'adds'} {100 * (factor - 1):.0f} %"
    better = " (better than plain rounds)" if row["step"] == "algorithm" else ""
    return f"{name} {'take' if many else 'takes'} {100 * (1 - factor):.0f} % away{better}"


def mover(
    step: Step,
    call: CallRow,
    cell: Cell,
    library: str,
    values: Mapping[str, str],
    where: Where,
    model: Fabric | None = None,
) -> str:
    """What would move a step, in words.

    Parameters
    ----------
    step
        Of the breakdown.
    call
        The call with its bound.
    cell
        Of the plan.
    library, values
        The MPI library in its own words, and its variables.
    where
        Whether the plain messages took their time inside nodes, between them, or both.
    model
        The fabric whose file states what a message costs; None where a library and a network decide.
    """
    block_bytes = call["block_bytes"] or cell.block_bytes
    if step == "hardware":
        link = call["bound"].removeprefix(LINK)
        return PARTS.get(call["bound"], f"more or faster cables on the way {link}; a placement that crosses it less")
    if step == "messages":
        return _stated(model, where, block_bytes) if model else message_knobs(library, values, where, block_bytes)
    if step == "contention":
        return "which ranks share a node" if cell.nodes == 1 else "placement; routes"
    if step == "algorithm":
        return _algorithm(call, cell, library, values)
    return "what the late ranks do before the call; binding; other work on their cores"


def _stated(model: Fabric, where: Where, block_bytes: int) -> str:
    """What a model's file says that a message costs: ``network.overhead = 4 us; network.latency = 1.2 us``."""
    inside = {"node.latency": model.node.latency or 0.0} if where != "network" else {}
    between = model.network.stated_costs(block_bytes) if model.network and where != "node" else {}
    told = [f"{key} = {format_seconds(seconds)}" for key, seconds in (inside | between).items() if seconds]
    return "; ".join(told) or "what the fabric file does not state: a message costs nothing there but its bytes"


def _algorithm(call: CallRow, cell: Cell, library: str, values: Mapping[str, str]) -> str:
    """The algorithm in use, the knob that chooses, and what it may choose."""
    kernel = kernel_named(call["kernel"])
    collective = kernel.collective_of(call["call"]) or "alltoallv"
    chooser = knob(library, collective)
    known = algorithms(library, collective, call["ranks"])
    forced = next((each.name for each in known if each.value == plain(values).get(chooser)), DEFAULT)
    chosen = str(cell.parameters.get("algorithm", forced))
    now = "the library's own choice" if chosen == DEFAULT else chosen
    others = ", ".join(each.name for each in known)
    return (
        f"{chooser} ({now}; there are {others})" if chooser else f"another algorithm of MPI_{collective.capitalize()}"
    )
