# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm of a collective wins where, which guidelines a library violates, and what hides: over launches.

Algorithms are held against the library's own choice by launches' medians, p corrected for their number (Holm, 1979):
of nine that are alike one is the fastest by chance. A call and what it is held against are measured in turns, and the
logarithm of the ratio of their medians is one value a launch. A guideline is violated if the mean ratio exceeds
`MATTERS` (a mock-up may copy less, and nobody would replace a call for less) by Yuen's t; all guidelines of a run
together have an error of `FAMILY` (Holm).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, sqrt
from statistics import mean, median, variance
from typing import Literal

from weft.analyse.checks import make_finding
from weft.analyse.doubts import by_launch
from weft.analyse.statistics import interval
from weft.analyse.tables import answers
from weft.analyse.tables.answers import FEWEST_LAUNCHES, MATTERS, FindingRow, GuidelineRow, OverlapRow, WinnerRow
from weft.analyse.tables.breakdown import TurnRow
from weft.analyse.tables.times import CallRow, MedianRow, TimedRow, reach, timed
from weft.format import plural
from weft.kernel.sizes import in_all, split_op
from weft.kernel.steps import WHOLE
from weft.mpi.algorithms import DEFAULT, FEWER
from weft.plan.records import Cell
from weft.store.tables import grouped

Way = Literal["wait", "test", "persistent"]
#: The step of the kernel that each way is measured by.
WAYS: Mapping[Way, str] = {"wait": "hidden", "test": "tested", "persistent": "persistent"}
LEAST_WIN = 0.95  # a win by less is no reason to set a knob
ALPHA = 0.05
#: Launches that differ by less than this, relative, do so by luck: rounding to nanoseconds alone makes as much.
LEAST_SCATTER = 1e-3
Group = dict[str, dict[int, TimedRow]]  # algorithm -> size in bytes -> its row
Launches = Sequence[Mapping[str, float]]  # seconds of each step
Medians = Mapping[tuple[str, str], Sequence[float]]  # cell and call -> medians of its launches in seconds


def guideline_rows(turns: Iterable[TurnRow], cells: Mapping[str, Cell]) -> list[GuidelineRow]:
    """A row for each guideline and size of the cells that measured some, in their order."""
    rows = [
        row
        for cell, size, launches in _measured(turns, cells, "guidelines")
        for guideline in cell.parameters["guidelines"]
        if (row := _guideline_row(cell, size, launches, guideline))
    ]
    for row, chance in zip(rows, interval.adjust_by_holm([row["chance"] for row in rows]), strict=True):
        row["chance"] = chance
        row["violated"] = chance <= interval.FAMILY and row["launches"] >= answers.GUIDELINE_LAUNCHES
    return rows


def overlap_rows(turns: Iterable[TurnRow], cells: Mapping[str, Cell]) -> list[OverlapRow]:
    """A row for each size and way of the cells that measured how much of a call hides, in their order."""
    return [row for of in _measured(turns, cells, "overlap") for way in WAYS if (row := _overlap(*of, way))]


def _overlap(cell: Cell, size: int, launches: Launches, way: Way) -> OverlapRow | None:
    whole = [each for each in launches if each.keys() >= {"alone", "compute", WAYS[way]}]
    if len(whole) < 2:
        return None
    beside = "compute" if way != "persistent" else None
    shares = [((each[beside] if beside else 0.0) + each["alone"] - each[WAYS[way]]) / each["alone"] for each in whole]
    share = interval.trimmed_mean(shares)
    width = interval.student_quantile((1 + interval.CONFIDENCE) / 2, share.freedom) * share.error
    return OverlapRow(
        cell=cell.id, collective=str(cell.parameters["collective"]), way=way, thread="progress" in cell.parameters,
        nodes=cell.nodes, ranks=cell.ranks, bytes=size, launches=len(whole),
        alone_s=median(each["alone"] for each in whole), share=share.value, low=share.value - width,
        high=share.value + width,
    )  # fmt: skip


def _measured(turns: Iterable[TurnRow], cells: Mapping[str, Cell], key: str) -> list[tuple[Cell, int, Launches]]:
    """Calls with their bytes, and the seconds of each step in each of their launches."""
    asked = (turn for turn in turns if cells[turn["cell"]].parameters.get(key))
    calls = [
        (cells[cell], split_op(call)[1] or 0, [{turn["step"]: turn["total_s"] for turn in each} for each in launches])
        for (cell, call), own in grouped(asked, lambda turn: (turn["cell"], turn["call"])).items()
        for launches in [grouped(own, lambda turn: turn["launch"]).values()]
    ]
    order = {name: place for place, name in enumerate(cells)}
    return sorted(calls, key=lambda of: (order[of[0].id], of[1]))


def _guideline_row(cell: Cell, size: int, launches: Launches, guideline: str) -> GuidelineRow | None:
    first, second = (guideline, WHOLE) if guideline == FEWER else (WHOLE, guideline)
    pairs = [(each[first], each[second]) for each in launches if each.keys() >= {first, second}]
    if len(pairs) < 2:
        return None
    mean = interval.trimmed_mean([log(one / other) for one, other in pairs])
    width = interval.student_quantile((1 + interval.CONFIDENCE) / 2, mean.freedom) * mean.error
    return GuidelineRow(
        cell=cell.id, collective=str(cell.parameters["collective"]), guideline=guideline, nodes=cell.nodes,
        ranks=cell.ranks, bytes=size, launches=len(pairs), seconds=median(one for one, _ in pairs),
        rival_s=median(other for _, other in pairs), factor=exp(mean.value), low=exp(mean.value - width),
        high=exp(mean.value + width), chance=interval.paired_test(mean, log(MATTERS)), violated=False,
    )  # fmt: skip


def winners(
    rows: Iterable[CallRow], medians: Iterable[MedianRow], cells: Sequence[Cell], *, modelled: bool = False
) -> list[WinnerRow]:
    """The winner of each call, shape and size for which the default and another algorithm were measured. It is shown to
    be faster (`faster`), at most `LEAST_WIN` of the time; no row under `FEWEST_LAUNCHES` launches.
    """
    of_call = {key: [each["median_s"] for each in own.values()] for key, own in by_launch(medians).items()}
    return [
        _winner(call, size, found, of_call, modelled=modelled)
        for (call, _, _), group in _groups(rows, cells).items()
        for size, found in _shared(group)
        if modelled or _launches(found) >= FEWEST_LAUNCHES
    ]


def unjudged(rows: Iterable[CallRow], cells: Sequence[Cell]) -> list[FindingRow]:
    """A note for each call whose algorithms were measured in too few launches to name a winner."""
    found: list[FindingRow] = []
    for (call, nodes, ranks), group in _groups(rows, cells).items():
        fewest = min((_launches(each) for _, each in _shared(group)), default=FEWEST_LAUNCHES)
        if fewest < FEWEST_LAUNCHES:
            launches = {"launches": plural(fewest, "launch"), "fewest": FEWEST_LAUNCHES}
            found.append(make_finding("few-launches", f"{call}, N = {nodes}, p = {ranks}", **launches))
    return found


def _groups(rows: Iterable[CallRow], cells: Sequence[Cell]) -> dict[tuple[str, int, int], Group]:
    algorithms = {cell.id: str(cell.parameters.get("algorithm", DEFAULT)) for cell in cells}
    order = {name: place for place, name in enumerate(algorithms)}
    groups: dict[tuple[str, int, int], Group] = defaultdict(lambda: defaultdict(dict))
    for row in sorted(timed(rows, phase="warm"), key=lambda row: order[row["cell"]]):
        name, size = split_op(row["call"])
        if size is not None:
            groups[name, row["nodes"], row["ranks"]][algorithms[row["cell"]]][size] = row
    return {key: group for key, group in groups.items() if DEFAULT in group and len(group) > 1}


def _shared(group: Group) -> list[tuple[int, dict[str, TimedRow]]]:
    """Sizes that all algorithms have: one that refinement added to one of them would be won without the others."""
    return [(size, {name: own[size] for name, own in group.items()}) for size in sorted(in_all(group.values()))]


def _launches(rows: Mapping[str, TimedRow]) -> int:
    return min(row["launches"] for row in rows.values())


def _winner(name: str, size: int, rows: Mapping[str, TimedRow], medians: Medians, *, modelled: bool) -> WinnerRow:
    """The fastest of those shown to be faster, if it takes at most `LEAST_WIN` of the default's time; else that."""
    own = rows[DEFAULT]
    shown: Iterable[str] = rows
    if not modelled:
        others = {each: medians[row["cell"], row["call"]] for each, row in rows.items() if each != DEFAULT}
        shown = faster(medians[own["cell"], own["call"]], others)
    beaten = [each for each in shown if rows[each]["median_s"] <= LEAST_WIN * own["median_s"]]
    best = min(beaten, key=lambda each: rows[each]["median_s"], default=DEFAULT)
    ratio = rows[best]["median_s"] / own["median_s"]
    (low, high), (own_low, own_high) = reach(rows[best]), reach(own)
    ends = (None, None) if best == DEFAULT else (ratio, ratio) if modelled else (low / own_high, high / own_low)
    return WinnerRow(
        call=name, nodes=own["nodes"], ranks=own["ranks"], bytes=size, algorithm=best,
        median_s=rows[best]["median_s"], default_s=own["median_s"], ratio=ratio, low=ends[0], high=ends[1],
    )  # fmt: skip


def faster(own: Sequence[float], others: Mapping[str, Sequence[float]]) -> list[str]:
    """Names of those shown to be faster: by a rank test alone, and by Student's t of logarithms, corrected (Holm). Four
    launches against four cannot reach 5 % / 9 by ranks. ``own``: seconds of the library's own choice.
    """
    found: list[str] = []
    ordered = sorted(others, key=lambda name: _student(own, others[name])[0], reverse=True)
    for place, name in enumerate(ordered):
        t, freedom = _student(own, others[name])
        if t <= interval.student_quantile(1 - ALPHA / 2 / (len(ordered) - place), freedom):
            break
        if interval.rank_test(own, others[name]) <= ALPHA:
            found.append(name)
    return found


def _student(own: Sequence[float], other: Sequence[float]) -> tuple[float, int]:
    """Student's t of the means of logarithms, positive where ``other`` is faster, and its degrees of freedom."""
    sides = [[log(value) for value in side] for side in (own, other)]
    freedom = len(own) + len(other) - 2
    scatter = sum(variance(side) * (len(side) - 1) for side in sides) / freedom
    error = sqrt(max(scatter, LEAST_SCATTER**2) * (1 / len(own) + 1 / len(other)))
    return (mean(sides[0]) - mean(sides[1])) / error, freedom
