# SPDX-License-Identifier: BSD-3-Clause
"""Runs of shipped studies on shipped fabrics, in folders that can be resumed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from weft.analyse.tables.times import CallRow
from weft.fabric import Fabric, load_fabric
from weft.format import measured_seconds, relative_error
from weft.report.view import RunView, load_view


@dataclass(frozen=True)
class Bench:
    """A folder with the runs."""

    folder: Path  # with a run folder for each study and fabric
    say: Callable[[str], None] = lambda _: None  # takes a line of progress before each step that takes seconds

    def run(self, study: str, fabric: str | Fabric) -> RunView:
        """Run a study on a fabric, or use the existing result; DataError for another version's, LaunchError."""
        from weft.kernel.studies import load_study
        from weft.launch import launcher_for
        from weft.run.one import run_study

        what = load_study(study)
        where = load_fabric(fabric) if isinstance(fabric, str) else fabric
        into = self.folder / f"{what.name}-on-{where.name}"
        self.say(f"{what.name} on {where.name} (simulated)")
        run_study(what, where, into, launcher_for(where, None, self.say, repeatable=True))
        return load_view(into)


def error_text(simulated: float | None, paper: float | None) -> str:
    """Relative error in per cent, or a dash if there is nothing to compare."""
    return "–" if simulated is None or not paper else relative_error(simulated / paper - 1)


def paper_text(seconds: float, *, below: bool = False) -> str:
    """A time as the papers print it, with two decimals."""
    return "ERR" if isnan(seconds) else f"{'< ' if below else ''}{seconds:.2f} s"


def time_or_status(row: CallRow | None) -> str:
    """The simulated time of a row, or its status if it has none."""
    if row is None:
        return "–"
    return measured_seconds(row["median_s"]) if row["status"] == "ok" else str(row["status"])


def row_of(
    rows: Iterable[CallRow], nodes: int, phase: str, *, call: str | None = None, series: str | None = None
) -> CallRow | None:
    """The first row on ``nodes`` nodes of a phase; of one call and one series, if these are given."""
    own = (row for row in rows if (row["nodes"], row["phase"]) == (nodes, phase) and call in (None, row["call"]))
    return next((row for row in own if series is None or series in row["series"]), None)


def seconds_of(row: CallRow | None) -> float | None:
    """The time of a row, if there is one."""
    return None if row is None else row["median_s"]
