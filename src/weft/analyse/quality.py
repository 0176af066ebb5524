# SPDX-License-Identifier: BSD-3-Clause
"""The quality of a run, A to D, from what it recorded (METHOD 20): the rules stand in `RULES` and nowhere else.

Each doubt is counted as the share of what it touches: warm rows, or cells in one launch. A rule says from which share
on the run is no better than B, C or D; its quality is the worst of its doubts, so that a further one never raises it.
Where a verdict answers, whose interval is its own, a doubt in `WEIGHED` costs no more than a B unless it could turn
that answer (`weft.analyse.doubts`); one that could leaves a C at best.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import TypeVar

from weft.analyse import checks
from weft.analyse.doubts import OF_RULE, by_launch
from weft.analyse.floor import Floor
from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.claims import Doubt, Grade, QualityRow, Rule
from weft.analyse.tables.times import CallRow, MedianRow, TimedRow, is_refuted, timed
from weft.fabric.model import Fabric
from weft.fabric.numbers import fitted_numbers, leave_out_error
from weft.store.folder import DISTURBS, Look
from weft.store.rows import MeasuredRow

#: Launches of a row disagree if their medians differ by more than this factor. Beyond `TWICE` a share of the rows is
#: enough for C and D; of launches that differ ten- or a hundredfold, one row is.
DISAGREE, TWICE, TENFOLD, HUNDREDFOLD = 1.25, 2.0, 10.0, 100.0
TWICE_C, TWICE_D = 0.1, 0.5
NEVER = float("inf")
#: What a verdict's own interval counts, what its points are free of, and what can only have lengthened them.
WEIGHED: frozenset[Doubt] = frozenset(
    {"launches", "precision", "floor", "oversubscribed", "steal", "swap", "core", "load", "lost"}
)
Item = TypeVar("Item")
#: The order is that of gravity between doubts of the same grade. Load is a hint: what was lost during samples decides.
RULES: dict[Doubt, Rule] = {
    "wrong": Rule(0, 0, 0.1), "failed": Rule(0, 0.5, 0.9), "bound": Rule(0, 0.1, 0.5), "model": Rule(0, 0, NEVER),
    "latency": Rule(0, 0, NEVER), "launches": Rule(0, 0.5, NEVER), "floor": Rule(0, 0.1, 0.5),
    "steal": Rule(0, 0.1, 0.5), "swap": Rule(0, 0.1, 0.5), "core": Rule(0, 0.1, 0.5), "host": Rule(0, 0.1, 0.5),
    "lost": Rule(0, 0.5, NEVER), "oversubscribed": Rule(0, 0.5, 1), "load": Rule(DISTURBS, NEVER, NEVER),
    "precision": Rule(0, NEVER, NEVER), "kernel": Rule(0, 0.5, NEVER), "fitted": Rule(0, NEVER, NEVER),
    "trace": Rule(0, NEVER, NEVER),
}  # fmt: skip
#: Statuses that are no failures: what does not fit is a result, and what is planned comes later.
RESULTS = frozenset({"ok", "memory", "fabric", "bound", "planned"})


def quality(
    rows: Sequence[CallRow],
    measured: Sequence[MeasuredRow],
    floor: Floor,
    precision: float,
    looks: Sequence[Look] = (),
    *,
    medians: Iterable[MedianRow] = (),
    answer: VerdictRow | None = None,
    modelled: bool = False,
    crowded: frozenset[str] = frozenset(),
    stands: frozenset[Doubt] = frozenset(),
    fabric: Fabric | None = None,
    inherited: Sequence[tuple[Grade, str]] = (),
    latency: float | None = None,
) -> list[QualityRow]:
    """The doubts about a run, gravest first; a model has none of those that only a machine can raise."""
    warm = timed(rows, phase="warm")
    fair = [row for row in warm if row["cell"] not in crowded]
    lost = [row for row in rows if row["phase"] in ("warm", "")]
    found = [
        _counted("wrong", lambda row: any(each["level"] == "error" for each in checks.self_checks([row])), fair),
        _counted("bound", is_refuted, fair),
        _counted("floor", lambda row: bool(checks.below_floor([row], floor)), fair),
        _counted("oversubscribed", lambda row: row["cell"] in crowded, warm),
        _counted("failed", lambda row: row["status"] not in RESULTS, lost),
    ]
    if not modelled:
        found += _of_machine(fair, [row for row in measured if row["cell"] not in crowded], precision, medians)
    elif fabric is not None:
        found.append(doubt_model(fabric))
    if looks and not modelled:
        found.append(_doubt("load", round(100 * max(look.share for look in looks)), 100, "% of the cores"))
    if latency is not None and (row := _doubt("latency", 1, 1, "fabric file")):
        found.append({**row, "worst": latency})
    if inherited and (row := _doubt("trace", len(inherited), len(inherited), max(inherited)[1])):
        found.append({**row, "grade": max(inherited)[0]})
    order = list(RULES)
    weighed = _weighed([row for row in found if row is not None], answer, stands)
    return sorted(weighed, key=lambda row: (-ord(row["grade"]), order.index(row["doubt"])))


def _weighed(found: Sequence[QualityRow], answer: VerdictRow | None, stands: frozenset[Doubt]) -> list[QualityRow]:
    """Doubts by what they could do to the answer of a run, if a verdict gives it, or what `stands` against them."""
    if answer is None:
        return [{**row, "grade": min(row["grade"], "B") if row["doubt"] in stands else row["grade"]} for row in found]
    weighed: list[QualityRow] = [
        {**row, "grade": min(row["grade"], "B") if row["doubt"] in WEIGHED else row["grade"]}
        for row in found
        if row["doubt"] not in answer["doubts"]
    ]
    by_kind = {row["doubt"]: row for row in found}
    for doubt in answer["doubts"]:
        one = QualityRow(doubt=doubt, grade="C", count=1, of=2, share=0.5, noun="", worst=None, launches=None, turns="")
        row = by_kind.get(doubt, one)
        weighed.append({**row, "grade": max(row["grade"], "C"), "turns": answer["doubt"]})
    return weighed


def _of_machine(
    warm: Sequence[TimedRow], cells: Sequence[MeasuredRow], precision: float, medians: Iterable[MedianRow]
) -> list[QualityRow | None]:
    """The doubts about rows that only a machine leaves, and those that it recorded about a cell in one launch."""
    launches = by_launch(medians)

    def lost(row: TimedRow) -> bool:
        """Whether the median may be shorter by more than was asked without what its samples lost."""
        least = [each["least_s"] for each in launches.get((row["cell"], row["call"]), {}).values()]
        if not least:
            return row["disturbed"] > checks.DISTURBED_ROWS * row["samples"]
        return median(least) < (1 - precision) * row["median_s"]

    by_rule: dict[Doubt, Callable[[MeasuredRow], bool]] = {
        # steal moves a median by twice its share at most (weft.analyse.doubts)
        "steal": lambda row: 2 * checks.share_of_steal(row) > precision,
        "swap": lambda row: bool(checks.swapped_pages(row)),
        "core": lambda row: "core" in _warned_of(row),
        "host": lambda row: "host" in _warned_of(row),
        "kernel": lambda row: "kernel" in _warned_of(row),
    }
    return [
        _counted("lost", lost, warm),
        _counted("precision", lambda row: checks.half_width(row) > precision, warm),
        _launches(warm),
        *(_counted(doubt, touched, cells, "cells and launches") for doubt, touched in by_rule.items()),
    ]


def _warned_of(row: MeasuredRow) -> set[Doubt]:
    return {OF_RULE[checks.recorded_warning("", text)["rule"]] for text in row["warnings"] or []}


def _counted(
    doubt: Doubt, touched: Callable[[Item], bool], rows: Sequence[Item], noun: str = "rows"
) -> QualityRow | None:
    return _doubt(doubt, sum(map(touched, rows)), len(rows), noun)


def _doubt(doubt: Doubt, count: int, of: int, noun: str) -> QualityRow | None:
    """A doubt by the share of what it touches; None where it touches too little."""
    share = count / of if of else 0.0
    row = QualityRow(
        doubt=doubt, grade=RULES[doubt].grade(share), count=count, of=of, share=share, noun=noun, worst=None,
        launches=None, turns="",
    )  # fmt: skip
    return row if row["grade"] > "A" else None


def doubt_model(fabric: Fabric) -> QualityRow | None:
    """A model is no better than the numbers that were fitted to its machine."""
    fitted = fitted_numbers(fabric)
    row = _doubt("fitted" if fitted else "model", 1, 1, "fabric file")
    if row is not None and fitted:
        row["worst"] = leave_out_error(fabric)
    return row


def _launches(warm: Sequence[TimedRow]) -> QualityRow | None:
    apart = [row["launch_high_s"] / row["launch_low_s"] for row in warm if row["launch_low_s"]]
    found = _counted("launches", lambda factor: factor > DISAGREE, apart)
    if found is None:
        return None
    most, share = max(apart), sum(factor > TWICE for factor in apart) / len(apart)
    least: Grade = "C" if most >= TENFOLD or share >= TWICE_C else "B"
    found["grade"] = max(found["grade"], "D" if most >= HUNDREDFOLD or share >= TWICE_D else least)
    found["worst"], found["launches"] = most, checks.more_launches(max(row["launches"] for row in warm))
    return found
