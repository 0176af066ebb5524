# SPDX-License-Identifier: BSD-3-Clause
"""What would move a step of the breakdown, in words."""

from collections.abc import Mapping

from weft.analyse.tables.breakdown import Step
from weft.analyse.tables.times import CallRow
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, MESSAGE_GAP, OVERHEAD
from weft.fabric import Fabric
from weft.format import format_seconds
from weft.kernel.registry import kernel_named
from weft.mpi.algorithms import DEFAULT, algorithms, knob
from weft.mpi.knobs import Where, plain
from weft.mpi.transport import message_knobs
from weft.plan.records import Cell

PARTS: Mapping[str, str] = {
    COPY: "the memory's rate; fewer ranks a node",
    INJECTION: "a faster adapter; fewer ranks a node",
    LATENCY: "the adapter's latency; larger blocks",
    OVERHEAD: "what a processor needs for a message; larger blocks",
    MESSAGE_GAP: "what the adapter needs for a message; larger blocks",
}


def mover(
    step: Step,
    call: CallRow,
    cell: Cell,
    library: str,
    values: Mapping[str, str],
    where: Where,
    model: Fabric | None = None,
) -> str:
    """What would move a step, in words."""
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
