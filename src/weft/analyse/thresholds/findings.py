# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs and sizes slower than their double as findings: where, by how much, and which knob to set."""

from collections.abc import Iterable, Mapping, Sequence

from weft.analyse.checks import finding
from weft.analyse.tables.answers import ChangeRow, FindingRow, SlowerRow, cause_text, factor_text
from weft.analyse.tables.trials import TrialRow
from weft.analyse.thresholds.gain import gain_text
from weft.analyse.thresholds.trials import is_of
from weft.format import distinct_seconds, exact_bytes
from weft.kernel.line_name import cell_place, line_name
from weft.plan.records import Cell

Cells = Mapping[str, Cell]
CURE = "the library switches protocol or algorithm too late here: check its eager limit and its thresholds"


def protocol_findings(
    changes: Iterable[ChangeRow],
    slower: Iterable[SlowerRow],
    cells: Cells,
    trials: Sequence[TrialRow] = (),
    *,
    modelled: bool = False,
) -> list[FindingRow]:
    """A note for each jump and each size slower than its double; bends appear only in the table."""
    listed = list(changes)
    jumps = [row for row in listed if row["kind"] == "jump"]
    return [
        *(_jump(row, _where(row, cells), trials) for row in jumps),
        *(
            finding(
                "note",
                "slower-than-double",
                _where(row, cells),
                slower_text(row),
                _cure(row, listed, modelled),
            )
            for row in slower
        ),
    ]


def _jump(row: ChangeRow, where: str, trials: Sequence[TrialRow]) -> FindingRow:
    """The finding of a jump."""
    return finding("note", "change-over", where, f"{step_text(row)}: {cause_text(row)}", remedy(row, trials))


def step_text(row: ChangeRow) -> str:
    """A jump in words: where, and by how much."""
    span = f"between {exact_bytes(row['lower'])} and {exact_bytes(row['upper'])}"
    times = " to ".join(distinct_seconds(row["lower_s"], row["upper_s"]))
    return f"{span} the time goes from {times}: {factor_text(row)} times what the smaller sizes lead to expect there"


def remedy(row: ChangeRow, trials: Sequence[TrialRow] = ()) -> str:
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


def _cure(row: SlowerRow, changes: Sequence[ChangeRow], modelled: bool) -> str:
    """What to try where a size takes longer than its double."""
    if not modelled:
        return CURE
    for each in changes:
        near = row["size"] <= each["lower"] and each["upper"] <= row["double"]
        if near and each["algorithm_after"] and (each["cell"], each["call"]) == (row["cell"], row["call"]):
            return f"{cause_text(each)} between them: {_selector(each)}"
    return "the model changes its costs between them: see network.segments and network.eager_limit of the fabric file"


def slower_text(row: SlowerRow) -> str:
    """Both sizes with their times."""
    one, double = distinct_seconds(row["seconds"], row["double_seconds"])
    return f"{exact_bytes(row['size'])} take {one}, {exact_bytes(row['double'])} only {double}"


def _where(row: ChangeRow | SlowerRow, cells: Cells) -> str:
    cell = cells[row["cell"]]
    place = cell_place(row["nodes"], row["ranks"], cell.oversubscribed)
    return f"{line_name(row['call'], cell.parameters)}, {place}"
