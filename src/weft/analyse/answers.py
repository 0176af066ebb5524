# SPDX-License-Identifier: BSD-3-Clause
"""Writing the answers: verdicts, bottlenecks, change-overs, sizes slower than their double, winners, findings."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from weft.analyse.bottleneck import bottlenecks, find_causes, load_rows
from weft.analyse.breakdown import breakdown_rows, round_rows
from weft.analyse.checks import NO_SOCKETS, by_gravity, common_findings, mixed
from weft.analyse.claims.make import write_claims
from weft.analyse.doubts import doubted_calls, doubts, few_of_pairs, find_crowded_hosts, find_few_samples
from weft.analyse.floor import Floor
from weft.analyse.impact import count_jobs, impact_rows
from weft.analyse.pairs.findings import pair_findings, standing_outlier
from weft.analyse.quality import quality
from weft.analyse.ranges import latency_beyond, latency_findings, left_out, range_findings
from weft.analyse.remedies import bound_remedies, knob_remedies, remedies
from weft.analyse.scaling import verdicts
from weft.analyse.sensitivity import sensitivity_rows
from weft.analyse.startup import waits_at_start
from weft.analyse.tables import answers, breakdown, times
from weft.analyse.tables.pairs import CLASSES, ClassRow
from weft.analyse.tables.quality import QUALITY, Doubt, QualityRow
from weft.analyse.tables.sweeps import TRIALS, TrialRow
from weft.analyse.thresholds.findings import protocol_findings
from weft.analyse.thresholds.knob import launch_settings, mark_memory_effects, name_knob
from weft.analyse.thresholds.series import block_series, size_series
from weft.analyse.thresholds.switches import find_change_overs, slower_than_double
from weft.analyse.thresholds.trials import trial_rows, with_trials
from weft.analyse.winners import guideline_rows, overlap_rows, unjudged, winners
from weft.kernel.registry import main_call
from weft.mpi.knobs import Knobs
from weft.plan.records import Cell, Plan
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder, read_looks
from weft.store.rows import LAUNCH_TABLE, RANK_TABLE, LaunchRow, MeasuredRow

Row = TypeVar("Row")


@dataclass(frozen=True)
class Found:
    """Tables already written for a run, from which its answers are computed."""

    plan: Plan
    calls: Sequence[times.CallRow]
    medians: Sequence[times.MedianRow]
    links: Sequence[breakdown.LinkRow]
    measured: Sequence[MeasuredRow]
    floor: Floor
    of_pairs: frozenset[str]  # ids of the cells whose times are in the tables of pairs, not in the table of calls
    turns: Sequence[breakdown.TurnRow]

    @cached_property
    def main(self) -> str:
        """The kernel's main call, on which verdicts are based."""
        return main_call(self.plan.kernel, {row["call"] for row in self.calls})

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """The plan's cells by id."""
        return {cell.id: cell for cell in self.plan.cells}

    @cached_property
    def own(self) -> list[times.CallRow]:
        """Rows with a time of their own, and failed ones: in a block of pair rounds, only each pair has a time."""
        return [row for row in self.calls if row["cell"] not in self.of_pairs or row["status"] != "ok" or row["reason"]]

    def in_order(self, found: Iterable[Row], cell_of: Callable[[Row], str]) -> list[Row]:
        """What is of cells, in the order of the plan's cells."""
        order = {name: place for place, name in enumerate(self.cells)}
        return sorted(found, key=lambda each: order[cell_of(each)])


def write_answers(root: Path, found: Found) -> None:
    """Write the tables of answers."""
    plan, fabric, modelled = found.plan, found.plan.planned_fabric, found.plan.is_model
    launches = LAUNCH_TABLE.read(root)
    changes, slower = _changes(launches, found)
    trials = _trials(root, changes)
    changes = with_trials(changes, trials)
    verdicts = _verdicts(found)
    loads = load_rows(found.links)
    held_back = bottlenecks(found.calls, loads, found.main)
    won = winners(found.calls, found.medians, plan.cells, modelled=modelled)
    settings = launch_settings(found.measured, launches, fabric.stated_limits)
    steps = breakdown_rows(found.turns, found.calls, found.cells, settings, fabric if modelled else None)
    classes = CLASSES.read(root) if found.of_pairs else []
    # times of single messages: none where a window of them is one operation
    latencies = [] if any("window" in cell.parameters for cell in plan.cells) else classes
    findings = _findings(root, found, classes, latencies)
    findings += protocol_findings(changes, slower, found.cells, trials, modelled=modelled)
    findings += pair_findings(root, plan) if found.of_pairs else []
    answers.VERDICTS.write(root, verdicts)
    breakdown.SENSITIVITY.write(root, sensitivity_rows(plan, found.calls, found.main))
    breakdown.LOADS.write(root, loads)
    breakdown.BOTTLENECKS.write(root, held_back)
    answers.CHANGES.write(root, changes)
    TRIALS.write(root, trials)
    answers.SLOWER.write(root, slower)
    answers.WINNERS.write(root, won)
    answers.GUIDELINES.write(root, guideline_rows(found.turns, found.cells))
    answers.OVERLAPS.write(root, overlap_rows(found.turns, found.cells))
    answers.IMPACTS.write(root, impact_rows(found.medians, found.cells, fabric, count_jobs(root, plan)))
    breakdown.BREAKDOWN.write(root, steps)
    breakdown.CAUSES.write(root, find_causes(found.calls, steps, held_back, found.main))
    breakdown.REMEDIES.write(root, _remedies(found, steps, won, trials))
    breakdown.ROUND_TIMES.write(root, round_rows(found.turns, plan))
    answers.FINDINGS.write(root, by_gravity(findings))
    QUALITY.write(root, _quality(root, found, answers.main_verdict(verdicts), latencies))
    write_claims(root, plan, found.calls)


def _remedies(
    found: Found,
    steps: Sequence[breakdown.BreakdownRow],
    won: Sequence[answers.WinnerRow],
    trials: Sequence[TrialRow],
) -> list[breakdown.RemedyRow]:
    doubted, modelled, fabric = doubted_calls(found.calls, found.floor), found.plan.is_model, found.plan.planned_fabric
    sure = [row for row in steps if (row["cell"], row["call"]) not in doubted]
    clear = [row for row in found.calls if (row["cell"], row["call"]) not in doubted]
    helps = [
        *remedies(sure, won, found.cells, modelled, fabric),
        *bound_remedies(clear, steps, found.cells, won, modelled=modelled, fabric=fabric),
        *knob_remedies(trials, clear, modelled),
    ]
    return found.in_order(helps, lambda row: row["cell"])


def _verdicts(found: Found) -> list[answers.VerdictRow]:
    # ranks that share cores wait for each other even in an empty operation: their floor says nothing about other cells
    shapes = {(row["nodes"], row["ranks_per_node"]) for row in found.calls if not row["oversubscribed"]}
    empty = [found.floor.value("empty", *shape) or 0.0 for shape in shapes]
    scalings = {series.name: series.scaling for series in found.plan.series}
    judged = [row for row in found.calls if row["call"] == found.main]
    doubted = doubts(judged, found.medians, found.measured, found.floor)
    omitted = left_out(found.cells, found.main)
    return verdicts(found.calls, scalings, found.main, max(empty, default=0.0), doubted, omitted)


def _changes(launches: Sequence[LaunchRow], found: Found) -> tuple[list[answers.ChangeRow], list[answers.SlowerRow]]:
    """Change-overs, and sizes that are slower than their double."""
    settings = launch_settings(found.measured, launches, found.plan.planned_fabric.stated_limits)
    knobs = {cell: Knobs(each.library, each.values) for cell, each in settings.items()}
    modelled, series = found.plan.is_model, size_series(found.calls, found.medians)
    both = [*series, *block_series(found.calls, found.medians, found.main)]
    series, both = (found.in_order(each, lambda one: one.cell) for each in (series, both))
    changes = [
        name_knob(change, each, found.cells[each.cell], knobs.get(each.cell, Knobs("", {})))
        for each in series
        for change in find_change_overs(each, modelled=modelled)
    ]
    slower = [row for each in both for row in slower_than_double(each, modelled=modelled)]
    return mark_memory_effects(changes, series, found.cells), slower


def _quality(
    root: Path, found: Found, answer: answers.VerdictRow | None, latencies: Sequence[ClassRow]
) -> list[QualityRow]:
    plan = found.plan
    stands = frozenset[Doubt](("steal",) if found.of_pairs and standing_outlier(root) else ())
    beyond = latency_beyond(latencies, plan.planned_fabric) if plan.is_model else None
    given = (cell.parameters.get("inherited") for cell in plan.cells)
    return quality(
        found.own, found.measured, found.floor, plan.measure.precision, read_looks(root), medians=found.medians,
        answer=answer, modelled=plan.is_model, crowded=frozenset(cell.id for cell in plan.cells if cell.oversubscribed),
        stands=stands, fabric=plan.planned_fabric, inherited=[(each[0], each[1]) for each in given if each],
        latency=beyond[1] if beyond else None,
    )  # fmt: skip


def _trials(root: Path, changes: Sequence[answers.ChangeRow]) -> list[TrialRow]:
    """Of the run beside this one in which knobs were moved, if there is one with tables."""
    moved = RunFolder(root).trials()
    if moved is None or not times.MEDIANS.path(moved.path).is_file():
        return []
    return trial_rows(changes, plan_of(moved), times.MEDIANS.read(moved.path))


def _findings(
    root: Path, found: Found, classes: Sequence[ClassRow], latencies: Sequence[ClassRow]
) -> list[answers.FindingRow]:
    """Findings but those about protocols and pairs."""
    measure, fabric = found.plan.measure, found.plan.planned_fabric
    findings = common_findings(found.own, found.measured, found.floor, measure.precision)
    if found.plan.is_model:  # its ranks run where the plan says, and one launch of it is enough
        findings = [each for each in findings if not each["what"].startswith(NO_SOCKETS)]
    else:
        findings += unjudged(found.calls, found.plan.cells) + find_few_samples(found.own, measure.min_samples)
        findings += find_crowded_hosts(RANK_TABLE.read(root)) if fabric.is_emulated else []
        findings += few_of_pairs(classes, measure.launches, measure.min_samples)
    findings += mixed(LAUNCH_TABLE.read(root)) + waits_at_start(times.STARTUP.read(root))
    findings += range_findings(found.calls, found.cells, fabric, classes)
    return findings + (latency_findings(latencies, fabric) if found.plan.is_model else [])
