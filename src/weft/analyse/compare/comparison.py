# SPDX-License-Identifier: BSD-3-Clause
"""Two runs side by side: each common row, each call over its sizes, and rows of only one run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.analyse.compare.evidence import Evidence, Outcome, Sample, judged, spanned, weigh
from weft.analyse.compare.sides import Key, Point, Side, Unmatched, match
from weft.errors import CompareError
from weft.format import format_bytes

PHASES = ("cold", "warm")


@dataclass(frozen=True)
class Compared:
    """A row that both runs have."""

    key: Key
    series: tuple[str, ...]
    oversubscribed: bool
    # base_s, other_s: median over the launches of their medians
    base_s: float
    other_s: float
    evidence: Evidence


@dataclass(frozen=True)
class Group:
    """Rows of one operation and phase."""

    operation: str
    phase: str
    # nodes, ranks: nodes and ranks of its rows if all have the same; None for a group over several process counts
    nodes: int | None
    ranks: int | None
    rows: tuple[int, ...]  # their indices among all rows


@dataclass(frozen=True)
class Summary:
    """The geometric mean over all common rows of a group; its fields are the group's, with the rows themselves."""

    operation: str
    phase: str
    nodes: int | None
    ranks: int | None
    keys: tuple[Key, ...]
    evidence: Evidence


@dataclass(frozen=True)
class Comparison:
    """One run against the base."""

    base: Side
    other: Side
    margin: float  # smallest relative difference that is called slower or faster
    rows: tuple[Compared, ...]
    summaries: tuple[Summary, ...]
    unmatched: tuple[Unmatched, ...]

    @property
    def modelled(self) -> bool:
        """Whether one of the runs, or both, are simulated."""
        return self.base.modelled or self.other.modelled

    @property
    def assumed(self) -> dict[str, tuple[float | None, float | None]]:
        """Numbers in which the models differ and that one of them assumes, base and other: their ratio is no result.

        None where a side has no such number, as one that was measured.
        """
        one, other = ({**side.stated, **side.assumed} for side in (self.base, self.other))
        keys = dict.fromkeys((*self.base.assumed, *self.other.assumed))
        return {key: (one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)}

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the models of the runs leave out of their times; empty where they leave nothing out."""
        return tuple(dict.fromkeys((*self.base.left_out, *self.other.left_out)))

    @property
    def outcome(self) -> Outcome | str:
        """One word for all rows: the strongest outcome among them, or ``mixed`` if some are slower and some faster."""
        seen = {each.evidence.outcome for each in (*self.rows, *self.summaries)}
        if {"slower", "faster"} <= seen:
            return "mixed"
        order: tuple[Outcome, ...] = ("slower", "faster", "no difference shown", "ratio only", "no verdict")
        return next((outcome for outcome in order if outcome in seen), "no verdict")


def compare(
    base: Side,
    other: Side,
    *,
    margin: float | None = None,
    phases: Sequence[str] = PHASES,
    sizes: tuple[int, int] | None = None,
) -> Comparison:
    """Compare a run with the base.

    `sizes`: smallest and largest size in bytes to compare; if given, calls without a size are left out. Raises
    CompareError: the runs have no row in common; the message says how the nearest rows differ.
    """
    found = match(base, other)
    wanted = [key for key in found.keys if key.phase in phases]
    keys = [key for key in wanted if sizes is None or (key.size is not None and sizes[0] <= key.size <= sizes[1])]
    if not keys:
        raise _nothing(base, other, wanted, found.unmatched)
    precision = max(base.precision, other.precision)
    margin = precision if margin is None else margin
    modelled = base.modelled or other.modelled
    groups = groups_of(keys)
    sample = Sample(_logs(base, keys), _logs(other, keys), tuple(group.rows for group in groups))
    evidence = weigh(sample, precision)
    if modelled:
        evidence = spanned(evidence, [_span(base.points[key], other.points[key]) for key in keys], sample.groups)
    rows = [_row(base, other, key, each, modelled, margin) for key, each in zip(keys, evidence, strict=False)]
    summaries: list[Summary] = []
    for group, each in zip(groups, evidence[len(keys) :], strict=True):
        judgement = judged(each, modelled=modelled, below_floor=False, margin=margin)
        own = tuple(keys[index] for index in group.rows)
        summaries.append(Summary(group.operation, group.phase, group.nodes, group.ranks, own, judgement))
    low, high = sizes or (0, math.inf)
    lost = [each for each in found.unmatched if each.key.phase in phases and low <= (each.key.size or low) <= high]
    return Comparison(base, other, margin, tuple(rows), tuple(summaries), tuple(lost))


def groups_of(keys: Sequence[Key]) -> list[Group]:
    """Rows of each operation and phase: over all process counts, and at each count if there are several."""
    whole: dict[tuple[str, str], list[int]] = {}
    for index, key in enumerate(keys):
        whole.setdefault((key.operation, key.phase), []).append(index)
    found: list[Group] = []
    for (operation, phase), rows in whole.items():
        shapes: dict[tuple[int, int], list[int]] = {}
        for index in rows:
            shapes.setdefault((keys[index].nodes, keys[index].ranks), []).append(index)
        nodes, ranks = next(iter(shapes)) if len(shapes) == 1 else (None, None)
        if len(rows) > 1:
            found.append(Group(operation, phase, nodes, ranks, tuple(rows)))
        if len(shapes) > 1:
            found += [Group(operation, phase, *shape, tuple(own)) for shape, own in shapes.items() if len(own) > 1]
    return found


def _span(base: Point, other: Point) -> tuple[float, float] | None:
    """The ratios that what models leave out allows; None where they leave nothing out."""
    if base.span_s is None and other.span_s is None:
        return None
    (base_low, base_high), (other_low, other_high) = base.reach_s, other.reach_s
    return other_low / base_high, other_high / base_low


def _row(base: Side, other: Side, key: Key, evidence: Evidence, modelled: bool, margin: float) -> Compared:
    points = base.points[key], other.points[key]
    one, two = (float(np.median(list(point.medians.values()))) for point in points)
    floor = max((point.floor_s or 0.0 for point in points), default=0.0)
    found = judged(evidence, modelled=modelled, below_floor=abs(two - one) < floor, margin=margin)
    return Compared(key, points[0].series, any(point.oversubscribed for point in points), one, two, found)


def _logs(side: Side, keys: Sequence[Key]) -> np.ndarray:
    """Logarithms of a run's medians: a row for each launch, a column for each key."""
    launches = sorted({launch for key in keys for launch in side.points[key].medians})
    medians = [side.points[key].medians for key in keys]
    return np.array([[math.log(own[launch]) if launch in own else math.nan for own in medians] for launch in launches])


def _nothing(base: Side, other: Side, wanted: Sequence[Key], unmatched: Sequence[Unmatched]) -> CompareError:
    """Why there is no row to compare."""
    if wanted:
        have = sorted({key.size for key in wanted if key.size is not None})
        span = f"from {format_bytes(have[0])} to {format_bytes(have[-1])}" if have else "without a size"
        return CompareError(
            f"no common row has a size in that range; the common rows are {span}", "give another --sizes"
        )
    return CompareError(
        f"{base.name} and {other.name} have no row in common{_first(unmatched)}",
        "compare runs of one study, or of studies with the same n, m, nodes and ranks",
    )


def _first(unmatched: Sequence[Unmatched]) -> str:
    if not unmatched:
        return ": neither has any"
    key = unmatched[0].key
    return f": {key.call} at N = {key.nodes}, p = {key.ranks} is not in {unmatched[0].run} ({unmatched[0].reason})"
