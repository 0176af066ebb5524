# SPDX-License-Identifier: BSD-3-Clause
"""Counts of the messages that a cell will send, which determine the time of a simulation."""

import math
from collections.abc import Sequence


def barrier_messages(ranks: int) -> int:
    """Messages of the dissemination barrier before each call."""
    return ranks * max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


def any_eager(sizes: Sequence[int], limit: int | None) -> bool:
    """Whether one of the message sizes (bytes) is sent eagerly: at most ``limit`` bytes, or any if it is None."""
    return limit is None or min(sizes) <= limit
