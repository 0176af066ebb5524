# SPDX-License-Identifier: BSD-3-Clause
"""What a simulation itself will cost, known before it starts: messages to simulate, seconds and memory of this host."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

# Fitted to runs of the tara cells on one core (2026): 35 us a message at 288 ranks. The fluid model solves all flows
# that share a link again whenever one of them ends, so a message costs more the more ranks there are.
MESSAGE_S = 35e-6
AT_RANKS = 288
GROWTH = 1.3
SETUP_MESSAGES = 60  # a rank's, for placement, communicators, clocks and barriers
RANK_BYTES = 2**20
PAIR_BYTES = 160  # counts and places of a rank for each other, twice
WINDOW = 64  # messages under way at a time, at the most, where bandwidth is measured
PINGS = 8  # messages of a sample of a pair: there and back, both ways, and who may begin
BASE_BYTES = 400 * 2**20  # the program, the machine, and what all folded buffers share


@dataclass(frozen=True)
class Cost:
    """Messages, seconds and bytes that a launch is expected to take of this host."""

    messages: int
    seconds: float
    memory_bytes: int


def cost_of(ranks: int, messages: int, real_bytes: int = 0) -> Cost:
    """Expected cost of simulating a launch.

    Parameters
    ----------
    ranks
        Of the launch.
    messages
        Of all cells, phases and samples (:func:`messages_of`); what the harness itself sends comes on top.
    real_bytes
        Buffers of all ranks that are not folded.
    """
    messages += SETUP_MESSAGES * ranks
    each_s = MESSAGE_S * max(1.0, (ranks / AT_RANKS) ** GROWTH)
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + real_bytes
    return Cost(messages, messages * each_s, memory)


def messages_of(cell: Mapping[str, str], ranks: int, calls: int) -> int:
    """Messages of one cell of a flat plan.

    Parameters
    ----------
    cell
        Its keys.
    ranks
        Of the launch; a cell may name fewer.
    calls
        Of each operation, over all phases and samples.
    """
    p = int(cell.get("ranks", ranks))
    if named := cell.get("members"):
        p = len(named.split())
    barrier = p * max(1, math.ceil(math.log2(p))) if p > 1 else 0
    sizes = len(cell.get("bytes", "0").split())
    match cell.get("kernel"):
        case "exchange":
            return len(cell.get("calls", "A").split()) * calls * (p * (p - 1) + barrier)
        case "collective":
            everybody = cell.get("collective", "").startswith(("alltoall", "allgather"))
            return sizes * calls * ((p * (p - 1) if everybody else 4 * p) + barrier)
        case "bandwidth":
            return sizes * calls * (WINDOW * p + barrier)
        case "pairs":
            rounds = int(cell.get("last_round", 0)) - int(cell.get("first_round", 0)) + 1
            pairs = cell["pairs"].replace(" ", ",").count(",") + 1 if "pairs" in cell else rounds * p // 2
            return sizes * (2 * PINGS * calls * pairs + rounds * barrier)
        case _:
            return calls * barrier
