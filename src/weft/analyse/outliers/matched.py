# SPDX-License-Identifier: BSD-3-Clause
"""Outliers of a run whose pairs are matchings: one result for each size, merged over sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Crossed, Leaves, Parts, find_leaves, follow_routes, list_parts
from weft.analyse.outliers.few_rounds import Messages, Slow, find_slow_parts, list_shown_again
from weft.analyse.outliers.outlier import Kind, Outlier, Role, Sighting, merge_outliers
from weft.analyse.outliers.remainders import TOGETHER
from weft.analyse.outliers.rule import CANDIDATE_SIGMAS, CONFIRMED_SIGMAS, NAMED_SIGMAS
from weft.analyse.pairs.places import Places
from weft.fabric.hops import walk
from weft.fabric.loads import filled_shares, loads_of, name_cable
from weft.fabric.network.graph import Ints
from weft.files.atomic import read_json
from weft.latest import Latest
from weft.plan.records import Plan
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.pairs import PairMedians, read_pair_medians
from weft.store.rows import RankRow

Rounds = Sequence[Sequence[Sequence[int]]]
KnownParts = dict[bytes, Parts]
ROLES: dict[str, Role] = {"node": "both", "sender": "sender", "receiver": "receiver"}
ONE_WAY = frozenset({"sender", "receiver", "link"})  # parts that half a round trip cannot tell from their opposite
FULL = 0.9  # of what the fullest round asks of a link
LEAST_LATER = 1.2  # below this factor the direction to the lower rank is as fast as the other
_LAST = Latest[list[Outlier]]()  # what was found last: a check asks after its first pass, and for its tables again


@dataclass(frozen=True, eq=False)
class Pass:
    """Rounds of disjoint pairs of ranks, and their times in each launch."""

    rounds: Rounds
    launches: Sequence[PairMedians]

    def times(self, size: int, ranks: int, *, one_way: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Ordered pairs at a size as ``source * ranks + target``, ascending, and seconds: medians over launches."""
        own = [(each, each.bytes == size) for each in self.launches]
        pair = np.concatenate([(each.source * ranks + each.target)[at] for each, at in own])
        time_s = np.concatenate([(each.forward_s if one_way else each.time_s)[at] for each, at in own])
        order = np.lexsort((time_s, pair))
        pairs, first, count = np.unique(pair[order], return_index=True, return_counts=True)
        ordered = time_s[order]
        return pairs, (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2


def read_passes(root: Path, plan: Plan, launches: Sequence[str] = ()) -> list[Pass]:
    """The passes of a run of matchings: its own, and a second if its ranks are on the same hosts; or none."""
    found, inner = _read_pass(root, plan, launches), RunFolder(root).inner("second")
    if found and inner:
        own, other = ({row["rank"]: row["host"] for row in read_ranks(path)} for path in (root, inner.path))
        found += _read_pass(inner.path, plan_of(inner), ()) if own == other else []
    return found


def _read_pass(root: Path, plan: Plan, launches: Sequence[str]) -> list[Pass]:
    cell = next((cell for cell in plan.measured if "matchings" in cell.parameters), None)
    times = read_pair_medians(root, cell.id, launches) if cell else []
    return [Pass(cell.parameters["pairs"], times)] if cell and times else []


def read_ranks(root: Path) -> list[RankRow]:
    """The ranks of the first launch of a run that began; empty without one."""
    for path in sorted((root / "launches").glob("*.json")):
        if ranks := read_json(path).get("ranks"):
            return ranks
    return []


def matched_rounds(plan: Plan) -> Rounds:
    """The rounds of disjoint pairs of ranks that a run measured; empty where it measured others."""
    return next((cell.parameters["pairs"] for cell in plan.measured if "matchings" in cell.parameters), ())


def find_outliers(passes: Sequence[Pass], places: Places) -> list[Outlier]:
    """The slow parts of a machine, the strongest first; those of one pass that a second should look at are in doubt."""
    given = (passes, places.nodes, places.node_of, places.network.forward, places.routed)
    return _LAST.get(given, lambda: _found(passes, places))


def _found(passes: Sequence[Pass], places: Places) -> list[Outlier]:
    found: list[Outlier] = []
    leaves = leaves_of(passes, places)
    planned, known = plan_messages(passes, places), KnownParts()
    for size in _sizes(passes):
        messages, parts = _messages_of(size, planned, places, leaves, known)
        slow = find_slow_parts(messages, parts, CANDIDATE_SIGMAS)
        sure = NAMED_SIGMAS if messages.second is None else CONFIRMED_SIGMAS
        own = [_outlier(each, messages, parts, size, places, doubted=each.sigmas < sure) for each in slow]
        if not own and len(passes) > 1:  # where the second pass shows what the first named, both may not suffice
            first, of_first = _messages_of(size, plan_messages(passes[:1], places), places, leaves, {})
            named = find_slow_parts(first, of_first)
            again = list_shown_again(messages, parts, [of_first.parts[each.part] for each in named])
            shown = [each for each in named if of_first.parts[each.part] in again]
            own = [_outlier(each, first, of_first, size, places, doubted=True) for each in shown]
        found += own
    return merge_outliers(found)


def leaves_of(passes: Sequence[Pass], places: Places) -> Leaves | None:
    """The leaves where no cable is known, by the times of the shortest message of the first pass."""
    if places.routed or not passes:
        return None
    pairs, seconds = passes[0].times(_sizes(passes)[0], places.ranks, one_way=False)
    source, target = (places.node_of[each].astype(np.int64) for each in np.divmod(pairs, places.ranks))
    known = (seconds > 0) & (source != target)
    return find_leaves(places, source[known], target[known], np.log(seconds[known]))


def _sizes(passes: Sequence[Pass]) -> list[int]:
    return sorted({size for each in passes[0].launches for size in np.unique(each.bytes).tolist()})


@dataclass(frozen=True, eq=False)
class Planned:
    """The messages of the rounds of some passes, one for each direction of each pair."""

    passes: Sequence[Pass]
    of: NDArray[np.int64]  # round of each message, counted over all passes, shape (messages,)
    source: NDArray[np.int64]  # ranks
    target: NDArray[np.int64]
    load: NDArray[np.float64]  # that limits each message; alike where routes are not known
    routes: Ints | None = None  # links that each message crosses, -1 as padding; None where they are not known
    filled: NDArray[np.float64] | None = None  # share of the rate of each of these links that its round needs


def plan_messages(passes: Sequence[Pass], places: Places) -> Planned:
    """The messages of all rounds of some passes."""
    rounds = [np.array(pairs, np.int64).reshape(-1, 2) for each in passes for pairs in each.rounds]
    met = np.concatenate([np.concatenate([pairs, pairs[:, ::-1]]) for pairs in rounds])
    of = np.repeat(np.arange(len(rounds)), [2 * len(pairs) for pairs in rounds])
    if not places.routed:
        return Planned(passes, of, met[:, 0], met[:, 1], np.ones(len(met)))
    host = places.host[places.node_of[met]]
    routes = walk(places.network, host[:, 0], host[:, 1])
    filled = filled_shares(routes, places.network, of)
    return Planned(passes, of, met[:, 0], met[:, 1], loads_of(routes, places.network, of), routes, filled)


def fullest(planned: Planned, places: Places) -> NDArray[np.float64]:
    """The largest share of each link's rate that a round needs, shape (links,); 0 of one that no message crosses."""
    most = np.zeros(len(places.network.links))
    if planned.routes is not None and planned.filled is not None:
        used = planned.routes >= 0
        np.maximum.at(most, planned.routes[used], planned.filled[used])
    return most


def _messages_of(
    size: int, planned: Planned, places: Places, leaves: Leaves | None, known: KnownParts, directed: bool = True
) -> tuple[Messages, Parts]:
    """Messages of a size, and the parts that they cross: those of messages between the same nodes are ``known``."""
    launches = [each for one in planned.passes for each in one.launches]
    # whether the clocks tell the time of each direction
    one_way = directed and all(np.isfinite(each.forward_s[each.bytes == size]).all() for each in launches)
    wanted, seconds = planned.source * places.ranks + planned.target, np.zeros(len(planned.of))
    first = ends = 0
    for each in planned.passes:
        first, ends = ends, ends + len(each.rounds)
        pairs, times = each.times(size, places.ranks, one_way=one_way)
        own = np.flatnonzero((planned.of >= first) & (planned.of < ends))
        at = np.minimum(np.asarray(np.searchsorted(pairs, wanted[own]), np.int64), len(pairs) - 1)  # pyright: ignore[reportUnknownArgumentType]
        seconds[own] = np.where(pairs[at] == wanted[own], times[at], 0.0)
    timed = np.flatnonzero(seconds > 0)
    source, target = (places.node_of[each[timed]].astype(np.int64) for each in (planned.source, planned.target))
    classes = places.classes[source, target] if leaves is None else leaves.share(source, target)
    group = np.unique(np.stack([classes, np.round(1000 * planned.load[timed])]), axis=1, return_inverse=True)[1]
    key = timed.tobytes()
    if key not in known:
        known[key] = list_parts(places.nodes, source, target, _crossed(planned, places, timed), leaves)
    parts, second = known[key], first if len(planned.passes) > 1 else None
    if not one_way:
        kept = [index for index, part in enumerate(parts.parts) if part.kind not in ONE_WAY]
        parts = Parts.of((parts.parts[index] for index in kept), [parts.messages(index) for index in kept])
    logs = np.log(seconds[timed])
    ends = np.stack([planned.of[timed], planned.source[timed], planned.target[timed]])
    if one_way and is_answered_late(logs, ends, classes):
        return _messages_of(size, planned, places, leaves, known, directed=False)
    return Messages(planned.of[timed], group.ravel().astype(np.int64), logs, second), parts


def is_answered_late(logs: NDArray[np.float64], ends: NDArray[np.int64], classes: NDArray[Any]) -> bool:
    """Whether the directions of pairs hinder each other: to the lower rank it takes longer than back in every class.
    Over TCP the answer that a long message waits for stands behind its receiver's own data: the direction that begins
    first takes half as long as the other. By rank, that would look like slow cables down to the first leaf. Where a
    class shows it alone, a slow cable is the reason. ``ends``: round, source and target of each message.
    """
    of, source, target = ends
    most = max(int(target.max(initial=0)), int(source.max(initial=0))) + 1
    pair = (of * most + np.minimum(source, target)) * most + np.maximum(source, target)
    there, back = np.flatnonzero(source < target), np.flatnonzero(source > target)
    _, at, back_at = np.intersect1d(pair[there], pair[back], assume_unique=True, return_indices=True)
    longer, own = logs[back[back_at]] - logs[there[at]], classes[there[at]]
    return min((float(np.median(longer[own == each])) for each in np.unique(own)), default=0.0) > np.log(LEAST_LATER)


def _crossed(planned: Planned, places: Places, timed: NDArray[np.int64]) -> Crossed:
    """What timed messages cross; a link and its cable if they fill it: two on a cable of double rate, not one alone."""
    if planned.routes is None or planned.filled is None:
        return ()
    routes, filled = planned.routes[timed], planned.filled[timed]
    full = filled > FULL * fullest(replace(planned, routes=routes, filled=filled), places)[routes]
    return follow_routes(places.network, routes, np.arange(len(timed)), full)


def _outlier(slow: Slow, messages: Messages, parts: Parts, size: int, places: Places, *, doubted: bool) -> Outlier:
    part = parts.parts[slow.part]
    kind: Kind = "node" if part.kind in ROLES else part.kind  # pyright: ignore[reportAssignmentType]
    role: Role = ROLES.get(part.kind, "")
    also = [*part.also, *(f"{parts.parts[each].kind} {parts.parts[each].name}" for each in slow.alike)]
    seen = Sighting(size, TOGETHER, slow.factor, low=slow.low, high=slow.high)
    of = messages.round[parts.messages(slow.part)]
    pairs = int((of < messages.second).sum()) if messages.second else len(of)
    cable = name_cable(places.network, part.links[0] // 2) if part.kind == "link" else ""
    return Outlier(kind, part.name, role, (seen,), pairs, tuple(dict.fromkeys(also)), cable=cable, doubted=doubted)
