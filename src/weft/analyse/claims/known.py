# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a run that claims are made of, each read once; and the claims on sweeps that several kernels make."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weft.analyse.tables.answers import CHANGES, FINDINGS, VERDICTS, WINNERS, ChangeRow, WinnerRow
from weft.analyse.tables.breakdown import BOTTLENECKS, BREAKDOWN, CAUSES, REMEDIES, SENSITIVITY
from weft.analyse.tables.claims import QUALITY, ClaimRow, make_claim
from weft.analyse.tables.sweeps import Line, beats, find_stretches, lines_of, most_saved
from weft.analyse.tables.times import CallRow, TimedRow, timed
from weft.fabric.nodeset import fold
from weft.files.shipped import shipped
from weft.mpi.alltoall import is_own
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


def find_thresholds(known: Known, lines: Sequence[Line]) -> list[ClaimRow]:
    """The eager limit of each pattern, or else how many change-overs there are, and sizes slower than their double."""
    limits = [(line, change) for line in lines for change in line.changes if change["eager_limit"]]
    limits.sort(key=lambda each: not each[1]["confirmed"])
    found: dict[str, ClaimRow] = {}
    for line, change in limits:  # a pair has the same limit hot and cold
        found.setdefault(str(line.cell.parameters.get("members", line.name)), _limit(known, line, change))
    jumps = [change for line in lines for change in line.jumps]
    slower = sum(len(line.slower) for line in lines)
    switched, confirmed = (sum(bool(each[key]) for each in jumps) for key in ("algorithm_after", "confirmed"))
    counted = make_claim(
        "threshold.change-overs", "breakdown", "", len(jumps), "count", switched=switched, confirmed=confirmed,
        possible=sum(bool(each["knobs"]) for each in jumps) - confirmed,
        bends=sum(change["kind"] == "bend" for line in lines for change in line.changes),
    )  # fmt: skip
    doubles = [make_claim("threshold.slower-than-double", "breakdown", "", slower, "count")] if slower else []
    return [*(found.values() or [counted]), *doubles]


def name_change(known: Known, change: ChangeRow) -> str:
    """A change-over as evidence of a claim."""
    return f"change_overs:{CHANGES.read(known.path).index(change)}"


def _limit(known: Known, line: Line, change: ChangeRow) -> ClaimRow:
    ends = (change["low"], change["high"]) if change["low"] != change["high"] else (None, None)
    return make_claim(
        "threshold.eager-limit", "breakdown", line.name, change["factor"], "factor", ends,
        confidence="B" if change["confirmed"] else "A", at=change, evidence=[name_change(known, change)],
        lower=change["lower"], upper=change["upper"], confirmed=change["confirmed"],
        knobs=dict(zip(change["knobs"], change["knob_values"], strict=True)), refuted=change["refuted"],
    )  # fmt: skip


def claim_winners(
    winners: Sequence[WinnerRow], setting: Callable[[WinnerRow], str] = lambda _: "", following: str = ""
) -> list[ClaimRow]:
    """Faster algorithms by stretches of sizes, with the library's ``setting`` or the command ``following`` for each."""
    found: list[ClaimRow] = []
    for rows in find_stretches(winners):
        best = most_saved(rows)
        low, high = best["low"], best["high"]
        ends = (1 / high, 1 / low) if low and high and low < high else (None, None)
        found.append(make_claim(
            "collective.faster-algorithm", "answer", best["algorithm"], 1 / best["ratio"], "factor", ends,
            evidence=[f"winners:{winners.index(best)}"], name=f"MPI_{best['call'].capitalize()}",
            first=rows[0]["bytes"], last=rows[-1]["bytes"], bytes=best["bytes"], nodes=best["nodes"],
            ranks=best["ranks"], beaten=sum(map(beats, winners)), of=len(winners), setting=setting(best),
            next=following if is_own(best["algorithm"]) else "",
        ))  # fmt: skip
    return found or [make_claim("collective.none-faster", "answer", "", len(winners), "count")]
