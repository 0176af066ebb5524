# SPDX-License-Identifier: BSD-3-Clause
"""A run as the report sees it: its tables, plan and verdicts, brought up to date first."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from weft.analyse.checks import Finding
from weft.analyse.floor import Floor
from weft.analyse.scaling import Verdict, verdicts
from weft.errors import DataError
from weft.folder import RunFolder
from weft.kernel import kernel_named
from weft.plan import Cell, Plan, PlannedSeries
from weft.report.story import Story, story_of
from weft.store.cells import folder_path
from weft.store.tables import read_table

Row = dict[str, Any]

CALLS = {"A": "A. MPI_Alltoall(int)", "B": "B. MPI_Alltoallv(int)", "C": "C. MPI_Alltoallv(m-vector)"}

#: What stands beside every title and number that was not measured on the network it speaks of.
LABELS = {"simulated": "simulated", "virtual": "virtual network"}


def call_name(call: str) -> str:
    """The MPI call by its name: ``MPI_Alltoall(int)`` of A; a step of a sort by its own."""
    return CALLS.get(call, call).split(". ")[-1]


@dataclass(frozen=True)
class RunView:
    """One run.

    Attributes
    ----------
    path
        The run folder.
    meta
        Entries of ``weft.json``.
    plan
        Its plan.
    rows
        The table of calls.
    """

    path: Path
    meta: Row
    plan: Plan
    rows: list[Row]

    def table(self, name: str) -> list[Row]:
        """Rows of one of the run's tables."""
        return read_table(self.path, name).to_pylist()

    @property
    def name(self) -> str:
        """Study and fabric."""
        return f"{self.plan.study} on {self.plan.fabric}"

    @property
    def label(self) -> str:
        """``simulated`` or ``virtual network``; empty for a real one."""
        return LABELS.get(self.plan.fabric_kind, "")

    def titled(self, title: str) -> str:
        """A title that says so where the run is not of a real network."""
        return f"{title} ({self.label})" if self.label else title

    @property
    def main_call(self) -> str:
        """The call that the study is about."""
        main = kernel_named(self.plan.kernel).main
        calls = {row["call"] for row in self.rows}
        return main if main in calls or not calls else sorted(calls)[-1]

    @cached_property
    def floor(self) -> Floor:
        """What nothing and memory cost here."""
        return Floor(self.table("floor"))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdict of each series that scales."""
        # ranks that share cores wait for each other even when they do nothing: their floor is no measure for the others
        shapes = {(cell.nodes, cell.ranks_per_node) for cell in self.plan.measured if not cell.oversubscribed}
        empty = [self.floor.value("empty", *shape) or 0.0 for shape in shapes]
        scalings = {series.name: series.scaling for series in self.plan.series}
        return verdicts(self.rows, scalings, self.main_call, max(empty, default=0.0))

    @cached_property
    def story(self) -> Story:
        """What is told of the kernel that was measured."""
        return story_of(self.plan.kernel)

    @cached_property
    def headline(self) -> str:
        """The answer in one or two sentences."""
        return self.story.headline(self)

    @cached_property
    def findings(self) -> list[Finding]:
        """What a reader must know about the numbers."""
        return self.story.findings(self)

    @cached_property
    def mpi(self) -> str:
        """The MPI library by its own words, shortened to its first line and sentence."""
        names = {
            row["mpi_library"].splitlines()[0].split(", package")[0]
            for row in self.table("launches")
            if row["mpi_library"]
        }
        return "; ".join(sorted(name.strip() for name in names)) or "unknown MPI"

    def of_series(self, series: PlannedSeries, call: str, phase: str = "warm") -> list[Row]:
        """Rows of a series for a call and phase, along nodes and ranks."""
        found = [
            row for row in self.rows if series.name in row["series"] and (row["call"], row["phase"]) == (call, phase)
        ]
        return sorted(found, key=lambda row: (row["nodes"], row["ranks"]))

    def calls_of(self, series: PlannedSeries) -> list[str]:
        """Calls of a series, in the order they were measured."""
        return list(dict.fromkeys(row["call"] for row in self.rows if series.name in row["series"]))

    def cells_of(self, series: PlannedSeries) -> list[Cell]:
        """Cells of a series."""
        return [cell for cell in self.plan.measured if series.name in cell.series]


def m_text(series: PlannedSeries) -> str:
    """How m was given: ``m = 512 N``."""
    written = str(series.written.get("m", ""))
    return f"m = {written.replace(' * ', ' ')}" if written else series.name


def load_view(folder: Any, engine: str | None = None) -> RunView:
    """Load a run; its samples and tables are made first where cells have come since.

    Parameters
    ----------
    folder
        The run folder, or its path.
    engine
        URL of the engine that makes the tables; they are then made anew in any case. DuckDB where None, if need be.

    Raises
    ------
    DataError
        No run folder, a torn cell, tables that cannot be written, or an engine that is not here.
    """
    run = RunFolder.open(folder_path(folder))
    if engine is not None or _stale(run):
        from weft.analyse import make_tables
        from weft.store import convert

        convert(run)
        make_tables(run, engine or "duckdb://")
    try:
        plan = Plan.model_validate_json(run.plan.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{run.plan}: there is no plan", "start the same `weft run` again: it plans first") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{run.plan}: {where}: {first['msg']}", "measure anew with --into DIR") from None
    return RunView(run.path, run.metadata(), plan, read_table(run.path, "calls").to_pylist())


def _stale(run: RunFolder) -> bool:
    """Whether a cell or launch was written after the last table was."""
    last = run.tables / "calls.parquet"  # make_tables writes it last
    if not last.is_file():
        return True
    made = last.stat().st_mtime_ns
    sources = [run.plan, run.cells, run.launches, *run.cells.glob("*.json"), *run.launches.glob("*.json")]
    return any(source.stat().st_mtime_ns > made for source in sources if source.exists())
