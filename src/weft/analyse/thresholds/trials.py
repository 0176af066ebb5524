# SPDX-License-Identifier: BSD-3-Clause
r"""Whether a change-over moved with a knob (METHOD 18), and the findings about change-overs.

In each round k of launches one launch has the knob as it was, another has it moved; r_k(s) is the logarithm of the
ratio of their times at size s. Whatever else differs between the two, the knob is the cause only if r steps at both of
its values: by D_old at its old one, where the step of the change-over goes away, and back by D_new at its new one,

.. math:: D = \mathrm{med}_{s > v} r(s) - \mathrm{med}_{s < v} r(s).

Medians are over the three sizes next to v. *Confirmed*: the intervals of both over launches leave out 0, with opposite
signs, D_old takes away at least a third of the step that the launches with the knob as it was show there, and D_new is
at least as large as the least step that is reported. A knob without effect has D near 0 at both.
What a confirmed knob brings is the median of r between its two values and, where it was also moved far, between the
old one and that.
As in `weft.analyse.thresholds.series`, the fastest samples are used where they agree far better between rounds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple, cast

from weft.analyse.checks import make_finding
from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.analyse.tables.answers import ChangeRow, FindingRow, SlowerRow, cause_text, factor_text
from weft.analyse.tables.sweeps import Judgement, TrialRow
from weft.analyse.tables.times import MedianRow, may_be_half
from weft.analyse.thresholds.changes import LEAST_FACTOR
from weft.analyse.thresholds.knob import is_eager_limit
from weft.analyse.thresholds.series import QUIETER
from weft.format import distinct_seconds, exact_bytes, measured_factor
from weft.kernel.sizes import cell_place, line_name, op_name
from weft.plan.records import Cell, Plan
from weft.plan.trials import NEAR, Trial

GONE = 1 / 3  # share of the step at the old value that must go away
COLUMNS: tuple[Literal["median_s"], Literal["min_s"]] = ("median_s", "min_s")
FEWEST = 4  # rounds with both launches, at least
Known = Mapping[tuple[str, int], float]
Cells = Mapping[str, Cell]
Trials = Sequence[TrialRow]
Changes = Sequence[ChangeRow]
CURE = "the library switches protocol or algorithm too late here: check its eager limit and its thresholds"


class Steps(NamedTuple):
    """Logarithms in each round: D_old, D_new, times between the two values, and the step with the knob as it was."""

    old: list[float]
    new: list[float]
    between: list[float]
    usual: list[float]

    @property
    def scatter(self) -> float:
        """How far the rounds differ."""
        return sum(max(each) - min(each) for each in (self.old, self.new) if each)


def trial_rows(changes: Sequence[ChangeRow], plan: Plan, medians: Sequence[MedianRow]) -> list[TrialRow]:
    """What each moved knob did to its change-over."""
    asked = {cell.id: cell.parameters["trial"] for cell in plan.cells}
    usual = {each["cell"]: name for name, each in asked.items() if "knob" not in each and "far" not in each}
    far = {Trial(**each["far"]): name for name, each in asked.items() if isinstance(each.get("far"), dict)}
    found: list[TrialRow] = []
    for name, trial in ((name, Trial(**each)) for name, each in asked.items() if "knob" in each):
        if change := _change_of(trial, changes):
            plain = usual[trial.cell]
            away = far_ratios(trial, far[trial], plain, medians) if trial in far else []
            found.append(_judged(trial, change, quieter(trial, name, plain, medians), away))
    return found


def _change_of(trial: Trial, changes: Sequence[ChangeRow]) -> ChangeRow | None:
    """The change-over for which a knob was moved: more launches (``--more``) may have moved the ends of its gap."""
    own = [
        row
        for row in changes
        if (row["cell"], row["call"]) == (trial.cell, trial.call)
        and (trial.knob, trial.value) in zip(row["knobs"], row["knob_values"], strict=True)
    ]
    return max(own, key=lambda row: (row["lower"], row["upper"]) == (trial.lower, trial.upper), default=None)


def with_trials(changes: Sequence[ChangeRow], trials: Sequence[TrialRow]) -> list[ChangeRow]:
    """The change-overs with what is known of their knobs: a confirmed one becomes the first."""
    found = [change.copy() for change in changes]
    for judged in found:
        own = [trial for trial in trials if is_of(trial, judged)]
        judged["refuted"] = [trial["knob"] for trial in own if trial["outcome"] == "not confirmed"]
        first = next((trial["knob"] for trial in own if trial["outcome"] == "confirmed"), None)
        if first is not None:
            meaning = judged["knob_meaning"] if judged["knobs"][0] == first else ""
            knobs = sorted(zip(judged["knobs"], judged["knob_values"], strict=True), key=lambda knob: knob[0] != first)
            judged["knobs"], judged["knob_values"] = [name for name, _ in knobs], [value for _, value in knobs]
            judged["confirmed"], judged["knob_value"], judged["knob_meaning"] = first, knobs[0][1], meaning
            judged["eager_limit"] = is_eager_limit(first)
    return found


def is_of(trial: TrialRow, change: ChangeRow) -> bool:
    """Whether a knob was moved because of this change-over."""
    return (trial["cell"], trial["call"], trial["lower"], trial["upper"]) == (
        change["cell"], change["call"], change["lower"], change["upper"],
    )  # fmt: skip


def quieter(trial: Trial, moved: str, usual: str, medians: Sequence[MedianRow]) -> Steps:
    """The steps of medians, or of the fastest samples if these agree between rounds much better."""
    by_median, by_fastest = (
        steps_of(trial, times(medians, moved, column), times(medians, usual, column)) for column in COLUMNS
    )
    return by_fastest if by_fastest.old and by_fastest.scatter < QUIETER * by_median.scatter else by_median


def times(medians: Sequence[MedianRow], cell: str, column: Literal["median_s", "min_s"]) -> Known:
    """Call and launch -> logarithm of seconds, of one cell, warm, of which others took less than half (METHOD 11)."""
    warm = (row for row in medians if (row["cell"], row["phase"]) == (cell, "warm") and row[column] > 0)
    return {(row["call"], row["launch"]): math.log(row[column]) for row in warm if not may_be_half(row)}


def steps_of(trial: Trial, moved: Known, usual: Known) -> Steps:
    """The steps of a trial, in each round in which most sizes of each zone have a time in both launches."""
    zones = [[op_name(trial.call, size) for size in zone] for zone in trial.sizes]
    below, between, above = zones
    low, high = (below, between[:NEAR]), (between[-NEAR:], above)
    old, new = (low, high) if trial.value < trial.moved else (high, low)
    steps = Steps([], [], [], [])
    for launch in sorted({launch for _, launch in moved}):
        both = [call for zone in zones for call in zone if (call, launch) in moved and (call, launch) in usual]
        if any(2 * len(set(both).intersection(zone)) < len(zone) for zone in (*low, *high)):
            continue
        ratio = {call: moved[call, launch] - usual[call, launch] for call in both}
        steps.old.append(_rise(ratio, *old))
        steps.new.append(_rise(ratio, *new))
        steps.between.append(_middle(ratio, between))
        steps.usual.append(_rise({call: usual[call, launch] for call in both}, *old))
    return steps


def far_ratios(trial: Trial, moved: str, usual: str, medians: Sequence[MedianRow]) -> list[float]:
    """Logarithm of the ratio of times with the knob moved far, in each round in which most sizes have both."""
    calls = [op_name(trial.call, size) for size in trial.far_sizes]
    by_median, by_fastest = list[float](), list[float]()
    for column, ratios in zip(COLUMNS, (by_median, by_fastest), strict=True):
        away, plain = times(medians, moved, column), times(medians, usual, column)
        for launch in sorted({launch for _, launch in away}):
            both = [(call, launch) for call in calls if (call, launch) in away and (call, launch) in plain]
            if 2 * len(both) > len(calls):
                ratios.append(median(away[each] - plain[each] for each in both))
    quiet = by_fastest and max(by_fastest) - min(by_fastest) < QUIETER * (max(by_median) - min(by_median))
    return by_fastest if quiet else by_median


def _rise(logs: Mapping[str, float], before: Sequence[str], after: Sequence[str]) -> float:
    return _middle(logs, after) - _middle(logs, before)


def _middle(logs: Mapping[str, float], calls: Sequence[str]) -> float:
    return median(logs[call] for call in calls if call in logs)


def _judged(trial: Trial, change: ChangeRow, steps: Steps, away: Sequence[float]) -> TrialRow:
    away = away if len(away) >= FEWEST else ()
    known = {"old": steps.old, "new": steps.new, "ratio": steps.between, "far_ratio": away}
    ends = {name: interval_over_launches(each, NO_INTERVAL) if each else NO_INTERVAL for name, each in known.items()}
    factors: dict[str, Any] = {name: math.exp(median(each)) if each else None for name, each in known.items()}
    for name, (low, high, *_) in ends.items():
        factors[f"{name}_low"] = None if low is None else math.exp(low)
        factors[f"{name}_high"] = None if high is None else math.exp(high)
    outcome, why = _outcome(trial, steps, (ends["old"], ends["new"]))
    sizes, at = trial.sizes[1], trial.far_sizes if away else ()
    return TrialRow(
        cell=change["cell"], call=change["call"], nodes=change["nodes"], ranks=change["ranks"], lower=change["lower"],
        upper=change["upper"], knob=trial.knob, value=trial.value, moved=trial.moved, outcome=outcome,
        setting=assignments(trial.setting), rounds=len(steps.old), first=sizes[0], last=sizes[-1], why=why,
        far=trial.far or None, far_setting=assignments(trial.far_setting) if trial.far else "",
        far_first=at[0] if at else None, far_last=at[-1] if at else None, **factors,
    )  # fmt: skip


def _outcome(trial: Trial, steps: Steps, intervals: tuple[Interval, Interval]) -> tuple[Judgement, str]:
    if len(steps.old) < FEWEST:
        return "not measured", f"{len(steps.old)} rounds were measured, at least {FEWEST} are needed"
    old, new, step = median(steps.old), median(steps.new), median(steps.usual)
    at_old, at_new = exact_bytes(trial.value), exact_bytes(trial.moved)
    if not (_shows(intervals[0]) and old * step < 0 and abs(old) >= GONE * abs(step)):
        return "not confirmed", f"the step at {at_old} stayed"
    if not (_shows(intervals[1]) and old * new < 0 and abs(new) >= math.log(LEAST_FACTOR)):
        return "not confirmed", f"the step at {at_old} went, but none came at {at_new}"
    return "confirmed", f"the step went from {at_old} to {at_new}"


def assignments(variables: Mapping[str, str]) -> str:
    """``NAME=VALUE`` for each variable."""
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _shows(interval: Interval) -> bool:
    return interval.low is not None and interval.high is not None and not interval.low <= 0 <= interval.high


class Gain(NamedTuple):
    """Time with a knob set over that without, for sizes from `first` to `last` bytes, with its interval."""

    setting: str
    first: int
    last: int
    ratio: float
    low: float
    high: float


def gain_text(trial: TrialRow) -> str:
    """What moving a confirmed knob brings, with the line that sets it: far, if that is faster, else close by."""
    found = gains(trial)
    setting, first, last, ratio, low, high = next((each for each in found if each.high < 1), found[-1])
    span = f"{exact_bytes(first)} to {exact_bytes(last)}"
    factor = measured_factor(ratio, low, high)
    if high < 1:
        return f"with {setting} sizes from {span} take {factor} of the time: set it"
    if low > 1:
        return f"with {setting} sizes from {span} take {factor} times as long: leave it"
    return f"with {setting} no difference is shown from {span}"


def gains(trial: TrialRow) -> list[Gain]:
    """What a moved knob did to the times: far, where that was measured, and close by."""
    known = cast("dict[str, Any]", trial)
    columns = ("setting", "first", "last", "ratio", "ratio_low", "ratio_high")
    each = ([known[f"{far}{column}"] for column in columns] for far in ("far_", ""))
    return [Gain(*values) for values in each if None not in values]


def protocol_findings(
    changes: Changes, slower: Iterable[SlowerRow], cells: Cells, trials: Trials = (), *, modelled: bool = False
) -> list[FindingRow]:
    """A note for each jump and each size slower than its double; bends appear only in the table."""
    found: list[FindingRow] = []
    for row in changes:
        if row["kind"] == "jump":
            span = f"between {exact_bytes(row['lower'])} and {exact_bytes(row['upper'])}"
            times = " to ".join(distinct_seconds(row["lower_s"], row["upper_s"]))
            against = f"{factor_text(row)} times what the smaller sizes lead to expect there"
            words = {"step": f"{span} the time goes from {times}: {against}", "cause": cause_text(row)}
            found.append(make_finding("change-over", _where(row, cells), **words, remedy=remedy(row, trials)))
    for row in slower:
        seconds, double_seconds = distinct_seconds(row["seconds"], row["double_seconds"])
        words = {"size": exact_bytes(row["size"]), "double": exact_bytes(row["double"]), "seconds": seconds}
        words |= {"double_seconds": double_seconds, "remedy": _cure(row, changes, modelled)}
        found.append(make_finding("slower-than-double", _where(row, cells), **words))
    return found


def remedy(row: ChangeRow, trials: Trials = ()) -> str:
    """Which knob to change."""
    if row["algorithm_after"]:
        return _selector(row)
    own = next((each for each in trials if is_of(each, row) and each["knob"] == row["confirmed"]), None)
    if own is not None:
        return gain_text(own)
    if row["refuted"]:
        return "look for other thresholds in the library's manual: the step did not move with these"
    if row["knobs"]:
        return (
            f"{row['knobs'][0]}: {row['knob_meaning']}; none is confirmed: the same weft run with --into RUN --confirm "
            "moves each in fresh launches, and tells what it brings"
        )
    return f"try {row['usual_knob']}" if row["usual_knob"] else "look for thresholds in the library's manual"


def _selector(row: ChangeRow) -> str:
    """The keys of a fabric file that decide which algorithm a simulated call takes."""
    better = row["algorithm_before"] if (row["factor"] or 0) > 1 else row["algorithm_after"]
    return (
        f'simulation.algorithms = {{ {row["call"].partition("-")[0]} = "{better}" }} in the fabric file takes that one '
        "at every size; simulation.collectives says whose selector chooses"
    )


def _cure(row: SlowerRow, changes: Changes, modelled: bool) -> str:
    if not modelled:
        return CURE
    for each in changes:
        near = row["size"] <= each["lower"] and each["upper"] <= row["double"]
        if near and each["algorithm_after"] and (each["cell"], each["call"]) == (row["cell"], row["call"]):
            return f"{cause_text(each)} between them: {_selector(each)}"
    return "the model changes its costs between them: see network.segments and network.eager_limit of the fabric file"


def _where(row: ChangeRow | SlowerRow, cells: Cells) -> str:
    cell = cells[row["cell"]]
    return f"{line_name(row['call'], cell.parameters)}, {cell_place(row['nodes'], row['ranks'], cell.oversubscribed)}"
