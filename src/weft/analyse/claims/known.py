# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a run that claims are made of, each read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weft.analyse.tables.answers import FINDINGS, VERDICTS, WINNERS
from weft.analyse.tables.breakdown import BOTTLENECKS, BREAKDOWN, CAUSES, REMEDIES, SENSITIVITY
from weft.analyse.tables.quality import QUALITY
from weft.analyse.tables.sweeps import Line, lines_of
from weft.analyse.tables.times import CallRow, TimedRow, timed
from weft.fabric.nodeset import fold
from weft.files.shipped import shipped
from weft.plan.records import Plan
from weft.store.rows import LAUNCH_TABLE
from weft.store.tables import read_once


@dataclass(frozen=True)
class Known:
    """A run whose other tables are written."""

    path: Path  # the run folder
    plan: Plan
    rows: Sequence[CallRow]  # the table of calls
    verdicts = read_once(VERDICTS)  # verdicts on series that scale
    causes = read_once(CAUSES)  # what most of the time of each cell goes to
    bottlenecks = read_once(BOTTLENECKS)  # the busiest link of each shape
    breakdown = read_once(BREAKDOWN)  # the breakdown of each call
    remedies = read_once(REMEDIES)  # what would help, and how much at most
    winners = read_once(WINNERS)  # the fastest algorithms
    sensitivity = read_once(SENSITIVITY)  # what a simulated verdict depends on
    quality = read_once(QUALITY)  # the doubts about the run
    findings = read_once(FINDINGS)  # errors, warnings and notes about the numbers

    @cached_property
    def warm(self) -> list[TimedRow]:
        """Rows of the steady state with a time."""
        return timed(self.rows, phase="warm")

    @cached_property
    def lines(self) -> list[Line]:
        """The sweeps over message sizes."""
        return lines_of(self.path, self.plan, self.rows)

    @cached_property
    def library(self) -> str:
        """The version string of the MPI library; empty where none is known."""
        return next((row["mpi_library"] for row in LAUNCH_TABLE.read(self.path) if row["mpi_library"]), "")

    @property
    def machine(self) -> str:
        """The machine for ``--on``: a shipped one's name, or its file in the run's folder."""
        return self.plan.fabric if _is_shipped("fabrics", self.plan.fabric) else "{run}/fabric.toml"

    @property
    def tuning(self) -> str:
        """The command that makes a selection table for this machine."""
        return f"weft tune --on {self.machine}"

    def longer(self, verb: str, time_s: float) -> str:
        """The command of ``verb`` for twice ``time_s``, on the nodes and with the ranks per node of this run."""
        cell = max(self.plan.measured, key=lambda cell: cell.nodes)
        is_part = cell.hosts and set(cell.hosts) != set(self.plan.planned_fabric.hosts)
        nodes = f" --nodes '{fold(cell.hosts)}'" if is_part else ""
        time = max(round(float(f"{2 * time_s:.2g}")), 1)
        return f"weft {verb} --on {self.machine}{nodes} --ranks-per-node {cell.ranks_per_node} --time {time}s"

    def again(self, *options: str) -> str:
        """The command that adds to this run; ``{run}`` is its folder where study or fabric are no shipped ones."""
        study, fabric = self.plan.study, self.plan.fabric
        command = "weft run {run}/study.toml --on {run}/fabric.toml --into {run}"
        if _is_shipped("studies", study) and _is_shipped("fabrics", fabric):
            command = f"weft run {study} --on {fabric}"
        return " ".join((command, *options))


def _is_shipped(folder: str, name: str) -> bool:
    return (shipped(folder) / f"{name}.toml").is_file()
