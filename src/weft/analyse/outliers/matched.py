# SPDX-License-Identifier: BSD-3-Clause
"""Outliers of a run whose pairs are matchings: one result for each size, merged over sizes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Part, Parts, list_parts
from weft.analyse.outliers.few_rounds import Messages, Slow, find_slow_parts
from weft.analyse.outliers.outlier import Kind, Outlier, Role, Sighting, merge_outliers
from weft.analyse.pairs.places import Places
from weft.fabric.network.pair_loads import limiting_loads
from weft.plan.records import Plan
from weft.store.files import Table

Rounds = Sequence[Sequence[Sequence[int]]]
ROLES: dict[str, Role] = {"node": "both", "sender": "sender", "receiver": "receiver"}
#: Parts that half a round trip cannot tell from their opposite.
ONE_WAY = frozenset({"sender", "receiver", "link"})


def matched_rounds(plan: Plan) -> Rounds:
    """The rounds of disjoint pairs of ranks that a run measured; empty where it measured others."""
    for cell in plan.measured:
        if "matchings" in cell.parameters:
            return cell.parameters["pairs"]
    return ()


def find_outliers(pairs: Table, rounds: Rounds, places: Places) -> list[Outlier]:
    """The slow parts of a machine, the strongest first.

    Parameters
    ----------
    pairs
        Final times of the pairs: source, target, bytes, mode, time_s, forward_s.
    """
    found: list[Outlier] = []
    for size in sorted(set(pairs["bytes"].to_pylist())):
        own = [row for row in pairs.to_pylist() if row["bytes"] == size]
        one_way = all((row["forward_s"] or 0.0) > 0 for row in own)
        times = {(row["source"], row["target"]): row["forward_s"] if one_way else row["time_s"] for row in own}
        found += _of_size(size, own[0]["mode"], times, rounds, places, one_way=one_way)
    return merge_outliers(found)


def _of_size(
    size: int,
    mode: str,
    times: dict[tuple[int, int], float],
    rounds: Rounds,
    places: Places,
    *,
    one_way: bool,
) -> list[Outlier]:
    known = [
        (number, source, target, load)
        for number, pairs in enumerate(rounds)
        for (source, target), load in zip(_both_ways(pairs), _loads(pairs, places), strict=True)
        if times.get((source, target), 0.0) > 0
    ]
    if not known:
        return []
    number, source, target = (np.array([row[k] for row in known], np.int64) for k in range(3))
    load = np.array([row[3] for row in known])
    log_s = np.log([times[row[1], row[2]] for row in known])
    classes = places.classes[places.node_of[source], places.node_of[target]].astype(np.int64)
    stratum = np.unique(np.stack([number, classes, np.round(1000 * load)]), axis=1, return_inverse=True)[1]
    hosts = places.host if places.routed else None
    parts = list_parts(
        places.nodes, places.node_of[source], places.node_of[target], places.network if places.routed else None, hosts
    )
    if not one_way:
        parts = _both_directions(parts)
    slow = find_slow_parts(Messages(number, stratum.ravel().astype(np.int64), log_s), parts)
    return [_outlier(each, parts, size, mode) for each in slow]


def _both_ways(pairs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [*((low, high) for low, high in pairs), *((high, low) for low, high in pairs)]


def _loads(pairs: Sequence[Sequence[int]], places: Places) -> NDArray[np.float64]:
    """Planned load of each message, shape (2 * pairs,); alike where routes are not known."""
    if not places.routed:
        return np.ones(2 * len(pairs))
    nodes = places.node_of[np.array(pairs, np.int64)].astype(np.int32)
    return limiting_loads(nodes, places.network, places.host)


def _both_directions(parts: Parts) -> Parts:
    """The parts without those of one direction."""
    kept = [index for index, part in enumerate(parts.parts) if part.kind not in ONE_WAY]
    crossed = [parts.messages(index) for index in kept]
    first = np.cumsum([0, *map(len, crossed)]).astype(np.int64)
    message = np.concatenate(crossed) if crossed else np.empty(0, np.int64)
    return Parts(tuple(parts.parts[index] for index in kept), first, message)


def _outlier(slow: Slow, parts: Parts, size: int, mode: str) -> Outlier:
    part = parts.parts[slow.part]
    kind: Kind = "node" if part.kind in ROLES else part.kind  # pyright: ignore[reportAssignmentType]
    role: Role = ROLES.get(part.kind, "")
    also = [*part.also, *(_title(parts.parts[each]) for each in slow.alike)]
    seen = Sighting(size, mode, slow.factor)
    pairs = len(parts.messages(slow.part))
    return Outlier(kind, part.name, role, (seen,), pairs, tuple(dict.fromkeys(also)))


def _title(part: Part) -> str:
    return f"{part.kind} {part.name}"
