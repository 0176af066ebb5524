# SPDX-License-Identifier: BSD-3-Clause
"""How long the rest of a run takes: at least what its bounds say, and what its launches took once some have ended."""

from collections.abc import Iterable
from statistics import median

from weft.plan.records import LaunchPlan


class Durations:
    """Learns from each launch that ends.

    The plan's estimate is a sum of lower bounds and a start: true times are several times as long, and not by one
    factor (a start that takes seconds where the cell takes milliseconds). So a launch that was started before, in an
    earlier round, is expected to take what it took; the others take the plan's estimate times the factor seen so far.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._expected_s = 0.0
        self._taken_s = 0.0

    def learn(self, launch: LaunchPlan, wall_s: float) -> None:
        """Take in the wall time of a launch that has ended."""
        self._seen.setdefault(_batch(launch), []).append(wall_s)
        self._expected_s += launch.expected_s
        self._taken_s += wall_s

    def remaining_s(self, waiting: Iterable[LaunchPlan]) -> float:
        """Seconds that launches which still wait will take."""
        factor = max(1.0, self._taken_s / self._expected_s) if self._expected_s else 1.0
        return sum(
            median(seen) if (seen := self._seen.get(_batch(launch))) else factor * launch.expected_s
            for launch in waiting
        )


def _batch(launch: LaunchPlan) -> str:
    """What a launch measures, whatever round it belongs to: its id without the round."""
    return launch.id.removesuffix(f".l{launch.index}")
