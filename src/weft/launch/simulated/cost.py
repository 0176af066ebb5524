# SPDX-License-Identifier: BSD-3-Clause
"""Expected cost of a simulation on this host: number of messages, seconds and memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.kernel.registry import kernel_named
from weft.launch.launcher import LaunchCell

# Fitted to runs of tara's cells and of its extension on one core (2026): 35 us a message at 288 ranks, 43 us at 576,
# 52 us at 1,152. A message that is sent without asking first leaves its sender going, and SimGrid walks the list of
# all that a rank has under way whenever one of them ends: 90 us at 1,152 ranks.
MESSAGE_S = 35e-6
AT_RANKS = 288
GROWTH = 0.3
EAGER_GROWTH = 0.7
COLD = 1  # calls of an operation before its samples
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


def cost_of(ranks: int, messages: int, real_bytes: int = 0, *, eager: bool = False) -> Cost:
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
    """
    messages += SETUP_MESSAGES * ranks
    each_s = MESSAGE_S * max(1.0, (ranks / AT_RANKS) ** (EAGER_GROWTH if eager else GROWTH))
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + real_bytes
    return Cost(messages, messages * each_s, memory)


def expected_cost(cells: Sequence[LaunchCell], ranks: int, samples: int, eager_limit: int | None) -> Cost:
    """What simulating cells costs this host.

    Parameters
    ----------
    cells
        All cells of a launch.
    ranks
        Of the launch.
    samples
        Of each operation, where all its calls are alike.
    eager_limit
        Bytes up to which a message is sent without asking first; None where all are.
    """
    kernels = {cell.id: kernel_named(cell.kernel) for cell in cells}

    def calls(cell: LaunchCell) -> int:
        return COLD + max(samples, kernels[cell.id].cases(cell.parameters, cell.ranks))

    return cost_of(
        ranks,
        sum(kernels[cell.id].messages(cell.parameters, cell.ranks, calls(cell)) for cell in cells),
        sum(kernels[cell.id].content_bytes(cell.parameters) for cell in cells),
        eager=any(kernels[cell.id].eager(cell.parameters, cell.ranks, eager_limit) for cell in cells),
    )


def content_matters(cells: Sequence[LaunchCell]) -> bool:
    """Whether the content of a buffer affects what is sent, so that buffers must not be shared."""
    return any(kernel_named(cell.kernel).content_bytes(cell.parameters) for cell in cells)
