# SPDX-License-Identifier: BSD-3-Clause
"""Regular all-to-alls: the schedule of each call, which is computed in rounds where a simulation would take too long.
The schedules are native/simulate/rounds/schedules.cpp; the selectors are those of SimGrid 3.32.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from weft.fabric.model import Fabric
from weft.fabric.simulation import CRAY_STEPS, SimulationSection
from weft.kernel.registry import kernel_named
from weft.mpi.algorithms import DEFAULT
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
    *("dissemination", "own-bruck", "node-direct", "node-multi", "node-bruck"),
)
"""In the order of ``Algorithm`` in native/simulate/rounds/schedules.hpp."""
THROTTLED = {"mpich": 32}  # messages of a rank under way in a scattered exchange
USUALLY_THROTTLED = 4
REQUESTS = 1024  # of a node, in flat.window: the default of native/alltoall
OWN: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "flat.pairwise": ("window", {}),
    "flat.window": ("window", {"w": 8}),
    "bruck": ("own-bruck", {"r": 2}),
    "node.direct": ("node-direct", {"w": 64}),
    "node.multi": ("node-multi", {"nl": 1, "stages": 12}),
    "node.bruck": ("node-bruck", {"r": 2}),
}
"""Kind and parameters of Weft's own all-to-alls that have schedules (native/alltoall/spec.cpp), with their defaults."""
UNEVEN = frozenset({"ring", "exclusive-or", "linear-v", "scattered", "window"})  # kinds for blocks that differ
MOST_UNEVEN = 4096  # ranks, of which a matrix of blocks is made
ORDERS = ("shift", "xor", "node-rotated", "permuted")
STAGING_BYTES, MOST_PASSES = 2**25, 256  # of a node, one way; of node.bruck, which then leaves it to node.multi
BRUCK_BELOW = {"mpich": ((8, 256),), "ompi": ((4096, 2048), (2048, 1024), (512, 512), (64, 1024), (16, 512))}
"""Fewest ranks, and the bytes of a block below which a library's selector takes Bruck's algorithm."""
CRAY_SHORT, CRAY_SHORTEST = 512, 64  # MPICH_ALLTOALL_SHORT_MSG of HPE's MPICH, up to AT_RANKS and above
OMPI_SMALL = ((3, 8, 2**19, 2**20, "pair"), (16, 32, 0, 4, "basic_linear"))
"""What else Open MPI's selector takes from and below so many ranks, and bytes of a block."""
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
    second: int = 0
    asked: int = 0  # reductions of 8 B before; not those of a few calls only (native/alltoall/staging.cpp)
    itself: bool = False
    is_uneven: bool = False


def scheduled(
    cell: LaunchCell, ranks_per_node: int, simulation: SimulationSection, settings: Mapping[str, str]
) -> tuple[Scheduled, ...]:
    """The all-to-alls of a cell in the order of its operations; empty if one of them has no schedule."""
    kernel = kernel_named(cell.kernel)
    calls = kernel.exchanges(cell.parameters, cell.ranks)
    if not calls or simulation.model != "fair" or {"ranks", "members"} & set(cell.parameters):
        return ()
    is_uneven = kernel.is_uneven(cell.parameters)
    if is_uneven and cell.ranks > MOST_UNEVEN:
        return ()
    chosen = algorithms_of(cell, simulation, settings)
    own = str(cell.parameters.get("algorithm", DEFAULT)) != DEFAULT
    found: list[Scheduled] = []
    for one in calls:
        call = schedule_of(one, chosen.get(one[1], ""), cell.ranks, ranks_per_node, simulation, own=own)
        if call is None or (is_uneven and call.kind not in UNEVEN | {"dissemination"}):
            return ()
        found.append(replace(call, is_uneven=is_uneven and call.kind in UNEVEN))
    return tuple(found)


Exchange = tuple[str, str, int]  # a call's operation, name and block in bytes


def schedule_of(
    exchange: Exchange, algorithm: str, ranks: int, ranks_per_node: int, simulation: SimulationSection, *, own: bool
) -> Scheduled | None:
    """The schedule of one call; None if its algorithm has none. ``own``: of Weft's algorithms."""
    operation, call, block = exchange
    if call == "barrier":
        return Scheduled(operation, "ompi_bruck", "dissemination", block)
    if own and algorithm.partition("{")[0] in OWN:
        return own_schedule(exchange, algorithm, ranks, ranks_per_node)
    is_cray = algorithm == "mpich" and simulation.collectives == "cray"
    name = selected(algorithm, call, ranks, block, is_cray=is_cray)
    library, power = simulation.algorithms.get(call, simulation.selector), ranks & (ranks - 1) == 0
    throttle = CRAY_STEPS if is_cray else THROTTLED.get(algorithm, USUALLY_THROTTLED)
    ring = "exclusive-or" if power and call == "alltoallv" else "ring"
    kinds: Mapping[tuple[str, str], tuple[str, int, bool]] = {
        ("alltoall", "ring"): (ring, 0, False), ("alltoallv", "ring"): (ring, 0, False),
        ("alltoall", "pair"): ("exclusive-or" if power and library != "ompi" else "ring", 0, False),
        ("alltoallv", "pair"): (ring, 0, False), ("alltoall", "bruck"): ("bruck", 0, False),
        ("alltoallv", "bruck"): ("scattered", USUALLY_THROTTLED, False), ("alltoall", "rdb"): ("doubling", 0, False),
        ("alltoall", "basic_linear"): ("linear", 0, False), ("alltoallv", "ompi_basic_linear"): ("linear-v", 0, False),
        ("alltoall", "mvapich2_scatter_dest"): ("scattered", throttle, True),
    }  # fmt: skip
    if (call, name) not in kinds:
        return None
    kind, parameter, itself = kinds[call, name]
    return Scheduled(operation, name, kind, block, parameter=parameter, itself=itself)


def own_schedule(exchange: Exchange, spec: str, ranks: int, ranks_per_node: int) -> Scheduled | None:
    """The schedule of one of Weft's own; None for one that leaves the call to the library."""
    operation, call, block = exchange
    name, _, words = spec.rstrip("}").partition("{")
    kind, known = OWN[name]
    given = dict(word.replace(" ", "").split("=", 1) for word in words.split(",") if word)
    is_even, node_aware = ranks % ranks_per_node == 0, name.startswith("node.")
    if "bytes_in_flight" in given or (node_aware and not (is_even and ranks > ranks_per_node)):
        return None
    if name == "node.bruck":
        slice_bytes = min(block, max(2**14, STAGING_BYTES) // (ranks_per_node * ranks))
        if slice_bytes == 0 or block // slice_bytes > MOST_PASSES:
            return own_schedule(exchange, "node.multi", ranks, ranks_per_node)
    numbers = [int(given.get(key, default)) for key, default in known.items()]
    is_vector = call == "alltoallv"
    if name == "flat.window":
        window = min(numbers[0], max(1, REQUESTS // 2 // ranks_per_node), ranks)
        numbers = [window, ORDERS.index(given.get("order", "shift"))]
    elif name == "bruck":
        numbers.append(int(is_vector))
    parameter, second = (*numbers, 0, 0)[:2]
    return Scheduled(operation, name, kind, block, True, parameter, second, asked=int(is_vector and "bruck" in name))


def selected(algorithm: str, call: str, ranks: int, block: int, *, is_cray: bool = False) -> str:
    """The algorithm that a library's selector takes; an algorithm itself is left as it is. ``is_cray``: HPE's MPICH."""
    if call == "alltoallv":
        names = {"mpich": "bruck", "mvapich2": "ring", "ompi": "pair"}
        at_once = sends_all_at_once(algorithm, call, ranks, block)
        return "ompi_basic_linear" if algorithm == "ompi" and at_once else names.get(algorithm, algorithm)
    if algorithm == "mvapich2":
        rows = next(rows for most, rows in MVAPICH2 if ranks <= most)
        return next(name for most, name in rows if block <= most)
    if algorithm not in BRUCK_BELOW:
        return algorithm
    if is_cray:
        below = CRAY_SHORT if ranks <= AT_RANKS else CRAY_SHORTEST
        return "bruck" if block < below and ranks >= BRUCK_BELOW[algorithm][0][0] else "mvapich2_scatter_dest"
    if algorithm == "ompi":
        for few, many, least, below, name in OMPI_SMALL:
            if few <= ranks < many and least <= block < below:
                return name
    if block < next((below for least, below in BRUCK_BELOW[algorithm] if ranks >= least), 0):
        return "bruck"
    if algorithm == "mpich":
        return "mvapich2_scatter_dest" if block < 2**15 else "pair" if ranks % 2 else "ring"
    return "basic_linear" if sends_all_at_once(algorithm, call, ranks, block) else "pair"


def in_rounds(
    fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int, settings: Mapping[str, str], *,
    most_bytes: int | None = None,
) -> Mapping[str, Sequence[Scheduled]]:  # fmt: skip
    """The calls of each cell of a launch in rounds; empty for one with actors, of at most ``most_bytes`` here."""
    simulation = simulation_of(fabric)
    if simulation.engine == "ranks":
        return {}
    found = {cell.id: scheduled(cell, ranks_per_node, simulation, settings) for cell in cells}
    if not all(found.values()):
        return {}
    if simulation.engine == "auto":
        cost = cost_of_actors(fabric, cells, ranks, settings)
        if not refusal(cost, ranks, simulation) and (most_bytes is None or cost.memory_bytes <= most_bytes):
            return {}
    return found


def rounds_cost(cells: Mapping[str, Sequence[Scheduled]], ranks: int, nodes: int, samples: int) -> Cost:
    """What computing the first call and the samples of each call of some cells costs this host."""
    each, calls = ranks * (ranks - 1), [call for cell in cells.values() for call in cell]
    sent = [(messages_of(call, ranks, nodes), call.block_bytes * each) for call in calls]
    messages = (1 + samples) * sum(count for count, _ in sent)
    large = (1 + samples) * sum(count for count, size in sent if size >= LARGE_BYTES * count)
    large_s = large * LARGE_S * max(1.0, ranks / AT_RANKS)
    waiting = max(each if call.kind.startswith("linear") else ranks * (call.parameter + 1) for call in calls)
    memory = BASE_BYTES // 4 + ranks * RANK_BYTES + nodes * nodes * PATH_BYTES + waiting * WAITING_BYTES
    kind = "rounds, large blocks" if large else "rounds"
    return Cost(messages, messages * MESSAGE_S + large_s, memory, ranks=ranks, kind=kind)


def messages_of(call: Scheduled, ranks: int, nodes: int) -> int:
    """Messages of a call."""
    if call.kind in ("bruck", "doubling", "own-bruck"):
        radix = max(2, call.parameter)
        return ranks * (radix - 1) * math.ceil(math.log(max(2, ranks), radix))
    if call.kind == "node-bruck":
        return ranks * (call.parameter - 1) * math.ceil(math.log(max(2, nodes), call.parameter))
    if call.kind == "node-direct":
        return ranks * (nodes - 1)
    copies = ranks * (call.second + 2)  # a flow each
    return nodes * (nodes - 1) + copies if call.kind == "node-multi" else ranks * (ranks - 1)


def foreseen(
    fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int, settings: Mapping[str, str]
) -> str:
    """Why a launch of these cells on a fabric will have no time; empty if it is within the budget."""
    return refusal(foreseen_cost(fabric, cells, ranks, ranks_per_node, settings), ranks, simulation_of(fabric))


def foreseen_cost(
    fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int, settings: Mapping[str, str]
) -> Cost:
    """What simulating a launch of these cells costs this host, with actors or in rounds."""
    if calls := in_rounds(fabric, cells, ranks, ranks_per_node, settings):
        return rounds_cost(calls, ranks, ranks // ranks_per_node, simulation_of(fabric).samples)
    return cost_of_actors(fabric, cells, ranks, settings)


def foreseen_s(costs: Sequence[float], cores: int, load: float) -> float:
    """Seconds until launches of these seconds of processor time have ended on a host with this load, side by side."""
    side = min(cores, len(costs))
    return max(max(costs), sum(costs) / side) * max(1.0, (load + side) / cores)
