# SPDX-License-Identifier: BSD-3-Clause
"""One side of a comparison: its measured rows with the medians of their launches, and which rows two sides share."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from weft.analyse.floor import Floor
from weft.analyse.pairs.pair_times import PairFile
from weft.analyse.statistics.interval import RANGES
from weft.analyse.tables.times import CALLS, FLOOR, MEDIANS, CallRow, MedianRow
from weft.bound.placed import left_out
from weft.fabric.kinds import KINDS
from weft.fabric.model import Fabric
from weft.fabric.numbers import SPREADS, number_of, standing
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Plan
from weft.store.tables import grouped

SHARED = frozenset({"barrier"})  # operations that every cell measures, whatever its kernel
#: Operation, and the statistic it takes of the medians of all pairs of a launch.
TAKEN = {"middle pair": np.median, "slowest pair": np.max}


class Key(NamedTuple):
    """The fields that identify a measurement: rows of two runs with equal keys are compared."""

    kernel: str
    call: str
    phase: str
    nodes: int
    ranks: int
    n: int | None
    m: int | None
    parameters: str

    @property
    def operation(self) -> str:
        """The call without its size, with its algorithm if one was chosen: ``alltoall``, ``alltoall (ring)``."""
        algorithm = json.loads(self.parameters).get("algorithm") if self.parameters else None
        return split_op(self.call)[0] + (f" ({algorithm})" if algorithm else "")

    @property
    def size(self) -> int | None:
        """Bytes in the call's name; None if it has none."""
        return split_op(self.call)[1]


@dataclass(frozen=True)
class Point:
    """One row of one run."""

    series: tuple[str, ...]  # series of the study the row belongs to
    status: str  # as in the table of calls
    reason: str
    medians: Mapping[int, float]  # of each launch in seconds, by the launch's index
    floor_s: float | None  # of an empty operation of that shape and batch; None if ranks share cores, or unmeasured
    oversubscribed: bool
    span_s: tuple[float, float] | None = None  # shortest and longest time by what a model leaves out, if anything

    @property
    def reach_s(self) -> tuple[float, float]:
        """The span, or the median twice."""
        return self.span_s or (self.median_s, self.median_s)

    @property
    def median_s(self) -> float:
        """Median over the launches, in seconds."""
        return median(self.medians.values())


@dataclass(frozen=True)
class Side:
    """One run of a comparison."""

    name: str  # distinguishes it from the other runs in sentences
    path: str  # the run folder
    study: str
    fabric: str
    kind: str  # of the fabric
    mpi: str
    precision: float  # relative half width of the interval that its study asked for
    points: Mapping[Key, Point] = field(repr=False)
    left_out: tuple[str, ...] = ()  # what the model of its fabric leaves out of some of its times
    # numbers of a model's fabric by key, in its unit: that nobody measured there; that a source states or a fit found
    assumed: Mapping[str, float] = field(default_factory=dict[str, float])
    stated: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def modelled(self) -> bool:
        """Whether its times are simulated: one launch, and no noise to test against."""
        return KINDS[self.kind].is_model

    @property
    def emulated(self) -> bool:
        """Whether its network is emulated on one host."""
        return KINDS[self.kind].is_emulated

    @property
    def launches(self) -> int:
        """The largest number of launches of any of its rows."""
        return max((len(point.medians) for point in self.points.values()), default=0)


def identity(kernel: str, parameters: Mapping[str, Any], *, single: bool = False) -> str:
    """The parameters of a cell that identify the measurement; a file by its name, whatever its folder."""
    asked = kernel_named(kernel)
    kept = {k: value for k, value in parameters.items() if k not in asked.incidental and value not in (None, {}, [])}
    kept |= {key: PurePath(str(kept[key])).name for key in asked.inputs_of(kept)}
    if single or kept.get("algorithm") == DEFAULT:
        kept.pop("algorithm", None)
    return json.dumps(kept, sort_keys=True, default=str) if kept else ""


def points_of(
    rows: Sequence[CallRow], medians: Sequence[MedianRow], parameters: Mapping[str, Mapping[str, Any]], floor: Floor
) -> dict[Key, Point]:
    """Rows of a run by their keys."""
    every = {(row["call"], str(parameters[row["cell"]].get("algorithm", DEFAULT))) for row in rows}
    algorithms = Counter(call for call, _ in every)
    by_launch = grouped(medians, lambda row: (row["cell"], row["call"], row["phase"]))
    found: dict[Key, Point] = {}
    for row in rows:
        kernel, call, phase = row["kernel"], row["call"], row["phase"]
        what = "" if call in SHARED else identity(kernel, parameters[row["cell"]], single=algorithms[call] == 1)
        key = Key(kernel, call, phase, row["nodes"], row["ranks"], row["n"], row["m"], what)
        measured = by_launch.get((row["cell"], call, phase), ()) if row["status"] == "ok" else ()
        known = {each["launch"]: each["median_s"] for each in measured if (each["median_s"] or 0.0) > 0}
        low, high = (row["low_s"], row["high_s"]) if row["interval"] in RANGES else (None, None)
        span = (low, high) if low is not None and high is not None else None
        # METHOD 21: a batch of calls shares one empty operation; ranks that share cores have no floor
        crowded = bool(row["oversubscribed"])
        empty = None if crowded else floor.value("empty", row["nodes"], row["ranks_per_node"])
        floor_s = empty / (row["batch"] or 1) if empty else None
        point = Point(tuple(row["series"] or ()), row["status"], row["reason"] or "", known, floor_s, crowded, span)
        if key not in found or len(point.medians) > len(found[key].medians):
            found[key] = point
    return found


class Unmatched(NamedTuple):
    """A row that cannot be compared."""

    key: Key
    run: str  # name of the run that has no numbers for it
    missing: bool  # whether that run should have measured the row but did not: it failed, or never ran
    reason: str  # why


def match(base: Side, other: Side) -> tuple[list[Key], list[Unmatched]]:
    """Rows with numbers in both runs by their keys, ordered by operation, shape and size; and all other rows."""
    keys: list[Key] = []
    unmatched: list[Unmatched] = []
    for key in dict.fromkeys([*base.points, *other.points]):
        lacking = [side for side in (base, other) if not (key in side.points and side.points[key].medians)]
        if not lacking:
            keys.append(key)
        elif len(lacking) == 1 or any(key in side.points for side in lacking):
            unmatched.append(_why(key, lacking))
    seen = {name: place for place, name in enumerate(dict.fromkeys(key.operation for key in keys))}
    keys.sort(key=lambda key: (seen[key.operation], key.phase, key.nodes, key.ranks, key.n or 0, key.m or 0,
                               key.size or 0))  # fmt: skip
    return keys, unmatched


def _why(key: Key, lacking: list[Side]) -> Unmatched:
    names = " and ".join(side.name for side in lacking)
    known = [side.points[key] for side in lacking if key in side.points]
    if not known:
        return Unmatched(key, names, False, _nearest(key, lacking[0].points))
    reasons = [
        "it has no samples" if point.status == "ok" else ": ".join(filter(None, (point.status, point.reason)))
        for point in known
    ]
    return Unmatched(key, names, True, "; ".join(reasons))


def _nearest(key: Key, points: Mapping[Key, Point]) -> str:
    """How the other run's nearest row differs: the fields with another value."""
    if key.kernel not in {other.kernel for other in points}:
        return f"no kernel {key.kernel} there"
    alike = [other for other in points if (other.kernel, other.operation) == (key.kernel, key.operation)]
    if not alike:
        return f"no {key.operation} there"
    fields = ("phase", "nodes", "ranks", "parameters", "n", "m", "size")
    differing = [{name: getattr(other, name) for name in fields if getattr(other, name) != getattr(key, name)}
                 for other in alike]  # fmt: skip
    texts = {"size": "this size was not measured there"}
    return ", ".join(texts.get(name, f"{name} is {value} there") for name, value in min(differing, key=len).items())


def pair_points(plan: Plan, root: Path, nodes: int, ranks: int) -> dict[Key, Point]:
    """Rows that stand for a run's pairs: there are thousands of single pairs, and these show how two runs differ."""
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    with closing(PairFile(root)) as file:
        for size, mode, launch in sorted({(piece.bytes, piece.mode, piece.number) for piece in file.pieces}):
            own = [piece for piece in file.pieces if (piece.bytes, piece.mode, piece.number) == (size, mode, launch)]
            every = file.read("median_s", own)
            times = every[np.isfinite(every)]
            for name, take in TAKEN.items() if len(times) else ():
                found.setdefault((name, mode, size), {})[launch] = float(take(times))
    shape, points = ("warm", nodes, ranks, None, None), dict[Key, Point]()
    for (name, mode, size), medians in found.items():
        key = Key(plan.kernel, f"{name}, {mode}@{size}", *shape, _under_way(plan, size))
        points[key] = Point((), "ok", "", medians, None, False)
    return points


def _under_way(plan: Plan, size: int) -> str:
    """What of a pair is under way at once and where, as JSON; empty for one message, which is another operation."""
    kinds = [
        {"places": "apart"} | {key: of[key] for key in ("window", "window_bytes", "places") if key in of}
        if "window" in of
        else {"both_ways": True}
        for of in (cell.parameters for cell in plan.measured)
        if "window" in of or size >= of.get("both_ways", math.inf)
    ]
    return max((json.dumps(kind, sort_keys=True) for kind in kinds), default="")


def side_of(root: Path, plan: Plan, name: str, mpi: str) -> Side:
    """Read one side of a comparison from a run. Raises DataError: a table is missing or incomplete."""
    rows: Sequence[CallRow] = ()
    if kernel_named(plan.kernel).has_pair_samples:
        nodes, ranks = (max(getattr(cell, key) for cell in plan.measured) for key in ("nodes", "ranks"))
        points = pair_points(plan, root, nodes, ranks)
    else:
        parameters = {cell.id: cell.parameters for cell in plan.cells}
        rows = CALLS.read(root)
        points = points_of(rows, MEDIANS.read(root), parameters, Floor(FLOOR.read(root)))
    omitted = effects_left_out(plan, rows) if any(point.span_s for point in points.values()) else ()
    assumed, stated = (model_numbers(plan.planned_fabric, assumed=each) for each in (True, False))
    where = (str(root), plan.study, plan.fabric, plan.fabric_kind, mpi)
    return Side(name, *where, plan.measure.precision, points, omitted, assumed, stated)


def model_numbers(fabric: Fabric, *, assumed: bool) -> dict[str, float]:
    """Numbers of a model's fabric by key, those that are assumed or the others; empty where nothing is modelled."""
    found = [(each.key, number_of(fabric, each.key)) for each in SPREADS] if fabric.is_model else []
    return {key: value for key, value in found if value is not None and (standing(fabric, key) == "assumed") is assumed}


def effects_left_out(plan: Plan, rows: Sequence[CallRow]) -> tuple[str, ...]:
    """What the model of a plan's fabric leaves out of its calls and of those in ``rows``, a barrier among them."""
    found: set[str] = set()
    for cell in plan.cells:
        planned = {*cell.bounds, *kernel_named(cell.kernel).operations(cell.parameters, cell.ranks)}
        for call in planned | {row["call"] for row in rows if row["cell"] == cell.id}:
            found |= {effect.cause for effect in left_out(cell, call, plan.planned_fabric, math.inf)}
    return tuple(sorted(found))
