# SPDX-License-Identifier: BSD-3-Clause
"""How long the rest of a run takes: a guess from its bounds first, then from what its launches took."""

from collections.abc import Collection, Iterable
from statistics import median

from weft.plan.records import LaunchPlan


class Durations:
    """Learns from each launch that ends.

    The plan's estimate is a start and some samples at their lower bounds: true times are several times as long, or
    shorter where a start is quick or the precision is reached early, and not by one factor (a start that takes seconds
    where the cell takes milliseconds). So a launch that was started before, in an earlier round, is expected to take
    what it took; the others take the plan's estimate times the factor seen so far. A launch of which only some cells
    are left counts for their share.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._expected_s = 0.0
        self._taken_s = 0.0

    def learn(self, launch: LaunchPlan, cells: Collection[str], wall_s: float, *, whole: bool = True) -> None:
        """Take in the wall time of a launch of some of its cells that has ended.

        Parameters
        ----------
        launch, cells
            The launch, and those of its cells that it had to measure.
        wall_s
            Its wall time in seconds.
        whole
            Whether it measured them all: one that crashed tells nothing of other launches.
        """
        share = _share(launch, cells)
        self._seen.setdefault(_batch(launch), []).append(wall_s / share)
        if whole:
            self._expected_s += share * launch.expected_s
            self._taken_s += wall_s

    def remaining_s(self, waiting: Iterable[tuple[LaunchPlan, Collection[str]]]) -> float:
        """Seconds that launches which still wait will take, each with its cells that are left."""
        factor = self._taken_s / self._expected_s if self._expected_s else 1.0
        return sum(
            _share(launch, cells)
            * (median(seen) if (seen := self._seen.get(_batch(launch))) else factor * launch.expected_s)
            for launch, cells in waiting
        )


def _share(launch: LaunchPlan, cells: Collection[str]) -> float:
    return len(cells) / len(launch.cells)


def _batch(launch: LaunchPlan) -> str:
    """What a launch measures, whatever round it belongs to: its id without the round."""
    return launch.id.removesuffix(f".l{launch.index}")
