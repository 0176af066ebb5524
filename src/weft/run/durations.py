# SPDX-License-Identifier: BSD-3-Clause
"""How long the rest of a run takes, from what its launches took; unknown until that is within a factor of two."""

from collections.abc import Collection, Iterable
from statistics import median

from weft.plan.records import LaunchPlan

MOST_OFF = 2.0  # a remaining time that may be further from the truth is not told
FEWEST = 3  # launches whose factors give the range of those that were never started


class Durations:
    """Learns from each launch that ends.

    The plan's estimate is a start and some samples at their lower bounds: true times are several times as long, or
    shorter where a start is quick or the precision is reached early, and not by one factor (a start that takes seconds
    where the cell takes milliseconds). So a launch that was started before, in an earlier round, is expected to take
    what it took; the others take the plan's estimate times the factor seen so far, and the range of the factors of
    single launches says how wrong that may be. A launch of which only some cells are left counts for their share.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._expected_s = 0.0
        self._taken_s = 0.0
        self._factors: list[float] = []

    def learn(self, launch: LaunchPlan, cells: Collection[str], wall_s: float, *, whole: bool = True) -> None:
        """Take in the wall time of a launch of some of its cells that has ended. `wall_s`: its wall time in seconds."""
        share = _share(launch, cells)
        self._seen.setdefault(_batch(launch), []).append(wall_s / share)
        if whole:
            self._expected_s += share * launch.expected_s
            self._taken_s += wall_s
            self._factors.append(wall_s / max(share * launch.expected_s, 1e-9))

    def remaining_s(self, waiting: Iterable[tuple[LaunchPlan, Collection[str]]]) -> float | None:
        """Seconds for waiting launches, each with its cells that are left; None if off by up to a factor of two."""
        known_s = estimate_s = 0.0
        for launch, cells in waiting:
            share = _share(launch, cells)
            if seen := self._seen.get(_batch(launch)):
                known_s += share * median(seen)
            else:
                estimate_s += share * launch.expected_s
        if not estimate_s:
            return known_s
        if len(self._factors) < FEWEST:
            return None
        expected_s = known_s + estimate_s * self._taken_s / self._expected_s
        least_s, most_s = (known_s + estimate_s * each for each in (min(self._factors), max(self._factors)))
        return expected_s if most_s / MOST_OFF <= expected_s <= least_s * MOST_OFF else None


def _share(launch: LaunchPlan, cells: Collection[str]) -> float:
    return len(cells) / len(launch.cells)


def _batch(launch: LaunchPlan) -> str:
    """What a launch measures, whatever round it belongs to: its id without the round."""
    return launch.id.removesuffix(f".l{launch.index}")
