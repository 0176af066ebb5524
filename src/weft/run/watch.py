# SPDX-License-Identifier: BSD-3-Clause
"""Watching a launch while it runs: its live slot, and links that can be counted at no cost; how long the rest takes."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import median
from typing import Self

from weft.files.beneath import NONE, Version, version
from weft.format import measured_seconds, percent, plural
from weft.launch.launcher import Glimpse, Launcher, read_live
from weft.plan.records import LaunchPlan
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.store.links import LinkCount

MOST_OFF = 2.0  # a remaining time that may be further from the truth is not printed
FEWEST = 3  # launches whose factors give the range of those that were never started


class Durations:
    """Learns from each launch that ends. The plan's estimate is a start and some samples at their lower bounds: true
    times are several times as long, or shorter where a start is quick or the precision is reached early, and not by one
    factor (a start that takes seconds where the cell takes milliseconds). So a launch that was started before, in an
    earlier round, is expected to take what it took; the others take the plan's estimate times the factor seen so far,
    and the range of the factors of single launches says how wrong that may be. A launch of which only some cells are
    left counts for their share.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._expected_s = self._taken_s = 0.0
        self._factors: list[float] = []

    def learn(self, launch: LaunchPlan, cells: Collection[str], wall_s: float, *, whole: bool = True) -> None:
        """Take in the wall time of a launch of some of its cells that has ended."""
        share = len(cells) / len(launch.cells)
        self._seen.setdefault(_batch(launch), []).append(wall_s / share)
        if whole:
            self._expected_s += share * launch.expected_s
            self._taken_s += wall_s
            self._factors.append(wall_s / max(share * launch.expected_s, 1e-9))

    def remaining_s(self, waiting: Iterable[tuple[LaunchPlan, Collection[str]]]) -> float | None:
        """Seconds for waiting launches, each with its cells that are left; None if off by up to a factor of two."""
        known_s = estimate_s = 0.0
        for launch, cells in waiting:
            share = len(cells) / len(launch.cells)
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


def _batch(launch: LaunchPlan) -> str:
    """What a launch measures, whatever round it belongs to: its id without the round."""
    return launch.id.removesuffix(f".l{launch.index}")


BARS = "▁▂▃▄▅▆▇█"
LEAST_LOAD = 0.01  # share of its rate under which no link is worth a word


def sparkline(values: Sequence[float]) -> str:
    """One sign a value, from the smallest to the largest; all alike are in the middle."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high - low <= 0.01 * abs(high):  # differences under a hundredth are no picture of anything
        return BARS[3] * len(values)
    return "".join(BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)] for value in values)


def in_one_line(glimpse: Glimpse) -> str:
    """The samples of an operation so far, in words."""
    low, high = (glimpse.low_ns / 1e9, glimpse.high_ns / 1e9) if glimpse.high_ns else (None, None)
    time = measured_seconds(glimpse.median_ns / 1e9, low, high)
    return f"{glimpse.op}: {time}, {plural(glimpse.samples, 'sample')} {sparkline(glimpse.recent_ns)}".rstrip()


def busiest(before: Sequence[LinkCount], now: Sequence[LinkCount], seconds: float) -> str:
    """The link that used the largest share of its rate between two readings, in words; empty if none was used."""
    earlier = {(count.link, count.source): count.bytes for count in before}
    shares = [
        ((count.bytes - earlier[count.link, count.source]) / seconds / count.rate, f"{count.source} to {count.target}")
        for count in now
        if (count.link, count.source) in earlier and count.rate > 0 and seconds > 0
    ]
    best, name = max(shares, key=lambda each: each[0], default=(0.0, ""))
    return f"busiest link: {name}, {percent(min(best, 1.0))} of its rate" if best > LEAST_LOAD else ""


EVERY_S = 0.5


class Watch:
    """Tells the progress of a run what its running launch measures, while the ``with`` block lasts."""

    def __init__(self, folder: RunFolder, launcher: Launcher, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        # of a launcher that can read its links' counters during a launch without disturbing it; empty if none runs
        self._counters_now: Callable[[], list[LinkCount]] | None = getattr(launcher, "counters_now", None)
        self._launch: tuple[str, Version] = ("", NONE)
        self._before: tuple[float, Sequence[LinkCount]] = (0.0, ())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="weft-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def turn_to(self, launch: str) -> None:
        """From now on watch this launch, which is about to start."""
        self._launch = launch, version(self._folder.of(launch, "live"))

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            samples, link = self.look()
            if samples or link:
                self._progress.glimpse(samples, link)

    def look(self) -> tuple[str, str]:
        """What the running launch measures, and its busiest link, in words; empty if nothing is known of them."""
        launch, before = self._launch
        if not launch:
            return "", ""
        glimpse = read_live(self._folder.of(launch, "live"), before)
        link = ""
        if self._counters_now is not None:
            then, earlier = self._before
            self._before = now, counts = time.monotonic(), self._counters_now()
            link = busiest(earlier, counts, now - then)
        return in_one_line(glimpse) if glimpse else "", link
