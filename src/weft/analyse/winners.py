# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm wins where: those of a collective against each other and against the library's own choice.

Each algorithm is held against the library's own choice by the medians of their launches. Of nine algorithms that are
all alike, one is the fastest by chance; so p is corrected for their number (Holm, 1979).
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from statistics import mean, variance

from weft.analyse.checks import finding
from weft.analyse.scaling import FEWEST_LAUNCHES
from weft.analyse.statistics.interval import student_quantile
from weft.analyse.statistics.significance import rank_test
from weft.analyse.tables.answers import FindingRow, WinnerRow
from weft.analyse.tables.times import CallRow, MedianRow, TimedRow, reach, timed
from weft.format import plural
from weft.kernel.sizes import in_all, split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Cell

#: A win by less is no reason to set a knob.
LEAST_WIN = 0.95
ALPHA = 0.05
#: Launches that differ by less than this, relative, do so by luck: rounding to nanoseconds alone makes as much.
LEAST_SCATTER = 1e-3
#: Algorithm -> size in bytes -> its row.
Group = dict[str, dict[int, TimedRow]]
Shape = tuple[str, int, int]
#: Cell and call -> medians of its launches in seconds.
Medians = Mapping[tuple[str, str], Sequence[float]]


def winners(
    rows: Iterable[CallRow], medians: Iterable[MedianRow], cells: Sequence[Cell], *, modelled: bool = False
) -> list[WinnerRow]:
    """The winner of each call, shape and size for which the default and another algorithm were measured.

    An algorithm wins over the library's own choice only where its launches are shown to be faster (`faster`) and it
    takes at most `LEAST_WIN` of the time. Where an algorithm has under `FEWEST_LAUNCHES` launches there is no row.
    """
    of_call: dict[tuple[str, str], list[float]] = {}
    for row in medians:
        if row["phase"] == "warm":
            of_call.setdefault((row["cell"], row["call"]), []).append(row["median_s"])
    return [
        _modelled_winner(call, size, found) if modelled else _winner(call, size, found, of_call)
        for (call, _, _), group in _groups(rows, cells).items()
        for size, found in _shared(group)
        if modelled or _launches(found) >= FEWEST_LAUNCHES
    ]


def unjudged(rows: Iterable[CallRow], cells: Sequence[Cell]) -> list[FindingRow]:
    """A note for each call whose algorithms were measured in too few launches to name a winner."""
    found: list[FindingRow] = []
    for (call, nodes, ranks), group in _groups(rows, cells).items():
        launches = min((_launches(each) for _, each in _shared(group)), default=FEWEST_LAUNCHES)
        if launches < FEWEST_LAUNCHES:
            what = f"{plural(launches, 'launch')}, {FEWEST_LAUNCHES} needed to name a winner at every size"
            remedy = f"set launches in [measure] to {FEWEST_LAUNCHES} or more"
            found.append(finding("note", "few-launches", f"{call}, N = {nodes}, p = {ranks}", what, remedy))
    return found


def _groups(rows: Iterable[CallRow], cells: Sequence[Cell]) -> dict[Shape, Group]:
    """Calls and shapes that were measured under the default and other algorithms."""
    algorithms = {cell.id: str(cell.parameters.get("algorithm", DEFAULT)) for cell in cells}
    order = {name: place for place, name in enumerate(algorithms)}
    groups: dict[Shape, Group] = {}
    for row in sorted(timed(rows, phase="warm"), key=lambda row: order[row["cell"]]):
        name, size = split_op(row["call"])
        if size is not None:
            own = groups.setdefault((name, row["nodes"], row["ranks"]), {})
            own.setdefault(algorithms[row["cell"]], {})[size] = row
    return {key: group for key, group in groups.items() if DEFAULT in group and len(group) > 1}


def _shared(group: Group) -> list[tuple[int, dict[str, TimedRow]]]:
    """Sizes that all algorithms have: one that refinement added to one of them would be won without the others."""
    sizes = sorted(in_all(group.values()))
    return [(size, {name: own[size] for name, own in group.items()}) for size in sizes]


def _launches(rows: Mapping[str, TimedRow]) -> int:
    return min(row["launches"] for row in rows.values())


def _winner(name: str, size: int, rows: Mapping[str, TimedRow], medians: Medians) -> WinnerRow:
    own = rows[DEFAULT]
    others = {each: medians[row["cell"], row["call"]] for each, row in rows.items() if each != DEFAULT}
    shown = faster(medians[own["cell"], own["call"]], others)
    best = _best(rows, shown)
    (low, high), (own_low, own_high) = reach(rows[best]), reach(own)
    return _row(name, size, rows, best, (low / own_high, high / own_low))


def _modelled_winner(name: str, size: int, rows: Mapping[str, TimedRow]) -> WinnerRow:
    best = _best(rows, rows)
    ratio = rows[best]["median_s"] / rows[DEFAULT]["median_s"]
    return _row(name, size, rows, best, (ratio, ratio))


def _row(name: str, size: int, rows: Mapping[str, TimedRow], best: str, ends: tuple[float, float]) -> WinnerRow:
    """The row of a winner; ``ends`` are those of the interval of its ratio, which the default has none of."""
    own = rows[DEFAULT]
    low, high = (None, None) if best == DEFAULT else ends
    return WinnerRow(
        call=name, nodes=own["nodes"], ranks=own["ranks"], bytes=size, algorithm=best,
        median_s=rows[best]["median_s"], default_s=own["median_s"], ratio=rows[best]["median_s"] / own["median_s"],
        low=low, high=high,
    )  # fmt: skip


def _best(rows: Mapping[str, TimedRow], shown: Iterable[str]) -> str:
    """The fastest of some algorithms, if it takes at most `LEAST_WIN` of the default's time; else the default."""
    most = LEAST_WIN * rows[DEFAULT]["median_s"]
    beaten = [each for each in shown if rows[each]["median_s"] <= most]
    return min(beaten, key=lambda each: rows[each]["median_s"], default=DEFAULT)


def faster(own: Sequence[float], others: Mapping[str, Sequence[float]]) -> list[str]:
    """Names of those that are shown to be faster: by a rank test alone, and by Student's t corrected for their number.

    Four launches against four cannot reach 5 % / 9 by ranks, whatever they show; so ranks have to say it of each alone,
    and the means of the logarithms of all together (Holm's step-down, two-sided). `own`: medians of the launches of the
    library's own choice, in seconds.
    """
    found: list[str] = []
    ordered = sorted(others, key=lambda name: _student(own, others[name])[0], reverse=True)
    for place, name in enumerate(ordered):
        t, freedom = _student(own, others[name])
        if t <= student_quantile(1 - ALPHA / 2 / (len(ordered) - place), freedom):
            break
        if rank_test(own, others[name]) <= ALPHA:
            found.append(name)
    return found


def _student(own: Sequence[float], other: Sequence[float]) -> tuple[float, int]:
    """Student's t of the means of logarithms, positive where ``other`` is faster, and its degrees of freedom."""
    sides = [[log(value) for value in side] for side in (own, other)]
    freedom = len(own) + len(other) - 2
    scatter = sum(variance(side) * (len(side) - 1) for side in sides) / freedom
    error = sqrt(max(scatter, LEAST_SCATTER**2) * (1 / len(own) + 1 / len(other)))
    return (mean(sides[0]) - mean(sides[1])) / error, freedom
