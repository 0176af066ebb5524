# SPDX-License-Identifier: BSD-3-Clause
"""Which rows of two runs are the same measurement, and why other rows cannot be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.analyse.compare.sides import Key, Point, Side


@dataclass(frozen=True)
class Unmatched:
    """A row that cannot be compared."""

    key: Key
    run: str  # name of the run that has no numbers for it
    missing: bool  # whether that run should have measured the row but did not: it failed, or never ran
    reason: str  # why


@dataclass(frozen=True)
class Matching:
    """Rows with numbers in both runs, ordered by operation, shape and size, and all other rows."""

    keys: tuple[Key, ...]
    unmatched: tuple[Unmatched, ...]


def match(base: Side, other: Side) -> Matching:
    """Pair the rows of two runs by kernel, call, phase, nodes, ranks, n, m and parameters."""
    keys: list[Key] = []
    unmatched: list[Unmatched] = []
    for key in dict.fromkeys([*base.points, *other.points]):
        lacking = [side for side in (base, other) if not (key in side.points and side.points[key].medians)]
        if not lacking:
            keys.append(key)
        elif len(lacking) == 1 or any(key in side.points for side in lacking):
            unmatched.append(_why(key, lacking))
    return Matching(tuple(in_order(keys)), tuple(unmatched))


def in_order(keys: Sequence[Key]) -> list[Key]:
    """Keys in reading order: operations as they were measured, then by nodes, ranks, n, m and size."""
    seen = {name: place for place, name in enumerate(dict.fromkeys(key.operation for key in keys))}
    return sorted(
        keys,
        key=lambda key: (seen[key.operation], key.phase, key.nodes, key.ranks, key.n or 0, key.m or 0, key.size or 0),
    )


def _why(key: Key, lacking: list[Side]) -> Unmatched:
    names = " and ".join(side.name for side in lacking)
    known = [side for side in lacking if key in side.points]
    if known:
        reason = "; ".join(_status(side.points[key]) for side in known)
        return Unmatched(key, names, True, reason)
    return Unmatched(key, names, False, _nearest(key, lacking[0].points))


def _status(point: Point) -> str:
    if point.status == "ok":
        return "it has no samples"
    return f"{point.status}: {point.reason}" if point.reason else point.status


def _nearest(key: Key, points: Mapping[Key, Point]) -> str:
    """How the other run's nearest row differs: the fields with another value."""
    if key.kernel not in {other.kernel for other in points}:
        return f"no kernel {key.kernel} there"
    alike = [other for other in points if (other.kernel, other.operation) == (key.kernel, key.operation)]
    if not alike:
        return f"no {key.operation} there"
    fields = ("phase", "nodes", "ranks", "parameters", "n", "m", "size")

    def differing(other: Key) -> list[str]:
        return [name for name in fields if getattr(other, name) != getattr(key, name)]

    closest = min(alike, key=lambda other: len(differing(other)))
    parts = [
        "this size was not measured there" if name == "size" else f"{name} is {getattr(closest, name)} there"
        for name in differing(closest)
    ]
    return ", ".join(parts)
