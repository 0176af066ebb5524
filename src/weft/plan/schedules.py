# SPDX-License-Identifier: BSD-3-Clause
"""Regular all-to-alls: the schedule of each call, which is computed in rounds where a simulation would take too long.

The schedules are native/simulate/rounds/schedules.cpp; the selectors are those of SimGrid 3.32. An algorithm without
a schedule is not computed.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.fabric.model import Fabric
from weft.fabric.simulation import SimulationSection
from weft.kernel.registry import kernel_named
from weft.plan.records import LaunchCell
from weft.plan.simulation_budget import (
    BASE_BYTES,
    Cost,
    algorithms_of,
    cost_of_actors,
    refusal,
    sends_all_at_once,
    simulation_of,
)

KINDS = (
    *("together", "ring", "exclusive-or", "bruck", "doubling", "linear", "linear-v", "scattered", "window", "barrier"),
    "dissemination",
)
"""In the order of ``Algorithm`` in native/simulate/rounds/schedules.hpp."""
THROTTLED = {"mpich": 32}  # messages of a rank under way in a scattered exchange
USUALLY_THROTTLED = 4
REQUESTS = 1024
"""Of a node, in flat.window: the default of native/alltoall."""
WINDOW, IN_FLIGHT_BYTES = 8, 2**22  # messages and bytes of a rank in flight, the defaults of flat.window
BRUCK_BELOW = {"mpich": ((8, 256),), "ompi": ((2048, 1024), (512, 512), (64, 1024), (16, 512))}
"""Fewest ranks, and the bytes of a block below which a library's selector takes Bruck's algorithm."""
BRUCK_OF_MANY = (4096, 2048)  # the same of Open MPI at many ranks
MVAPICH2 = (
    (2, ((math.inf, "pair"),)),
    (4, ((262144, "mvapich2_scatter_dest"), (math.inf, "pair"))),
    (8, ((8, "rdb"), (math.inf, "mvapich2_scatter_dest"))),
    (16, ((64, "rdb"), (512, "bruck"), (math.inf, "mvapich2_scatter_dest"))),
    (32, ((32, "rdb"), (2048, "bruck"), (math.inf, "mvapich2_scatter_dest"))),
    (math.inf, ((8, "rdb"), (1024, "bruck"), (math.inf, "mvapich2_scatter_dest"))),
)
"""MPI_Alltoall of MVAPICH2 in SMPI: up to so many ranks, and up to so many bytes of a block."""

MESSAGE_S, LARGE_S = 0.6e-6, 2.5e-6
"""Processor time of a message, and of one that shares links for long: its links are shared again whenever one ends.
On 61 nodes x 16 over a quarter of the uplinks it took 4.5 us, on full trees 0.4 us."""
LARGE_BYTES, AT_RANKS = 2**14, 1024
RANK_BYTES, PATH_BYTES, WAITING_BYTES = 2048, 200, 120


@dataclass(frozen=True)
class Scheduled:
    """One call of a cell in the terms of the native engine (``Call`` of native/simulate/rounds/schedules.hpp)."""

    operation: str
    algorithm: str  # as a simulation names it
    kind: str
    block_bytes: int
    own: bool = False
    parameter: int = 0
    itself: bool = False


def scheduled(
    cell: LaunchCell, ranks_per_node: int, simulation: SimulationSection, settings: Mapping[str, str]
) -> tuple[Scheduled, ...]:
    """The all-to-alls of a cell in the order of its operations; empty if one of them has no schedule."""
    kernel = kernel_named(cell.kernel)
    calls = kernel.exchanges(cell.parameters, cell.ranks)
    if not calls or simulation.model != "fair" or {"ranks", "members"} & set(cell.parameters):
        return ()
    chosen = algorithms_of(cell, simulation, settings)
    found = [schedule_of(one, chosen.get(one[1], ""), cell.ranks, ranks_per_node, simulation) for one in calls]
    return tuple(each for each in found if each) if all(found) else ()


def schedule_of(
    exchange: tuple[str, str, int], algorithm: str, ranks: int, ranks_per_node: int, simulation: SimulationSection
) -> Scheduled | None:
    """The schedule of one call by its operation, name and block; None if its algorithm has none."""
    operation, call, block = exchange
    if call == "barrier":
        return Scheduled(operation, "ompi_bruck", "dissemination", block)
    if algorithm.startswith("flat."):
        return own_schedule(operation, algorithm, block, ranks, ranks_per_node)
    name = selected(algorithm, call, ranks, block)
    library, power = simulation.algorithms.get(call, simulation.collectives), ranks & (ranks - 1) == 0
    throttle = THROTTLED.get(algorithm, USUALLY_THROTTLED)
    ring = "exclusive-or" if power and call == "alltoallv" else "ring"
    kinds: Mapping[tuple[str, str], tuple[str, int, bool]] = {
        ("alltoall", "ring"): (ring, 0, False),
        ("alltoallv", "ring"): (ring, 0, False),
        ("alltoall", "pair"): ("exclusive-or" if power and library != "ompi" else "ring", 0, False),
        ("alltoallv", "pair"): (ring, 0, False),
        ("alltoall", "bruck"): ("bruck", 0, False),
        ("alltoallv", "bruck"): ("scattered", USUALLY_THROTTLED, False),
        ("alltoall", "rdb"): ("doubling", 0, False),
        ("alltoall", "basic_linear"): ("linear", 0, False),
        ("alltoallv", "ompi_basic_linear"): ("linear-v", 0, False),
        ("alltoall", "mvapich2_scatter_dest"): ("scattered", throttle, True),
    }
    if (call, name) not in kinds:
        return None
    kind, parameter, itself = kinds[call, name]
    return Scheduled(operation, name, kind, block, parameter=parameter, itself=itself)


def own_schedule(operation: str, spec: str, block: int, ranks: int, ranks_per_node: int) -> Scheduled | None:
    """The schedule of flat.pairwise, and of flat.window in the order of shifts."""
    name = spec.partition("{")[0]
    if name == "flat.pairwise":
        return Scheduled(operation, name, "window", block, own=True)
    found = re.fullmatch(r"flat\.window(?:\{w=(\d+)(?:,\s*order=shift)?\})?", spec)
    steps = min(int((found and found[1]) or WINDOW), max(1, REQUESTS // 2 // ranks_per_node), ranks)
    if found is None or steps * block > IN_FLIGHT_BYTES:
        return None
    return Scheduled(operation, name, "window", block, own=True, parameter=steps)


def selected(algorithm: str, call: str, ranks: int, block: int) -> str:
    """The algorithm that a library's selector takes; an algorithm itself is left as it is."""
    if call == "alltoallv":
        names = {"mpich": "bruck", "mvapich2": "ring", "ompi": "pair"}
        at_once = sends_all_at_once(algorithm, call, ranks, block)
        return "ompi_basic_linear" if algorithm == "ompi" and at_once else names.get(algorithm, algorithm)
    if algorithm == "mvapich2":
        rows = next(rows for most, rows in MVAPICH2 if ranks <= most)
        return next(name for most, name in rows if block <= most)
    if algorithm not in BRUCK_BELOW:
        return algorithm
    rows = (*((BRUCK_OF_MANY,) if algorithm == "ompi" else ()), *BRUCK_BELOW[algorithm])
    if block < next((below for least, below in rows if ranks >= least), 0):
        return "bruck"
    if algorithm == "mpich":
        return "mvapich2_scatter_dest" if block < 2**15 else "pair" if ranks % 2 else "ring"
    return "basic_linear" if sends_all_at_once(algorithm, call, ranks, block) else "pair"


def in_rounds(
    fabric: Fabric,
    cells: Sequence[LaunchCell],
    ranks: int,
    ranks_per_node: int,
    settings: Mapping[str, str],
    *,
    most_bytes: int | None = None,
) -> Mapping[str, Sequence[Scheduled]]:
    """The calls of each cell of a launch that is computed in rounds; empty if it is simulated with actors.

    `most_bytes`: memory of this host, over which actors are not tried.
    """
    simulation = simulation_of(fabric)
    if simulation.engine == "ranks":
        return {}
    found = {cell.id: scheduled(cell, ranks_per_node, simulation, settings) for cell in cells}
    if not all(found.values()):
        return {}
    if simulation.engine == "auto":
        cost = cost_of_actors(fabric, cells, ranks, ranks_per_node, settings)
        if not refusal(cost, ranks, simulation) and (most_bytes is None or cost.memory_bytes <= most_bytes):
            return {}
    return found


def rounds_cost(cells: Mapping[str, Sequence[Scheduled]], ranks: int, nodes: int, samples: int) -> Cost:
    """What computing the first call and the samples of each call of some cells costs this host."""
    each, calls = ranks * (ranks - 1), [call for cell in cells.values() for call in cell]
    messages = (1 + samples) * each * len(calls)
    large = sum(call.block_bytes >= LARGE_BYTES for call in calls)
    large_s = large * (1 + samples) * each * LARGE_S * max(1.0, ranks / AT_RANKS)
    waiting = max(each if call.kind.startswith("linear") else ranks * (call.parameter + 1) for call in calls)
    memory = BASE_BYTES // 4 + ranks * RANK_BYTES + nodes * nodes * PATH_BYTES + waiting * WAITING_BYTES
    kind = "rounds, large blocks" if large else "rounds"
    return Cost(messages, messages * MESSAGE_S + large_s, memory, ranks=ranks, kind=kind)


def foreseen(
    fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int, settings: Mapping[str, str]
) -> str:
    """Why a launch of these cells on a fabric will have no time; empty if it is within the budget."""
    simulation = simulation_of(fabric)
    if calls := in_rounds(fabric, cells, ranks, ranks_per_node, settings):
        cost = rounds_cost(calls, ranks, ranks // ranks_per_node, simulation.samples)
    else:
        cost = cost_of_actors(fabric, cells, ranks, ranks_per_node, settings)
    return refusal(cost, ranks, simulation)
