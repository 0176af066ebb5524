# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of the two jobs of a launch."""

import random
from collections.abc import Sequence

from weft.kernel.interference.study import Place

FEWEST = 2  # of a job's nodes, or ranks on a single node


def split_places(place: Place, leaf: Sequence[int], share: float, seed: int) -> tuple[list[int], list[int]] | str:
    """Places of the job that measures and of the other, ascending, by the leaf of each place; or why there are none."""
    members: dict[int, list[int]] = {}
    for index, own in enumerate(leaf):
        members.setdefault(own, []).append(index)
    chosen = list(range(len(leaf)))
    if place == "other-leaf":
        if len(members) < 2:
            return "all nodes are under one leaf"
        measuring: list[int] = []
        for own in list(members.values())[:-1]:
            if measuring and len(measuring) + len(own) / 2 > share * len(leaf):
                break
            measuring += own
        return _enough(measuring, chosen)
    if place == "same-leaf":
        chosen = max(members.values(), key=len)
    if place == "random":
        drawn = random.Random(seed).sample(chosen, round(share * len(chosen)))
        return _enough(drawn, chosen)
    return _enough([each for k, each in enumerate(chosen) if int((k + 1) * share + 0.5) > int(k * share + 0.5)], chosen)


def _enough(measuring: Sequence[int], chosen: Sequence[int]) -> tuple[list[int], list[int]] | str:
    others = [each for each in chosen if each not in set(measuring)]
    if min(len(measuring), len(others)) < FEWEST:
        return f"{len(measuring)} and {len(others)} of {len(chosen)} for two jobs of at least {FEWEST}"
    return sorted(measuring), others
