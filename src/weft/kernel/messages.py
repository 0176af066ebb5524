# SPDX-License-Identifier: BSD-3-Clause
"""Counting the messages that a cell sends, before it runs: what a simulator has to work through."""

import math
from collections.abc import Sequence


def barrier_messages(ranks: int) -> int:
    """Messages of the dissemination barrier with which each call begins."""
    return ranks * max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


def any_eager(sizes: Sequence[int], limit: int | None) -> bool:
    """Whether one of some message sizes (bytes) is sent without asking first; ``limit`` None lets all through."""
    return limit is None or min(sizes) <= limit
