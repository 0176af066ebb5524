# SPDX-License-Identifier: BSD-3-Clause
"""What a simulation itself will cost, known before it starts: messages to simulate, seconds and memory of this host."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

# Fitted to runs of tara's cells and of its extension on one core (2026): 35 us a message at 288 ranks, 43 us at 576,
# 52 us at 1,152. A message that is sent without asking first leaves its sender going, and SimGrid walks the list of
# all that a rank has under way whenever one of them ends: 90 us at 1,152 ranks.
MESSAGE_S = 35e-6
AT_RANKS = 288
GROWTH = 0.3
EAGER_GROWTH = 0.7
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


def cost_of(ranks: int, messages: int, real_bytes: int = 0, *, eager: bool = False) -> Cost:
    """Expected cost of simulating a launch.

    Parameters
    ----------
    ranks
        Of the launch.
    messages
        Of all cells, phases and samples (:func:`messages_of`); what the harness itself sends comes on top.
    real_bytes
        Buffers of all ranks that are not folded.
    eager
        Whether many messages are sent without asking first.
    """
    messages += SETUP_MESSAGES * ranks
    each_s = MESSAGE_S * max(1.0, (ranks / AT_RANKS) ** (EAGER_GROWTH if eager else GROWTH))
    memory = BASE_BYTES + ranks * RANK_BYTES + ranks * ranks * PAIR_BYTES + real_bytes
    return Cost(messages, messages * each_s, memory)


def ranks_of(cell: Mapping[str, str], ranks: int) -> int:
    """Ranks that take part in a cell of a flat plan, in a launch of so many."""
    if named := cell.get("members"):
        return len(named.split())
    return int(cell.get("ranks", ranks))


def is_eager(cell: Mapping[str, str], ranks: int, limit: int | None) -> bool:
    """Whether a cell of a flat plan exchanges blocks that need no asking first, up to a limit in bytes."""
    p = ranks_of(cell, ranks)
    if cell.get("kernel") != "exchange":
        return limit is None or min(map(int, cell.get("bytes", "0").split())) <= limit
    if set(cell.get("calls", "A").split()) & {"A", "B"}:
        return True
    return limit is None or 8 * int(cell.get("n", "0")) * int(cell.get("m", "1")) <= limit * p * p


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
    p = ranks_of(cell, ranks)
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
