# SPDX-License-Identifier: BSD-3-Clause
"""Two runs side by side: each common row, each call over its sizes, and rows of only one run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.analyse.compare.evidence import Evidence, Outcome, judged, spanned, weigh
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
class Summary:
    """The geometric mean over all common rows of one operation and phase."""

    operation: str
    phase: str
    # nodes, ranks: of its rows if all have the same; None over several process counts
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
    common, unmatched = match(base, other)
    wanted = [key for key in common if key.phase in phases]
    keys = [key for key in wanted if sizes is None or (key.size is not None and sizes[0] <= key.size <= sizes[1])]
    if not keys:
        raise _nothing(base, other, wanted, unmatched)
    precision = max(base.precision, other.precision)
    margin = precision if margin is None else margin
    modelled = base.modelled or other.modelled
    groups = groups_of(keys)
    evidence = weigh(_logs(base, keys), _logs(other, keys), groups, precision)
    if modelled:
        evidence = spanned(evidence, [_span(base.points[key], other.points[key]) for key in keys], groups)
    rows = [_row(base, other, key, each, modelled, margin) for key, each in zip(keys, evidence, strict=False)]
    judgements = [judged(each, modelled=modelled, below_floor=False, margin=margin) for each in evidence[len(keys) :]]
    grouped = [tuple(keys[index] for index in group) for group in groups]
    summaries = [_summary(*each) for each in zip(grouped, judgements, strict=True)]
    low, high = sizes or (0, math.inf)
    lost = [each for each in unmatched if each.key.phase in phases and low <= (each.key.size or low) <= high]
    return Comparison(base, other, margin, tuple(rows), tuple(summaries), tuple(lost))


def groups_of(keys: Sequence[Key]) -> list[tuple[int, ...]]:
    """Places of the rows of each operation and phase: over all process counts, and at each count if there are several.

    A group has two rows at least.
    """
    whole: dict[tuple[str, str], list[int]] = {}
    for index, key in enumerate(keys):
        whole.setdefault((key.operation, key.phase), []).append(index)
    found: list[list[int]] = []
    for rows in whole.values():
        shapes: dict[tuple[int, int], list[int]] = {}
        for index in rows:
            shapes.setdefault((keys[index].nodes, keys[index].ranks), []).append(index)
        found += [rows, *shapes.values()] if len(shapes) > 1 else [rows]
    return [tuple(rows) for rows in found if len(rows) > 1]


def _summary(keys: tuple[Key, ...], evidence: Evidence) -> Summary:
    shapes = {(key.nodes, key.ranks) for key in keys}
    nodes, ranks = shapes.pop() if len(shapes) == 1 else (None, None)
    return Summary(keys[0].operation, keys[0].phase, nodes, ranks, keys, evidence)


def _span(base: Point, other: Point) -> tuple[float, float] | None:
    """The ratios that what models leave out allows; None where they leave nothing out."""
    if base.span_s is None and other.span_s is None:
        return None
    (base_low, base_high), (other_low, other_high) = base.reach_s, other.reach_s
    return other_low / base_high, other_high / base_low


def _row(base: Side, other: Side, key: Key, evidence: Evidence, modelled: bool, margin: float) -> Compared:
    one, two = base.points[key], other.points[key]
    floor = max(one.floor_s or 0.0, two.floor_s or 0.0)
    below = abs(two.median_s - one.median_s) < floor
    found = judged(evidence, modelled=modelled, below_floor=below, margin=margin)
    return Compared(key, one.series, one.oversubscribed or two.oversubscribed, one.median_s, two.median_s, found)


def _logs(side: Side, keys: Sequence[Key]) -> np.ndarray:
    """Logarithms of a run's medians: a row for each launch, a column for each key."""
    medians = [side.points[key].medians for key in keys]
    launches = sorted({launch for own in medians for launch in own})
    return np.array([[math.log(own[launch]) if launch in own else math.nan for own in medians] for launch in launches])


def _nothing(base: Side, other: Side, wanted: Sequence[Key], unmatched: Sequence[Unmatched]) -> CompareError:
    """Why there is no row to compare."""
    if wanted:
        have = sorted({key.size for key in wanted if key.size is not None})
        span = f"from {format_bytes(have[0])} to {format_bytes(have[-1])}" if have else "without a size"
        return CompareError(
            f"no common row has a size in that range; the common rows are {span}", "give another --sizes"
        )
    why = "neither has any"
    if unmatched:
        key, run, reason = unmatched[0].key, unmatched[0].run, unmatched[0].reason
        why = f"{key.call} at N = {key.nodes}, p = {key.ranks} is not in {run} ({reason})"
    return CompareError(
        f"{base.name} and {other.name} have no row in common: {why}",
        "compare runs of one study, or of studies with the same n, m, nodes and ranks",
    )
