# SPDX-License-Identifier: BSD-3-Clause
"""What a simulation itself will cost, known before it starts: messages to simulate, seconds and memory of this host."""

from dataclasses import dataclass

# Fitted to runs of the tara cells on one core (2026): 35 us a message at 288 ranks. The fluid model solves all flows
# that share a link again whenever one of them ends, so a message costs more the more ranks there are.
MESSAGE_S = 35e-6
AT_RANKS = 288
GROWTH = 1.3
SETUP_MESSAGES = 60  # a rank's, for placement, communicators, clocks and barriers
RANK_BYTES = 2**20
PAIR_BYTES = 160  # counts and places of a rank for each other, twice
BASE_BYTES = 400 * 2**20  # the program, the machine, and what all folded buffers share


@dataclass(frozen=True)
class Cost:
    """Messages, seconds and bytes that a launch is expected to take of this host."""

    messages: int
    seconds: float
    memory_bytes: int


def cost_of(ranks: int, operations: int, real_bytes: int = 0) -> Cost:
    """Expected cost of simulating some all-to-all operations.

    Parameters
    ----------
    ranks
        Of the launch.
    operations
        All-to-all operations over all phases and samples, those for warming up included.
    real_bytes
        Buffers of all ranks that are not folded.
    """
    messages = operations * ranks * (ranks - 1) + SETUP_MESSAGES * ranks
    each_s = MESSAGE_S * max(1.0, (ranks / AT_RANKS) ** GROWTH)
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + real_bytes
    return Cost(messages, messages * each_s, memory)
