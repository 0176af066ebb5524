# SPDX-License-Identifier: BSD-3-Clause
"""Estimated times of rounds of pairs, and the blocks of rounds that form cells."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from weft.fabric.model import Fabric
from weft.kernel.pairs.study import PairsStudy
from weft.kernel.tournament import PairSchedule

# Defaults if the fabric states no latency or rate; a factor of ten is accurate enough for blocks.
LATENCY_WITHIN_S, LATENCY_BETWEEN_S = 1e-6, 20e-6
RATE_WITHIN, RATE_BETWEEN = 2e9, 1e9
TAKES = 11  # decisions of the stop rule for one round and size: cold, warm-up, a few chunks
TAKE_S, TURN_S = 50e-6, 200e-6  # barrier and one decision; waking the ranks whose turn it is
MOST_BLOCKS = 900


@dataclass(frozen=True)
class Pace:
    """Estimated seconds of one round of one shape."""

    # together, isolated: with the study's concurrency, and one pair at a time; each for rounds between nodes and
    # within them
    together: tuple[float, float]
    isolated: tuple[float, float]

    def total(self, schedule: PairSchedule, *, isolated: bool) -> float:
        """Seconds of all rounds."""
        between, within = self.isolated if isolated else self.together
        return schedule.between * between + schedule.within * within

    def pair_s(self, schedule: PairSchedule) -> float:
        """Seconds of one isolated pair, of the slower kind of round."""
        return 2 * max(self.isolated) / (schedule.nodes * schedule.slots)

    def of(self, schedule: PairSchedule, number: int, *, contention: bool) -> float:
        """Seconds of one round."""
        place = 1 if schedule.is_within(number) else 0
        return self.together[place] + (self.isolated[place] if contention else 0.0)


def pace_of(study: PairsStudy, fabric: Fabric, schedule: PairSchedule) -> Pace:
    """Estimated seconds of rounds on a fabric."""

    def both(concurrency: str) -> tuple[float, float]:
        return round_s(study, fabric, schedule, concurrency, False), round_s(study, fabric, schedule, concurrency, True)

    return Pace(both(study.pairs.concurrency), both("isolated"))


def round_s(study: PairsStudy, fabric: Fabric, schedule: PairSchedule, concurrency: str, within: bool) -> float:
    """Seconds of one round: cold, warm-up, and three times the least number of samples, each direction in turn."""
    measure = study.measure
    trips = 1 + min(measure.warmup_most, 25) + min(3 * measure.min_samples, measure.max_samples)
    turns = {"isolated": schedule.nodes * schedule.slots // 2, "node": 1 if within else schedule.slots}.get(
        concurrency, 1
    )
    sharing = schedule.slots if concurrency == "all" and not within else 1
    total = 0.0
    for size in study.pairs.bytes:
        each = 4 * trips * one_way_s(fabric, study.pairs.messages * size, within, sharing)
        total += turns * min(each, 1.2 * measure.budget) + TAKES * (TAKE_S + (turns > 1) * turns * TURN_S)
    return total


def one_way_s(fabric: Fabric, size: int, within: bool, sharing: int) -> float:
    """Seconds of ``size`` bytes one way, while ``sharing`` pairs share the adapter."""
    if within:
        return (fabric.node.latency or LATENCY_WITHIN_S) + size / RATE_WITHIN
    network = fabric.network
    latency = network.latency if network and network.latency else LATENCY_BETWEEN_S
    rate = network.adapter_rate if network and network.adapter_rate else RATE_BETWEEN
    return latency + sharing * size / rate


@dataclass(frozen=True)
class Block:
    """Rounds ``first`` to ``last``, both included, and their expected seconds."""

    first: int
    last: int
    contention: bool
    expected_s: float


def blocks(
    schedule: PairSchedule, chosen: Iterable[int], also_isolated: set[int], pace: Pace, target_s: float
) -> list[Block]:
    """Divide the chosen rounds into blocks of consecutive rounds that take about ``target_s`` seconds each."""
    rounds = sorted(chosen)
    total_s = sum(pace.of(schedule, number, contention=number in also_isolated) for number in rounds)
    target_s = max(target_s, total_s / MOST_BLOCKS)
    found: list[Block] = []
    first, lasted_s = 0, 0.0
    for at, (number, following) in enumerate(pairwise([*rounds, -1])):
        contention = number in also_isolated
        lasted_s += pace.of(schedule, number, contention=contention)
        parts = following != number + 1 or (following in also_isolated) != contention
        if parts or lasted_s >= target_s:
            found.append(Block(rounds[first], number, contention, round(lasted_s, 3)))
            first, lasted_s = at + 1, 0.0
    return found
