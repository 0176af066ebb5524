# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs and sizes slower than their double as findings: where, by how much, and which knob to set."""

from collections.abc import Iterable, Mapping, Sequence

from weft.analyse.checks import finding
from weft.analyse.protocol.gain import gain_text
from weft.analyse.protocol.trials import is_of
from weft.analyse.tables.answers import ChangeRow, FindingRow, SlowerRow, knobs_in_words
from weft.analyse.tables.trials import TrialRow
from weft.format import exact_bytes, measured_factor, measured_seconds
from weft.kernel.line_name import cell_place, line_name
from weft.plan.records import Cell

Cells = Mapping[str, Cell]
UNNAMED = "at quality D no cause is named: stop what disturbs the run, and measure again"
CURE = "the library switches protocol or algorithm too late here: check its eager limit and its thresholds"


def protocol_findings(
    changes: Iterable[ChangeRow],
    slower: Iterable[SlowerRow],
    cells: Cells,
    trials: Sequence[TrialRow] = (),
    *,
    named: bool = True,
) -> list[FindingRow]:
    """A note for each jump and each size slower than its double; bends appear only in the table.

    Parameters
    ----------
    changes, slower
        Rows of both tables.
    cells
        The plan's cells by id.
    trials
        Knobs that were moved.
    named
        Whether the run is good enough to name causes; a confirmed one is named anyway.
    """
    jumps = [row for row in changes if row["kind"] == "jump"]
    return [
        *(_jump(row, _where(row, cells), trials, named=named) for row in jumps),
        *(
            finding("note", "slower-than-double", _where(row, cells), slower_text(row), CURE if named else UNNAMED)
            for row in slower
        ),
    ]


def _jump(row: ChangeRow, where: str, trials: Sequence[TrialRow], *, named: bool) -> FindingRow:
    """The finding of a jump; a knob that was moved, and the jump with it, is named whatever the quality."""
    if named or row["confirmed"]:
        return finding("note", "change-over", where, f"{step_text(row)}: {cause_text(row)}", remedy(row, trials))
    return finding("note", "change-over", where, step_text(row), UNNAMED)


def step_text(row: ChangeRow) -> str:
    """A jump in words: where, and by how much."""
    way = "up" if row["factor"] > 1 else "down"
    factor = f"{measured_factor(row['factor'])} ({measured_factor(row['low'])}–{measured_factor(row['high'])})"
    span = f"between {exact_bytes(row['lower'])} and {exact_bytes(row['upper'])}"
    return f"the time steps {way} by a factor of {factor} {span}"


def cause_text(row: ChangeRow) -> str:
    """What may have made a jump: the knobs in its gap, and which of them were moved."""
    known = knobs_in_words(row)
    cause = f"perhaps {known}" if known else "no known knob of this library has this value"
    if row["confirmed"]:
        cause = f"{known}, confirmed"
    elif row["refuted"]:
        cause += f"; not confirmed: {', '.join(row['refuted'])}"
    return cause


def remedy(row: ChangeRow, trials: Sequence[TrialRow] = ()) -> str:
    """Which knob to change."""
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


def slower_text(row: SlowerRow) -> str:
    """Both sizes with their times."""
    one, double = measured_seconds(row["seconds"]), measured_seconds(row["double_seconds"])
    return f"{exact_bytes(row['size'])} take {one}, {exact_bytes(row['double'])} only {double}"


def _where(row: ChangeRow | SlowerRow, cells: Cells) -> str:
    cell = cells[row["cell"]]
    place = cell_place(row["nodes"], row["ranks"], cell.oversubscribed)
    return f"{line_name(row['call'], cell.parameters)}, {place}"
