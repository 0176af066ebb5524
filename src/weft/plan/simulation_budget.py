# SPDX-License-Identifier: BSD-3-Clause
"""Expected cost of a simulation on this host: number of messages, seconds and memory. Processor time of a message, by
algorithm and by how many are under way (bench/simulated_costs.py): power laws through points at 64, 128, 256 and 512
ranks (of what sends to all at once: 32, 48, 64, 96 and 128) on one core of a shared x86 virtual machine with SimGrid
3.32. Switching between ranks, matching messages and memory take most.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.fabric.model import Fabric
from weft.fabric.simulation import SimulationSection
from weft.format import format_seconds, plural
from weft.kernel.registry import kernel_named
from weft.mpi.algorithms import DEFAULT, SELECTED_BY
from weft.plan.records import LaunchCell

COLD = 1  # calls of an operation before its samples
NEAREST = "ring"  # the same blocks, to one rank at a time
SETUP_MESSAGES = 40  # a rank's, for placement, communicators, clocks and barriers
START_S = 1.0  # processor time before the first message, which no estimate counts and no launch teaches
START_RANKS_S, START_GROWTH = 12.9 / 1024**3, 3  # what ranks take before theirs: 13 s at 1,024 ranks, 0.2 s at 256
RANK_BYTES = 2**20
PAIR_BYTES = 160  # counts and places of a rank for each other, twice
BASE_BYTES = 400 * 2**20  # the program, the machine, and what all folded buffers share
AT_RANKS = 128
SHARED_ABOVE = 2**20  # bytes of a buffer above which all ranks share its memory (``WEFT_FOLD_ABOVE``)
LEAST_S = 8e-6  # of a message where few ranks run


class Law(NamedTuple):
    """Seconds a message at `AT_RANKS` ranks, and the power of the number of ranks with which they grow."""

    seconds: float
    growth: float

    def at(self, ranks: int) -> float:
        """Seconds a message among ``ranks`` ranks."""
        return max(LEAST_S, self.seconds * (ranks / AT_RANKS) ** self.growth)


OTHERS = ""
WINDOWED: Mapping[str, Law] = {
    OTHERS: Law(15.7e-6, 0.69),
    "ring": Law(14.6e-6, 0.59),
    "pair": Law(15.3e-6, 0.60),
    "mvapich2": Law(13.1e-6, 0.54),
    "mpich": Law(22.7e-6, 0.98),  # 32 messages of a rank under way
}
"""Large messages, a few of each rank under way, by the algorithm or the library whose selector chooses it."""
EAGER: Mapping[str, Law] = {OTHERS: Law(19.4e-6, 0.64), "mpich": Law(19.5e-6, 0.74)}
"""Small ones leave their sender going, and SimGrid walks the list of all that a rank has under way when one ends."""
AT_ONCE: Mapping[str, Law] = {"alltoallv": Law(1.77e-3, 3.3), "alltoall": Law(0.26e-3, 2.2)}
"""On top, by call, where all p (p - r) large messages are under way: when one ends, the links are shared out anew."""
FLOW_S, LATENT, WINDOWS = 0.09e-6, 512, {"mvapich2": 4, "mpich": 8, "impi": 3}
"""What comes on top for each message that is under way beside a small one, and how many a rank has of them by whose
algorithm, if it does not send to all at once. Up to `LATENT` bytes a message takes its latency alone, at no cost."""
UNEVEN = 2.5
"""Times as much where routes share links unevenly: few end together (64 ranks, a torus and a dragonfly: 1.9 to 4)."""


@dataclass(frozen=True)
class Copies:
    """What an algorithm that copies its blocks costs a host for each byte of them."""

    seconds: float  # for each byte of a call's blocks: of one for every rank, or of one from every rank to every other
    held: float = 0.0  # bytes of real memory for each, at the same time
    most_held: float = math.inf  # bytes that one rank holds at most


COPIES: Mapping[tuple[str, str], Copies] = {
    ("reduce_scatter", "ompi"): Copies(1.0e-9, 1.5),  # each rank sums up a copy of all blocks
    ("reduce_scatter", OTHERS): Copies(0.13e-9),
    ("allgather", OTHERS): Copies(0.3e-9),
    ("bcast", OTHERS): Copies(0.25e-9),
    ("gather", OTHERS): Copies(1.3e-9),
    ("scatter", "mpich"): Copies(1.2e-9),
    ("reduce", OTHERS): Copies(0.4e-9),
    ("allreduce", "mpich"): Copies(1.3e-9),
    ("allreduce", OTHERS): Copies(0.4e-9),
    **{(call, "bruck"): Copies(3.0e-9, 4.0, 64 * 2**20) for call in ("alltoall", "alltoallv")},
    **{(call, "node.bruck"): Copies(1.5e-9, 1.0) for call in ("alltoall", "alltoallv")},
}
"""By call and algorithm, or the library whose selector chooses it. Those of an all-to-all that are not here send from
the buffers that ranks share. At 64 ranks, blocks of 64 KiB to 4 MiB (bench/cost_estimates.py)."""
SHARED = frozenset({"bcast", "allgather"})  # copy nothing once a block is so large that ranks share its memory
WHOLE = frozenset({"bcast", "scatter", "gather", "reduce", "allreduce"})  # calls with one block for each rank
ONCE = 16  # calls that filling and proving a real block, once for each size, costs as much as
DOUBLED, DOUBLING = 2**22, Copies(3.9e-9)
"""Bytes of all blocks of a rank up to which MPICH's selector takes recursive doubling for ``MPI_Reduce_scatter``."""
MESSAGE_COPY_S = 0.3e-9  # for each byte from rank to rank: 256 KiB take 0.08 ms, however few are under way


def copying(call: str, algorithm: str, block: int, ranks: int, calls: int) -> tuple[float, float]:
    """Seconds of processor time and bytes of memory that copies of one size's blocks take."""
    real = block <= SHARED_ABOVE
    if call in SHARED and not real:
        return 0.0, 0.0
    name = algorithm.partition("{")[0]  # whatever its settings: ``bruck{r=2}``
    copies = COPIES.get((call, name), COPIES.get((call, OTHERS), Copies(0.0)))
    if (call, name) == ("reduce_scatter", "mpich") and block * ranks <= DOUBLED:
        copies = DOUBLING
    moved = float(block * ranks * (1 if call in WHOLE else ranks))
    times = calls + (ONCE if call in WHOLE and real else 0)
    return copies.seconds * moved * times, min(copies.held * moved, copies.most_held * ranks)


def message_s(ranks: int, algorithms: Collection[str] = (), *, eager: bool = False) -> float:
    """Seconds of processor time that simulating a message takes."""
    laws = EAGER if eager else WINDOWED
    return max(laws.get(name, laws[OTHERS]).at(ranks) for name in algorithms or (OTHERS,))


@dataclass(frozen=True)
class Cost:
    """Messages, seconds of processor time and bytes that simulating a launch is expected to need on this host."""

    messages: int
    seconds: float
    memory_bytes: int
    at_once: tuple[str, ...] = ()  # calls whose algorithm sends to all ranks at once
    ranks: int = 0
    # whose algorithm of which call runs, and how many of its messages are under way: what is alike costs alike
    kind: str = ""


def expected_cost(
    cells: Sequence[LaunchCell], ranks: int, simulation: SimulationSection, eager_limit: int | None,
    settings: Mapping[str, str] | None = None, *, crowding: float = 1.0, apart: Callable[[int], bool] = lambda _: True,
) -> Cost:  # fmt: skip
    """What simulating cells costs this host; all messages are eager without an ``eager_limit`` (bytes). `apart`:
    whether a block has left its node before its rank sends the next one, so that few are under way.
    """
    kernels = {cell.id: kernel_named(cell.kernel) for cell in cells}
    chosen = {cell.id: algorithms_of(cell, simulation, settings or {}) for cell in cells}
    limit = math.inf if eager_limit is None else eager_limit
    eager = any(kernels[cell.id].smallest(cell.parameters, cell.ranks) <= limit for cell in cells)
    algorithms = {name for by_call in chosen.values() for name in by_call.values()}
    parts = [parts_of(cell, chosen[cell.id], simulation.samples) for cell in cells]
    crowded = Counter[str]()
    for cell in cells:
        crowded.update(sent_at_once(cell, chosen[cell.id], simulation.samples, limit))
    beside_s = sum(small_beside_s(cell, chosen[cell.id], simulation.samples, limit, apart) for cell in cells)
    messages = SETUP_MESSAGES * ranks + sum(part.messages for part in parts)
    breakdowns = sum(part.breakdowns for part in parts)
    each_s = message_s(ranks, algorithms, eager=eager)
    more_s = each_s * breakdowns + sum(crowding * many * AT_ONCE[call].at(ranks) for call, many in crowded.items())
    seconds = START_RANKS_S * ranks**START_GROWTH
    seconds += messages * each_s + (more_s + beside_s + sum(part.copying_s for part in parts))
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + sum(part.content_bytes for part in parts)
    memory += int(max((part.held_bytes for part in parts), default=0.0))
    named = sorted({f"{call} by {name}" for by_call in chosen.values() for call, name in by_call.items()})
    names = named or sorted({kernel.name for kernel in kernels.values()})
    words = [*names, *(["small blocks"] if eager else []), *(["all at once"] if crowded else [])]
    return Cost(messages + breakdowns, seconds, memory, tuple(sorted(crowded)), ranks, ", ".join(words))


@dataclass(frozen=True)
class Parts:
    """What one cell costs."""

    messages: int  # of all calls
    breakdowns: int  # of the steps of their breakdowns, which are Weft's own and never send to all ranks at once
    content_bytes: int  # of buffers that ranks must not share
    held_bytes: float  # that an algorithm holds at most
    copying_s: float  # processor time that copies of blocks take


def parts_of(cell: LaunchCell, chosen: Mapping[str, str], samples: int) -> Parts:
    """The parts of a cell's cost, by the algorithm that each of its calls takes and the samples of each operation."""
    kernel, values, ranks = kernel_named(cell.kernel), cell.parameters, cell.ranks
    calls = calls_of(cell, samples)
    copies = [
        copying(call, chosen[call], block, ranks, calls)
        for call, blocks in kernel.blocks(values, ranks).items()
        for block in blocks
    ]
    messages = kernel.messages({**values, "explain": False}, ranks, calls)
    copied = sum(size * many for size, many in kernel.copied(values, ranks, calls) if size <= SHARED_ABOVE)
    return Parts(
        messages,
        kernel.messages(values, ranks, calls) - messages,
        kernel.content_bytes(values),
        max((held for _, held in copies), default=0.0),
        sum(seconds for seconds, _ in copies) + MESSAGE_COPY_S * copied,
    )


def calls_of(cell: LaunchCell, samples: int) -> int:
    """How often each operation of a cell is called."""
    return COLD + max(samples, kernel_named(cell.kernel).cases(cell.parameters, cell.ranks))


def sent_at_once(cell: LaunchCell, chosen: Mapping[str, str], samples: int, limit: float) -> Counter[str]:
    """Messages of over ``limit`` bytes that a cell's calls send to all ranks at once, by call."""
    found, calls = Counter[str](), calls_of(cell, samples)
    for call, sizes in kernel_named(cell.kernel).direct(cell.parameters, cell.ranks).items():
        for block, messages in sizes:
            if block > limit and sends_all_at_once(chosen[call], call, cell.ranks, block):
                found[call] += calls * messages
    return found


def small_beside_s(
    cell: LaunchCell, chosen: Mapping[str, str], samples: int, limit: float, apart: Callable[[int], bool]
) -> float:
    """Seconds that small messages of a cell's calls take on top because others are under way."""
    found_s, calls = 0.0, calls_of(cell, samples)
    for call, sizes in kernel_named(cell.kernel).direct(cell.parameters, cell.ranks).items():
        for block, messages in sizes:
            if LATENT < block <= limit and not apart(block):
                at_once = sends_all_at_once(chosen[call], call, cell.ranks, block)
                each_s = FLOW_S * cell.ranks * WINDOWS.get(chosen[call], 0)
                found_s += calls * messages * (AT_ONCE["alltoallv"].at(cell.ranks) if at_once else each_s)
    return found_s


def algorithms_of(cell: LaunchCell, simulation: SimulationSection, settings: Mapping[str, str]) -> dict[str, str]:
    """Whose algorithm each call of a cell takes: Weft's own, one of SMPI's, or what a library's selector chooses."""
    own, calls = str(cell.parameters.get("algorithm", DEFAULT)), kernel_named(cell.kernel).collectives(cell.parameters)
    if own != DEFAULT:
        return dict.fromkeys(sorted(calls), own)
    chosen = {call: simulation.algorithms.get(call, simulation.selector) for call in sorted(calls)}
    return {call: settings.get(SELECTED_BY + call.upper(), name) for call, name in chosen.items()}


OMPI_LINEAR: Mapping[str, Sequence[tuple[float, int, float]]] = {
    "alltoall": [(16, 0, math.inf), (64, 512, math.inf), (256, 1024, 2**18), (512, 1024, 2**15), (1024, 512, 2**18)],
    "alltoallv": [(4, 0, 0), (64, 0, math.inf), (128, 0, 0), (256, 0, math.inf), (1024, 0, 0)],
}
"""Where Open MPI's selector takes a linear algorithm: below so many ranks, from and below so many bytes of a block. At
more ranks it takes one always, but for the smallest blocks."""


def sends_all_at_once(algorithm: str, call: str, ranks: int, block: int) -> bool:
    """Whether an algorithm sends blocks of ``block`` bytes to all ranks at once, with no window as most have."""
    if (algorithm, call) == ("impi", "alltoallv"):
        return True
    if algorithm == "ompi" and call in OMPI_LINEAR:
        least, below = next(((least, below) for most, least, below in OMPI_LINEAR[call] if ranks < most), (0, math.inf))
        return least <= block < below
    return "linear" in algorithm


def refusal(cost: Cost, ranks: int, simulation: SimulationSection, learned: str = "") -> str:
    """Why a launch of this cost is not simulated, and by what it was ``learned``; empty if it is in the budget."""
    if cost.seconds <= simulation.budget:
        return ""
    text = (
        f"simulating {cost.messages:,} messages takes about {format_seconds(cost.seconds)}, over the budget of "
        f"{format_seconds(simulation.budget)} (simulation.budget)" + (f": {learned}" if learned else "")
    )
    if not cost.at_once:
        return text
    windowed = ", ".join(f'{call} = "{NEAREST}"' for call in cost.at_once)
    return (
        f"{text}; {' and '.join(cost.at_once)} of {simulation.collectives} sends to all {plural(ranks, 'rank')} at "
        f"once: simulation.algorithms = {{ {windowed} }} takes the nearest one with a window, and each row names it"
    )


def crowding_of(fabric: Fabric) -> float:
    """How much dearer than in a tree's leaf sending to all at once is: links are shared unevenly, rails share flows."""
    if fabric.network is None:
        return 1.0
    return (UNEVEN if fabric.network.topology in ("torus", "dragonfly") else 1.0) / fabric.network.rails


def content_matters(cells: Sequence[LaunchCell]) -> bool:
    """Whether the content of a buffer affects what is sent, so that buffers must not be shared."""
    return any(kernel_named(cell.kernel).content_bytes(cell.parameters) for cell in cells)


def simulation_of(fabric: Fabric) -> SimulationSection:
    """The fabric's section ``[simulation]``, or its defaults."""
    return fabric.simulation or SimulationSection()  # pyright: ignore[reportCallIssue]


def cost_of_actors(fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, settings: Mapping[str, str]) -> Cost:
    """What simulating cells on a fabric costs this host, with an actor for each rank."""
    network, full = fabric.network, min(ranks, fabric.node.cores or 1)

    def apart(block: int) -> bool:
        return not network or full * block / (network.node_rate or math.inf) < network.cost(block).busy_s(block)

    limit, crowding = network.eager_limit if network else None, crowding_of(fabric)
    return expected_cost(cells, ranks, simulation_of(fabric), limit, settings, crowding=crowding, apart=apart)
