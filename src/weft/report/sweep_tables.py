# SPDX-License-Identifier: BSD-3-Clause
"""What stories of kernels that sweep over message sizes share: lines, tables of times, changes and winners."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from weft.analyse.tables.answers import CHANGES, OF_MEMORY, SLOWER, ChangeRow, SlowerRow, WinnerRow, factor_text
from weft.analyse.tables.sweeps import TRIALS, Line, TrialRow, all_sizes, lines_of, size_of
from weft.analyse.tables.times import TimedRow
from weft.format import distinct_seconds, exact_bytes, format_rate, measured_factor, measured_rate, measured_seconds
from weft.report.intervals import bound_text, by_root, interval_heading, root_text, time_text
from weft.report.tabular import Column, Table, Words, make_table
from weft.report.view import RunView, Story

MOST_ACROSS = 4  # most lines whose rates of few sizes are printed side by side; of more, each has rows of its own


def time_table(title: str, lines: Sequence[Line]) -> Table:
    """Sizes by process counts: the time with its interval, its lower bound, and the algorithm where that was seen."""
    columns: list[tuple[Line, Column[TimedRow]]] = []
    for line in lines:
        roots = any(by_root(row) for row in line.rows)
        heading, text = ("median (all roots)", root_text) if roots else (interval_heading(line.rows), time_text)
        columns.append((line, (line.place, heading, text)))
        if any(row["bound_s"] for row in line.rows):
            columns.append((line, ("at least", "bound", bound_text)))
        if any(row["algorithm"] for row in line.rows):
            columns.append((line, ("by", "algorithm", lambda row: row["algorithm"] or "–")))
    rows = [("bytes", *(unit for _, (_, unit, _) in columns))]
    for size in all_sizes(lines):
        known = ((line.at(size), text) for line, (_, _, text) in columns)
        rows.append((size_text(size, lines), *(text(row) if row else "–" for row, text in known)))
    return Table(title, ("Message", *(heading for _, (heading, _, _) in columns)), tuple(rows))


def size_text(size: int, lines: Sequence[Line]) -> str:
    """A size, and in how many launches it was measured if in fewer than half: ``861 B, 1 of 4 launches``."""
    few = [(row["launches"], line.launches) for line in lines if (row := line.at(size)) and line.is_rare(row)]
    return exact_bytes(size) + (", {} of {} launches".format(*min(few)) if few else "")


def rate_table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table:
    """Sizes by patterns: the rate with its interval, and its reciprocal, the time a message."""
    if len(lines) > max(MOST_ACROSS, len(all_sizes(lines))):
        return make_table(
            title, [(name, row) for line, name in zip(lines, names, strict=True) for row in line.rows],
            (Words("Messages"), "", lambda row: row[0]),
            ("Message", "bytes", lambda row: size_text(size_of(row[1]), lines)),
            ("Rate", interval_heading([row for line in lines for row in line.rows]).replace("median", "rate"),
             lambda row: _rate(size_of(row[1]), row[1])),
            ("size / rate", "a message", lambda row: measured_seconds(row[1]["median_s"])),
        )  # fmt: skip
    kinds = (interval_heading(line.rows).replace("median", "rate") for line in lines)
    rows = [("bytes", *(text for kind in kinds for text in (kind, "a message")))]
    for size in all_sizes(lines):
        known = (line.at(size) for line in lines)
        cells = ((_rate(size, row), measured_seconds(row["median_s"])) if row else ("–", "–") for row in known)
        rows.append((size_text(size, lines), *chain(*cells)))
    return Table(title, ("Message", *(text for name in names for text in (name, "size / rate"))), tuple(rows))


def _rate(size: int, row: TimedRow) -> str:
    return measured_rate(size, row["median_s"], row["low_s"], row["high_s"])


def change_tables(view: RunView, lines: Sequence[Line], names: Sequence[str]) -> tuple[Table, Table, Table]:
    """Change-overs, knobs that were moved, and sizes slower than their double (METHOD 18); empty where none is."""
    named = list(zip(names, lines, strict=True))
    changes = [(name, change) for name, line in named for change in line.changes]
    trials = [(name, trial) for name, line in named for trial in line.trials]
    slower = [(name, slow) for name, line in named for slow in line.slower]
    return (
        _change_table(view.titled("Change-over points"), changes, modelled=view.plan.is_model),
        _trial_table(view.titled("Knobs that were moved"), trials),
        _slower_table(view.titled("Messages slower than their double"), slower),
    )


def _change_table(title: str, changes: Sequence[tuple[str, ChangeRow]], *, modelled: bool) -> Table:
    def slope(rate: float | None) -> str:
        return format_rate(rate) if rate else "flat"

    against = "over that expected" if modelled else "over that expected (95 %)"
    sure: list[Column[tuple[str, ChangeRow]]] = [  # never rounded up to 1
        ("Confidence", "of the change",
         lambda row: "> 99.9 %" if row[1]["confidence"] > 0.999 else f"{100 * row[1]['confidence']:.1f} %")
    ]  # fmt: skip
    return make_table(
        title, changes,
        (Words("Change-over of"), "call", lambda row: row[0]),
        ("Between", "sizes", lambda row: f"{exact_bytes(row[1]['lower'])} – {exact_bytes(row[1]['upper'])}"),
        (Words("Cause"), "knob and its value", lambda row: _knob(row[1])),
        (Words("Kind"), "", lambda row: row[1]["kind"]),
        ("Time", "before → after", lambda row: " → ".join(distinct_seconds(row[1]["lower_s"], row[1]["upper_s"]))),
        ("Step x", against, lambda row: factor_text(row[1])),
        ("Before", "marginal rate", lambda row: slope(row[1]["before_rate"])),
        ("After", "marginal rate", lambda row: slope(row[1]["after_rate"])), *([] if modelled else sure),
    )  # fmt: skip


def _knob(change: ChangeRow) -> str:
    """What made it, or all that may have, one name for each value: the finding has the others."""
    if change["algorithm_after"]:
        return f"{change['algorithm_before']} → {change['algorithm_after']}"
    if change["kind"] == "cache":
        return OF_MEMORY
    names: dict[int, str] = {}
    for name, value in zip(change["knobs"], change["knob_values"], strict=True):
        if name == change["confirmed"] or not (change["confirmed"] or name in change["refuted"]):
            names.setdefault(value, name)
    limits = " or ".join(f"{name} ({value:,} B)" for value, name in names.items())
    if change["confirmed"]:
        return f"{limits}, confirmed"
    none = "none of those that were moved" if change["refuted"] else "none known here"
    return f"perhaps {limits}" if limits else none


def _trial_table(title: str, trials: Sequence[tuple[str, TrialRow]]) -> Table:
    return make_table(
        title, trials,
        (Words("Knob moved for"), "call", lambda row: row[0]), (Words("Knob"), "", lambda row: row[1]["knob"]),
        (Words("From, to"), "bytes", lambda row: f"{exact_bytes(row[1]['value'])} → {exact_bytes(row[1]['moved'])}"),
        (Words("Outcome"), "", lambda row: row[1]["outcome"]),
        ("Old step x", "factor (95 %)", lambda row: _moved(row[1]["old"], row[1]["old_low"], row[1]["old_high"])),
        ("New step x", "factor (95 %)", lambda row: _moved(row[1]["new"], row[1]["new_low"], row[1]["new_high"])),
        ("Time x", "between the two",
         lambda row: _moved(row[1]["ratio"], row[1]["ratio_low"], row[1]["ratio_high"])),
        (Words("Set by"), "environment", lambda row: row[1]["setting"] if row[1]["outcome"] == "confirmed" else "–"),
    )  # fmt: skip


def _moved(factor: float | None, low: float | None, high: float | None) -> str:
    return "–" if factor is None or low is None or high is None else measured_factor(factor, low, high)


def _slower_table(title: str, slower: Sequence[tuple[str, SlowerRow]]) -> Table:
    return make_table(
        title, slower,
        ("Slower than its double", "call", lambda row: row[0]),
        ("Size", "bytes", lambda row: exact_bytes(row[1]["size"])),
        ("Time", "median", lambda row: distinct_seconds(row[1]["seconds"], row[1]["double_seconds"])[0]),
        ("Double", "bytes", lambda row: exact_bytes(row[1]["double"])),
        ("Its time", "median", lambda row: distinct_seconds(row[1]["seconds"], row[1]["double_seconds"])[1]),
        ("Ratio", "t / t", lambda row: measured_factor(row[1]["seconds"] / row[1]["double_seconds"])),
    )  # fmt: skip


def winner_table(title: str, found: Sequence[WinnerRow]) -> Table:
    """Sizes by process counts: the winner, and its time over the default's."""
    shapes = sorted({(winner["nodes"], winner["ranks"]) for winner in found})
    columns = ("Message", *(f"N = {nodes}, p = {ranks}" for nodes, ranks in shapes))
    known = {(winner["bytes"], winner["nodes"], winner["ranks"]): winner for winner in found}
    sizes, heading = sorted({winner["bytes"] for winner in found}), "winner, x of the default's time"
    rows = [(exact_bytes(size), *(_cell(known.get((size, *shape))) for shape in shapes)) for size in sizes]
    return Table(title, columns, (("bytes", *(heading,) * len(shapes)), *rows))


def _cell(winner: WinnerRow | None) -> str:
    if winner is None:
        return "–"
    if winner["low"] is None or winner["high"] is None:
        return f"{winner['algorithm']} {measured_seconds(winner['median_s'])}"
    low, high = (winner["low"], winner["high"]) if winner["low"] < winner["high"] else (None, None)
    return f"{winner['algorithm']} {measured_factor(winner['ratio'], low, high)}"


class SweepStory(Story):
    """Base of the stories of ``collective`` and ``bandwidth``. A view has one story, which reads its lines once."""

    _lines: tuple[Line, ...] | None = None

    def lines(self, view: RunView) -> tuple[Line, ...]:
        """Every line of the run."""
        if self._lines is None:
            self._lines = tuple(lines_of(view.path, view.plan, view.rows))
        return self._lines

    def fields(self, view: RunView) -> dict[str, Any]:
        tables = {"change_overs": CHANGES, "knob_trials": TRIALS, "slower_than_double": SLOWER}
        return {name: table.read(view.path) for name, table in tables.items()}
