# SPDX-License-Identifier: BSD-3-Clause
"""Sides of a comparison with generated launches: no files, no MPI."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from weft.analyse.compare.sides import Key, Point, Side

CALLS = ("bcast", "alltoall", "scatter", "gather")
SIZES = (64, 1024, 16384)


def keys(calls: tuple[str, ...] = CALLS, sizes: tuple[int, ...] = SIZES, ranks: tuple[int, ...] = (16,)) -> list[Key]:
    """Warm rows of collectives: each call at each size and process count on four nodes."""
    return [
        Key("collective", f"{call}@{size}", "warm", 4, count, None, None, "")
        for call in calls
        for count in ranks
        for size in sizes
    ]


def side(name: str, points: Mapping[Key, Point], **changes: Any) -> Side:
    """A side of a real fabric."""
    facts: dict[str, Any] = {"path": name, "study": "made", "fabric": name, "kind": "slurm", "mpi": "Made MPI 1"}
    return Side(**({"name": name, "precision": 0.05, "points": points} | facts | changes))


def point(*seconds: float, **changes: Any) -> Point:
    """A row with these medians of launches."""
    facts: dict[str, Any] = {"series": ("s",), "status": "ok", "reason": "", "floor_s": 1e-7, "oversubscribed": False}
    return Point(**(facts | {"medians": dict(enumerate(seconds, 1))} | changes))


def drawn_side(
    name: str,
    seed: int,
    launches: int,
    *,
    rows: list[Key] | None = None,
    slower: Callable[[Key], float] = lambda key: 1.0,
    spread: float = 0.03,
    common: float = 0.02,
    astray: float = 0.0,
    **changes: Any,
) -> Side:
    """Launches as machines give them.

    Parameters
    ----------
    slower
        Factor on the time of a row.
    spread, common
        Relative standard deviation of a row between launches, and of what all rows of a launch share.
    astray
        Chance of a launch to be disturbed as a whole, by 20 % on average.
    """
    rng = np.random.default_rng(seed)
    rows = keys() if rows is None else rows
    shared = rng.normal(0, common, launches) + (rng.random(launches) < astray) * rng.exponential(0.2, launches)
    points = {
        key: point(*(1e-5 * math.sqrt(key.size or 1) * slower(key) * np.exp(shared + rng.normal(0, spread, launches))))
        for key in rows
    }
    return side(name, points, **changes)
