# SPDX-License-Identifier: BSD-3-Clause
"""What simulating has cost in this run: launches that have ended correct the estimates of those that wait."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from weft.errors import DataError
from weft.files.atomic import read_json, write_json
from weft.format import format_factor, format_seconds, plural
from weft.plan.simulation_budget import Cost

FILE, SCHEMA = "simulated-costs.json", "weft-simulated-costs/1"
LEAST_S = 1.0  # processor time below which a launch teaches nothing: how long its start takes differs by as much
TOLERANCE = 2.0
"""Estimates that are off by less stand: hosts differ by so much, and a busy one must not decide what is simulated."""
EDGES = (1 / 64, 1 / 16, 1 / 4, 1.0)


@dataclass(frozen=True)
class Seen:
    """A launch that was simulated."""

    launch: str
    ranks: int
    kind: str
    expected_s: float  # of processor time, as estimated before
    taken_s: float  # as it was, without that of its start

    @property
    def factor(self) -> float:
        """By how much it took longer than estimated."""
        return self.taken_s / self.expected_s


class Learned:
    """The launches that a run has simulated, kept in its folder, so that a run that goes on knows them still."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[Path, dict[str, Seen]] = {}

    def take(self, folder: Path, seen: Seen) -> None:
        """Take in a launch of the run in ``folder`` that has ended well; a short one teaches nothing."""
        if seen.taken_s < LEAST_S and seen.expected_s < LEAST_S:
            return
        with self._lock:
            known = self._of(folder)
            known[seen.launch] = seen
            rows = [asdict(each) for each in sorted(known.values(), key=lambda each: each.launch)]
            write_json(folder / "launches" / FILE, {"schema": SCHEMA, "launches": rows})

    def nearest(self, folder: Path, kind: str, ranks: int) -> Seen | None:
        """The launch of the same kind whose number of ranks is nearest; None if it agreed with its estimate."""
        with self._lock:
            alike = [each for each in self._of(folder).values() if each.kind == kind]
        if not alike:
            return None
        best = min(alike, key=lambda each: (abs(math.log(each.ranks / ranks)), -each.ranks, each.launch))
        return best if not 1 / TOLERANCE <= best.factor <= TOLERANCE else None

    def corrected(self, folder: Path, cost: Cost) -> tuple[Cost, str]:
        """The cost of a launch by what this run has seen, and why it is not the estimate; empty if it is."""
        if (seen := self.nearest(folder, cost.kind, cost.ranks)) is None:
            return cost, ""
        return replace(cost, seconds=seen.factor * cost.seconds), (
            f"estimated at {format_seconds(cost.seconds)}, but {seen.launch} of this run ({seen.kind}, "
            f"{plural(seen.ranks, 'rank')}) took {format_factor(seen.factor)} times its estimate"
        )

    def _of(self, folder: Path) -> dict[str, Seen]:
        if folder not in self._seen:
            self._seen[folder] = read_seen(folder / "launches" / FILE)
        return self._seen[folder]


def read_seen(path: Path) -> dict[str, Seen]:
    """The launches in a file by name; none if there is no file, or another program wrote it."""
    try:
        tree: Mapping[str, Any] = read_json(path) if path.is_file() else {"schema": ""}
        return {row["launch"]: Seen(**row) for row in tree["launches"]} if tree["schema"] == SCHEMA else {}
    except (DataError, KeyError, TypeError):
        return {}


def in_waves(costs: Mapping[str, float], budget_s: float) -> list[list[str]]:
    """Launches in the order in which they are decided: each wave knows what those before it have cost. Cheap ones come
    first, because they teach; within a wave the dearest, which would keep a single core busy at the end. The order
    depends on estimates alone, so what is refused does not depend on which core was free first. `costs`: estimated
    seconds of each launch, by name. `budget_s`: seconds that a launch may take.
    """
    waves: dict[int, list[str]] = {}
    for name in sorted(costs, key=lambda each: (-costs[each], each)):
        waves.setdefault(sum(costs[name] > edge * budget_s for edge in EDGES), []).append(name)
    return [waves[number] for number in sorted(waves)]
