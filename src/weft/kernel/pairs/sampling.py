# SPDX-License-Identifier: BSD-3-Clause
"""Random samples of pairs and rounds if all of them would take too long (METHOD 26), with a recorded seed."""

import random
from collections.abc import Sequence

from weft.kernel.pairs.classes import Classes
from weft.kernel.tournament import PairSchedule

# Drawn pairs are measured one at a time: a larger round would not be faster, and a killed job would lose more.
MOST_A_ROUND = 32
Chosen = list[list[tuple[int, int]]]


def draw_rounds(schedule: PairSchedule, count: int, seed: int) -> list[int]:
    """Draw rounds at random: within nodes and between nodes in proportion to their numbers, at least one of each."""
    if count >= schedule.rounds:
        return list(range(schedule.rounds))
    within = min(schedule.within, max(round(count * schedule.within / schedule.rounds), 1 if count > 1 else 0))
    within = max(within, count - schedule.between)
    dice = random.Random(f"pairs/{seed}")
    return sorted(
        [
            *dice.sample(range(schedule.between), count - within),
            *dice.sample(range(schedule.between, schedule.rounds), within),
        ]
    )


def draw_pairs(classes: Classes, count: int, seed: int) -> tuple[Chosen, dict[int, int]]:
    """Draw ``count`` pairs of each class at random, and arrange them in rounds of pairs that share no rank."""
    drawn = classes.draw(count, seed)
    counts = {number: len(pairs) for number, pairs in drawn.items()}
    return disjoint([pair for pairs in drawn.values() for pair in pairs]), counts


def disjoint(pairs: Sequence[tuple[int, int]], most: int = MOST_A_ROUND) -> Chosen:
    """Arrange pairs in rounds by first fit: no rank occurs twice in a round, no round has more than ``most`` pairs."""
    rounds: Chosen = []
    busy: list[set[int]] = []
    full = 0  # rounds before this one are full and are not searched again
    for pair in pairs:
        while full < len(busy) and len(busy[full]) >= 2 * most:
            full += 1
        place = next(
            (i for i in range(full, len(busy)) if len(busy[i]) < 2 * most and busy[i].isdisjoint(pair)),
            len(busy),
        )
        if place == len(busy):
            rounds.append([])
            busy.append(set())
        rounds[place].append(pair)
        busy[place].update(pair)
    return rounds
