# SPDX-License-Identifier: BSD-3-Clause
"""Drawing pairs and rounds where all of them would take too long (METHOD 26), by a recorded seed."""

import random
from collections.abc import Sequence

from weft.kernel.pairs.classes import Classes
from weft.kernel.pairs.schedule import PairSchedule

# Drawn pairs are measured one after the other, so a large round would gain nothing, and a killed job would lose it.
MOST_A_ROUND = 32
Chosen = list[list[tuple[int, int]]]


def draw_rounds(schedule: PairSchedule, count: int, seed: int) -> list[int]:
    """Rounds drawn at random, those within nodes and those between them each by their share, but one of each at least.

    Parameters
    ----------
    schedule
        The tournament.
    count
        How many rounds; all of them where there are no more.
    seed
        The same seed draws the same rounds.
    """
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
    """So many pairs of each class, drawn at random, in rounds of pairs that share no rank.

    Parameters
    ----------
    classes
        Where the ranks are.
    count
        Pairs (low, high) of each class, or all that it has.
    seed
        The same seed draws the same pairs.

    Returns
    -------
    The rounds, and how many pairs were drawn of each class.
    """
    drawn = classes.draw(count, seed)
    counts = {number: len(pairs) for number, pairs in drawn.items()}
    return disjoint([pair for pairs in drawn.values() for pair in pairs]), counts


def disjoint(pairs: Sequence[tuple[int, int]], most: int = MOST_A_ROUND) -> Chosen:
    """Pairs put into rounds by first fit, so that no rank is twice in one, and none has more than ``most`` pairs."""
    rounds: Chosen = []
    busy: list[set[int]] = []
    full = 0  # rounds before this one take no more: looked at once, not once a pair
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
