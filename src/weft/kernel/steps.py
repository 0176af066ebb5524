# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown of an all-to-all: names of its steps, memory and messages to measure it.

In turns with the samples of a call ``C`` the kernels measure (``native/measure/breakdown``):

===============  ========================================================================
``C:within``     the blocks that stay in a node, by plain messages, all ranks at once
``C:between``    the blocks that leave a node, by plain messages, of one rank at a time, a few at once
``C:shift``      all blocks by plain messages in p rounds, all ranks at once
``C:pairwise``   the same by pairs, where p is a power of two
``C:rounds``     the rounds of ``C:shift``: sample d is round d
===============  ========================================================================
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from weft.kernel.budget import ROW_BYTES, sample_bytes
from weft.study import Measure

MARK = ":"
WITHIN, BETWEEN, SHIFT, PAIRWISE, WHOLE, ROUNDS = "within", "between", "shift", "pairwise", "whole", "rounds"
TURNS = (WITHIN, BETWEEN, SHIFT, PAIRWISE)
"""Steps that are measured in turns with a call; `WHOLE` is the call itself, whose operation has its name alone."""
RUNS_KEPT = 15  # number of runs, the last ones, of which the kernel keeps the end time of each round
MOST_RANKS = 512  # of more ranks the kernel keeps no rounds one by one: each call would store as many rows of each rank
Explain = Annotated[bool, Field(strict=True, description="the breakdown of each all-to-all: why it takes its time")]


def step_op(call: str, step: str) -> str:
    """Name of a step's operation: ``C:shift``, ``alltoall@1024:shift``; that of `WHOLE` is the call."""
    return call if step == WHOLE else f"{call}{MARK}{step}"


def split_step(op: str) -> tuple[str, str]:
    """Call and step of an operation; the step is empty if the operation is not a step."""
    call, _, step = op.partition(MARK)
    return call, step


def breakdown_need(calls: int, ranks: int, measure: Measure) -> dict[str, int]:
    """Bytes of one rank for the breakdowns of ``calls`` calls, by name; empty without a call."""
    if not calls:
        return {}
    kept = ranks if ranks <= MOST_RANKS else 0
    rounds = calls * kept * ROW_BYTES + kept * RUNS_KEPT * 8
    return {"breakdown samples": sample_bytes(len(TURNS) * calls, measure), "breakdown rounds": rounds}


def breakdown_messages(ranks: int) -> int:
    """Most messages of one turn of all steps, without those of the call itself: three exchanges of all blocks."""
    return 3 * ranks * (ranks - 1)


def is_explained(values: Mapping[str, Any], ranks: int) -> bool:
    """Whether a cell's all-to-alls have a breakdown: if the study asks for it and there is more than one rank."""
    return bool(values.get("explain")) and ranks > 1
