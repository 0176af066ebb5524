# SPDX-License-Identifier: BSD-3-Clause
"""A run for the report: its tables, plan and verdicts, and the story of its kernel, which `stories/` overrides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.analyse.tables.answers import FINDINGS, VERDICTS
from weft.analyse.tables.claims import CLAIMS, QUALITY, ClaimKind, ClaimRow, Grade, claims_of, grade_of
from weft.analyse.tables.times import CALLS as CALL_TABLE
from weft.analyse.tables.times import FLOOR, CallRow, phase_in_words
from weft.kernel.registry import main_call
from weft.plan.records import Plan, PlannedSeries
from weft.plan.stored import plan_of
from weft.report.figures import Figures
from weft.report.intervals import bound_text, interval_heading, time_text
from weft.report.tabular import Table, Words, existing, make_table
from weft.store.cells import folder_path
from weft.store.folder import RunFolder
from weft.store.rows import LAUNCH_TABLE
from weft.store.tables import read_once
from weft.words import CALLS as NAMES_OF_CALLS
from weft.words.card import headline, say

if TYPE_CHECKING:
    from weft.report.bars import Bar

CALLS = {letter: f"{letter}. {name}" for letter, name in NAMES_OF_CALLS.items()}  # of the papers' calls


class Story:
    """The report on runs of one kernel: a table of calls; a kernel's own story derives from this."""

    streams: bool = False  # whether its times are those of messages in a stream, so that size over time is a bandwidth

    def bars(self, view: "RunView") -> "list[Bar]":
        """Times to draw as bars under the verdict on a terminal."""
        return []

    def bars_of(self, view: "RunView") -> str:
        """What the bars are times of: ``MPI_Alltoall, 10 MiB per rank``."""
        return ""

    def proof(self, view: "RunView", figures: Figures) -> Figures:
        """The pictures beside the card, which prove its answer: the first of its ``figures``, or else bars."""
        from weft.report.bars import draw_times

        bars = None if figures else draw_times(view)
        return [bars] if bars else list(figures[:1])

    def tables(self, view: "RunView") -> list[Table]:
        """Tables in reading order, each table's first row its second heading: here a row a cell, call and phase."""
        return existing(make_table(
            view.titled("Calls"), view.rows,
            (Words("call"), "", lambda row: row["call"]), (Words("phase"), "", phase_in_words),
            ("N", "nodes", lambda row: f"{row['nodes']:,}"), ("p", "processes", lambda row: f"{row['ranks']:,}"),
            ("time", interval_heading(view.rows), time_text), ("at least", "bound", bound_text),
        ))  # fmt: skip

    def figures(self, view: "RunView") -> Figures:
        """Figures in the order of the page; here none, since they depend on the kernel."""
        return []

    def fields(self, view: "RunView") -> dict[str, Any]:
        """Further fields of ``weft show --format json`` (docs/dev/show-json.md), as plain data."""
        return {}


def story_of(kernel: str) -> Story:
    """The story of a kernel: ``STORY`` of the module of its name in `weft.report.stories`, or else a plain one."""
    own = f"weft.report.stories.{kernel}"
    return import_module(own).STORY() if find_spec(own) else Story()


@dataclass(frozen=True)
class RunView:
    """One run."""

    path: Path
    meta: Mapping[str, Any]  # entries of ``weft.json``
    plan: Plan
    rows: list[CallRow]
    floor = read_once(FLOOR)  # the noise floor and the copy rate of memory, by shape
    verdicts = read_once(VERDICTS)  # verdict on each series that scales
    claims = read_once(CLAIMS)  # what the run may claim
    quality = read_once(QUALITY)  # the doubts about the run, most severe first
    findings = read_once(FINDINGS)  # errors, warnings and notes about the numbers

    @property
    def name(self) -> str:
        """Study and fabric."""
        return f"{self.plan.study} on {self.plan.fabric}"

    @property
    def label(self) -> str:
        """``simulated`` or ``virtual network``; empty for a real one."""
        return self.plan.planned_fabric.label

    def titled(self, title: str) -> str:
        """A title with a label if the run is not of a real network."""
        return f"{title} ({self.label})" if self.label else title

    @cached_property
    def main_call(self) -> str:
        """The kernel's main call, on which verdicts are based."""
        return main_call(self.plan.kernel, {row["call"] for row in self.rows})

    @cached_property
    def story(self) -> Story:
        """The story of the kernel that was measured."""
        return story_of(self.plan.kernel)

    def claimed(self, kind: ClaimKind) -> list[ClaimRow]:
        """The claims of a kind in their order."""
        return claims_of(self.claims, kind)

    @property
    def confidence(self) -> Grade:
        """The confidence of the answer; the run's quality without one."""
        answers = self.claimed("answer")
        return answers[0]["confidence"] if answers else self.grade

    @cached_property
    def headline(self) -> str:
        """The first row of the card on one line."""
        return headline(self.claims)

    def claim_line(self, family: str) -> str:
        """All claims of a family on one line: ``Eager limit: 4 KiB to 8 KiB; ...``; empty without any."""
        rows = [say(each) for each in self.claims if each["id"].startswith(f"{family}.")]
        return "; ".join(f"{row.label}: {row.text}" for row in rows)

    @property
    def grade(self) -> Grade:
        """Its quality, A to D."""
        return grade_of(self.quality)

    @cached_property
    def mpi(self) -> str:
        """The version string of the MPI library, shortened to its first line and sentence."""
        named = {row["mpi_library"] for row in LAUNCH_TABLE.read(self.path) if row["mpi_library"]}
        names = {name.splitlines()[0].split(", package")[0] for name in named}
        plain = {" ".join(re.sub(r"Version\s*:", "", name).split()) for name in names}  # as MPICH spells it
        return "; ".join(sorted(plain)) or "unknown MPI"

    @cached_property
    def _by_series(self) -> dict[str, list[CallRow]]:
        """Rows by the name of their series: a study of a thousand cells may have a hundred series."""
        found: dict[str, list[CallRow]] = {}
        for row in self.rows:
            for name in dict.fromkeys(row["series"]):
                found.setdefault(name, []).append(row)
        return found

    def of_series(self, series: PlannedSeries, call: str, phase: str = "warm") -> list[CallRow]:
        """Rows of a series for a call and phase, by nodes and ranks."""
        own = (row for row in self._by_series.get(series.name, []) if (row["call"], row["phase"]) == (call, phase))
        return sorted(own, key=lambda row: (row["nodes"], row["ranks"]))

    def calls_of(self, series: PlannedSeries) -> list[str]:
        """Calls of a series, in the order they were measured."""
        return list(dict.fromkeys(row["call"] for row in self._by_series.get(series.name, [])))


def m_text(series: PlannedSeries) -> str:
    """How m was given: ``m = 512 N``."""
    written = str(series.written.get("m", ""))
    return f"m = {written.replace(' * ', ' ')}" if written else series.name


def load_view(folder: Any) -> RunView:
    """Load a run whose tables exist. Raises DataError: there is no run folder, or it has no tables."""
    run = RunFolder.open(folder_path(folder))
    return RunView(run.path, run.metadata(), plan_of(run), CALL_TABLE.read(run.path))
