# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the breakdown: why an all-to-all takes the time it takes, and how long each of its plain rounds does."""

from typing import Literal, TypedDict

from weft.analyse.tables.quality import OfCall
from weft.store.tables import Long, Short, TableOf

Step = Literal["hardware", "messages", "contention", "algorithm", "arrival"]
Effect = Literal["floor", "adds", "saves", "none", "unsure"]
STEPS: tuple[Step, ...] = ("hardware", "messages", "contention", "algorithm", "arrival")


class TurnRow(TypedDict):
    """An operation of a breakdown in one launch (:mod:`weft.kernel.steps`), medians over its samples.

    ``step`` is ``whole`` for the call itself. ``seconds`` are from the last start of a rank to the last end,
    ``total_s`` from the first start, both the longest duration of a rank where the clocks cannot tell; ``mean_s`` is
    the mean of the total. ``place`` is the round of ``rounds``, 0 for all others.
    """

    cell: str
    launch: Short
    call: str
    step: str
    place: int
    seconds: float
    total_s: float
    mean_s: float
    samples: Long


class BreakdownRow(OfCall):
    """A step of the breakdown of a call, from the floor up.

    ``seconds`` is the time with this step and all below it, ``low`` and ``high`` its interval over the launches, null
    for one launch; those of the last step are the call's of the table of calls. ``factor`` is that over the step below,
    with its own interval; null for the lowest. ``effect``: what the factor shows; ``saves`` only of an algorithm that
    is faster than plain rounds, ``none`` also of messages and contention that are not slower than the step below.
    ``mover`` is what would move it.
    """

    block_bytes: Long
    step: Step
    name: str
    seconds: float
    low: float | None
    high: float | None
    factor: float | None
    factor_low: float | None
    factor_high: float | None
    launches: int
    effect: Effect
    mover: str


class RoundRow(OfCall):
    """A round of the plain exchange: each rank sends to the one ``distance`` behind it.

    ``seconds`` is the median over the launches of the slowest rank's median. ``link`` is the one that the round's
    blocks fill longest by the routes that are known, for ``link_s``; empty and null where none are.
    """

    distance: int
    seconds: float
    link: str
    link_s: float | None


TURNS = TableOf("breakdown_turns", TurnRow)
BREAKDOWN = TableOf("breakdown", BreakdownRow)
ROUND_TIMES = TableOf("breakdown_rounds", RoundRow)
