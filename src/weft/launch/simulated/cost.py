# SPDX-License-Identifier: BSD-3-Clause
"""Expected cost of a simulation on this host: number of messages, seconds and memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.fabric.model import Fabric
from weft.fabric.simulation import SimulationSection
from weft.format import format_seconds, plural
from weft.kernel.registry import kernel_named
from weft.launch.launcher import LaunchCell
from weft.launch.simulated.machine import simulation_of

# Fitted to runs of tara's cells and of its extension on one core (2026): 35 us a message at 288 ranks, 43 us at 576,
# 52 us at 1,152. A message that is sent without asking first leaves its sender going, and SimGrid walks the list of
# all that a rank has under way whenever one of them ends: 90 us at 1,152 ranks.
MESSAGE_S = 35e-6
AT_RANKS = 288
GROWTH = 0.3
EAGER_GROWTH = 0.7
COLD = 1  # calls of an operation before its samples
# An algorithm that sends to all ranks at once has p (p - r) large messages under way, whose shares of the links are
# worked out again whenever one of them ends: 1.2 ms a message of 15,360 under way (128 ranks), 60 us of 2,688 (56).
AT_ONCE_S = 1.2e-3
AT_FLOWS = 128 * 120
FLOWS_GROWTH = 1.7
WINDOWED = "ring"  # the same blocks, to one rank at a time
SETUP_MESSAGES = 60  # a rank's, for placement, communicators, clocks and barriers
RANK_BYTES = 2**20
PAIR_BYTES = 160  # counts and places of a rank for each other, twice
BASE_BYTES = 400 * 2**20  # the program, the machine, and what all folded buffers share


@dataclass(frozen=True)
class Cost:
    """Messages, seconds and bytes that simulating a launch is expected to need on this host."""

    messages: int
    seconds: float
    memory_bytes: int
    at_once: tuple[str, ...] = ()
    """Calls whose algorithm sends to all ranks at once."""


def cost_of(ranks: int, messages: int, real_bytes: int = 0, *, eager: bool = False, flows: int = 0) -> Cost:
    """Expected cost of simulating a launch.

    Parameters
    ----------
    ranks
        Ranks of the launch.
    messages
        Messages of all cells, phases and samples (``Kernel.messages``), without those of the harness.
    real_bytes
        Bytes of all ranks' buffers that are not folded.
    eager
        Whether many messages are sent eagerly.
    flows
        Large messages that are under way at once; 0 if only some of each rank are.
    """
    messages += SETUP_MESSAGES * ranks
    each_s = MESSAGE_S * max(1.0, (ranks / AT_RANKS) ** (EAGER_GROWTH if eager else GROWTH))
    each_s += AT_ONCE_S * (flows / AT_FLOWS) ** FLOWS_GROWTH
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + real_bytes
    return Cost(messages, messages * each_s, memory)


def expected_cost(
    cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int, simulation: SimulationSection, eager_limit: int | None
) -> Cost:
    """What simulating cells costs this host.

    Parameters
    ----------
    cells
        All cells of a launch.
    ranks, ranks_per_node
        Of the launch.
    simulation
        Section of the fabric: whose algorithms run, and the samples of each operation where all its calls are alike.
    eager_limit
        Bytes up to which a message is sent without asking first; None where all are.
    """
    kernels = {cell.id: kernel_named(cell.kernel) for cell in cells}

    def calls(cell: LaunchCell) -> int:
        return COLD + max(simulation.samples, kernels[cell.id].cases(cell.parameters, cell.ranks))

    limit = math.inf if eager_limit is None else eager_limit
    large = [cell for cell in cells if kernels[cell.id].sizes(cell.parameters, cell.ranks).block > limit]
    measured = {call for cell in large for call in kernels[cell.id].collectives(cell.parameters)}
    at_once = tuple(sorted(call for call in measured if sends_all_at_once(simulation, call, ranks)))
    cost = cost_of(
        ranks,
        sum(kernels[cell.id].messages(cell.parameters, cell.ranks, calls(cell)) for cell in cells),
        sum(kernels[cell.id].content_bytes(cell.parameters) for cell in cells),
        eager=any(kernels[cell.id].eager(cell.parameters, cell.ranks, eager_limit) for cell in cells),
        flows=ranks * (ranks - ranks_per_node) if at_once else 0,
    )
    return replace(cost, at_once=at_once)


def sends_all_at_once(simulation: SimulationSection, call: str, ranks: int) -> bool:
    """Whether a call takes an algorithm that sends to all ranks at once, with no window.

    Open MPI's selector takes one for ``MPI_Alltoallv`` at some numbers of ranks; its other algorithms of large blocks,
    and those of the other libraries, send to a few ranks at a time.
    """
    if call in simulation.algorithms:
        return "linear" in simulation.algorithms[call]
    return (simulation.collectives, call) == ("ompi", "alltoallv") and (ranks < 64 or 128 <= ranks < 256)


def refusal(cost: Cost, ranks: int, simulation: SimulationSection) -> str:
    """Why a launch of so many ranks, and of this cost, is not simulated; empty if its time is within the budget."""
    if cost.seconds <= simulation.budget:
        return ""
    text = (
        f"simulating {cost.messages:,} messages takes about {format_seconds(cost.seconds)}, over the budget of "
        f"{format_seconds(simulation.budget)} (simulation.budget)"
    )
    if not cost.at_once:
        return text
    windowed = ", ".join(f'{call} = "{WINDOWED}"' for call in cost.at_once)
    return (
        f"{text}; {' and '.join(cost.at_once)} of {simulation.collectives} sends to all {plural(ranks, 'rank')} at "
        f"once: simulation.algorithms = {{ {windowed} }} takes the nearest one with a window, and each row names it"
    )


def content_matters(cells: Sequence[LaunchCell]) -> bool:
    """Whether the content of a buffer affects what is sent, so that buffers must not be shared."""
    return any(kernel_named(cell.kernel).content_bytes(cell.parameters) for cell in cells)


def foreseen(fabric: Fabric, cells: Sequence[LaunchCell], ranks: int, ranks_per_node: int) -> str:
    """Why a launch of these cells on a fabric will not be simulated; empty if its time is within the budget."""
    simulation = simulation_of(fabric)
    eager_limit = fabric.network.eager_limit if fabric.network else None
    return refusal(expected_cost(cells, ranks, ranks_per_node, simulation, eager_limit), ranks, simulation)
