# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs and sizes slower than their double as findings: where, by how much, and which knob to set."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from weft.analyse.checks import make_finding
from weft.analyse.tables.answers import ChangeRow, FindingRow, SlowerRow, cause_text, factor_text
from weft.analyse.tables.sweeps import TrialRow
from weft.analyse.thresholds.trials import is_of
from weft.format import distinct_seconds, exact_bytes, measured_factor
from weft.kernel.sizes import cell_place, line_name
from weft.plan.records import Cell


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


Cells = Mapping[str, Cell]
Trials = Sequence[TrialRow]
Changes = Sequence[ChangeRow]
CURE = "the library switches protocol or algorithm too late here: check its eager limit and its thresholds"


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
    """What to try where a size takes longer than its double."""
    if not modelled:
        return CURE
    for each in changes:
        near = row["size"] <= each["lower"] and each["upper"] <= row["double"]
        if near and each["algorithm_after"] and (each["cell"], each["call"]) == (row["cell"], row["call"]):
            return f"{cause_text(each)} between them: {_selector(each)}"
    return "the model changes its costs between them: see network.segments and network.eager_limit of the fabric file"


def _where(row: ChangeRow | SlowerRow, cells: Cells) -> str:
    cell = cells[row["cell"]]
    place = cell_place(row["nodes"], row["ranks"], cell.oversubscribed)
    return f"{line_name(row['call'], cell.parameters)}, {place}"
