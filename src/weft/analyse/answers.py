# SPDX-License-Identifier: BSD-3-Clause
"""Writing the answers: verdicts, bottlenecks, change-overs, sizes slower than their double, winners, findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

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
from weft.analyse.tables.answers import (
    CHANGES,
    FINDINGS,
    GUIDELINES,
    IMPACTS,
    OVERLAPS,
    SLOWER,
    VERDICTS,
    WINNERS,
    ChangeRow,
    FindingRow,
    SlowerRow,
    VerdictRow,
    WinnerRow,
    main_verdict,
)
from weft.analyse.tables.breakdown import (
    BOTTLENECKS,
    BREAKDOWN,
    CAUSES,
    LOADS,
    REMEDIES,
    ROUND_TIMES,
    SENSITIVITY,
    LinkRow,
    TurnRow,
)
from weft.analyse.tables.pairs import CLASSES, ClassRow
from weft.analyse.tables.quality import QUALITY, Doubt, QualityRow
from weft.analyse.tables.sweeps import TRIALS, TrialRow
from weft.analyse.tables.times import MEDIANS, STARTUP, CallRow, MedianRow
from weft.analyse.thresholds.findings import protocol_findings
from weft.analyse.thresholds.knob import launch_knobs, launch_settings, mark_memory_effects, name_knob
from weft.analyse.thresholds.series import block_series, size_series
from weft.analyse.thresholds.switches import find_change_overs, slower_than_double
from weft.analyse.thresholds.trials import trial_rows, with_trials
from weft.analyse.winners import guideline_rows, overlap_rows, unjudged, winners
from weft.kernel.registry import main_call
from weft.mpi.knobs import Knobs
from weft.plan.records import Cell, Plan
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.load import Look, read_looks
from weft.store.rows import LAUNCH_TABLE, RANK_TABLE, LaunchRow, MeasuredRow


@dataclass(frozen=True)
class Found:
    """Tables already written for a run, from which its answers are computed."""

    plan: Plan  # its plan
    # calls, medians, links, measured: rows of the tables of calls, medians, links and cells
    calls: Sequence[CallRow]
    medians: Sequence[MedianRow]
    links: Sequence[LinkRow]
    measured: Sequence[MeasuredRow]
    floor: Floor  # the noise floor that the run measured
    of_pairs: frozenset[str]  # ids of the cells whose times are in the tables of pairs, not in the table of calls
    turns: Sequence[TurnRow]  # rows of the table of the breakdowns' turns

    @cached_property
    def main(self) -> str:
        """The kernel's main call, on which verdicts are based."""
        return main_call(self.plan.kernel, {row["call"] for row in self.calls})

    @property
    def modelled(self) -> bool:
        """Whether its times come from a model."""
        return self.plan.is_model

    @property
    def cells(self) -> dict[str, Cell]:
        """The plan's cells by id."""
        return {cell.id: cell for cell in self.plan.cells}


def write_answers(root: Path, found: Found) -> None:
    """Write the tables of answers."""
    loads, launches = load_rows(found.links), LAUNCH_TABLE.read(root)
    changes, slower = _changes(launches, found), _slower(found)
    trials = _trials(root, changes)
    changes = with_trials(changes, trials)
    looks = read_looks(root)
    verdicts = _verdicts(found)
    VERDICTS.write(root, verdicts)
    SENSITIVITY.write(root, sensitivity_rows(found.plan, found.calls, found.main))
    LOADS.write(root, loads)
    held_back = bottlenecks(found.calls, loads, found.main)
    BOTTLENECKS.write(root, held_back)
    CHANGES.write(root, changes)
    TRIALS.write(root, trials)
    SLOWER.write(root, slower)
    won = _races(root, found)
    fabric = found.plan.planned_fabric
    settings = launch_settings(found.measured, launches, fabric.stated_limits)
    model = fabric if found.modelled else None
    breakdown = breakdown_rows(found.turns, found.calls, found.cells, settings, model)
    BREAKDOWN.write(root, breakdown)
    CAUSES.write(root, find_causes(found.calls, breakdown, held_back, found.main))
    doubted = doubted_calls(found.calls, found.floor)
    sure = [row for row in breakdown if (row["cell"], row["call"]) not in doubted]
    clear = [row for row in found.calls if (row["cell"], row["call"]) not in doubted]
    helps = [
        *remedies(sure, won, found.cells, found.modelled, fabric),
        *bound_remedies(clear, breakdown, found.cells, won, modelled=found.modelled, fabric=fabric),
        *knob_remedies(trials, clear, found.modelled),
    ]
    order = {name: place for place, name in enumerate(found.cells)}
    REMEDIES.write(root, sorted(helps, key=lambda row: order[row["cell"]]))
    ROUND_TIMES.write(root, round_rows(found.turns, found.plan))
    stands = frozenset[Doubt](("steal",) if found.of_pairs and standing_outlier(root) else ())
    beyond = latency_beyond(_latencies(root, found), found.plan.planned_fabric) if found.modelled else None
    against = _quality(found, looks, main_verdict(verdicts), stands, beyond[1] if beyond else None)
    FINDINGS.write(root, _findings(root, found, changes, slower, trials))
    QUALITY.write(root, against)
    write_claims(root, found.plan, found.calls)


def _races(root: Path, found: Found) -> list[WinnerRow]:
    won = winners(found.calls, found.medians, found.plan.cells, modelled=found.modelled)
    WINNERS.write(root, won)
    GUIDELINES.write(root, guideline_rows(found.turns, found.cells))
    OVERLAPS.write(root, overlap_rows(found.turns, found.cells))
    IMPACTS.write(
        root, impact_rows(found.medians, found.cells, found.plan.planned_fabric, count_jobs(root, found.plan))
    )
    return won


def _verdicts(found: Found) -> list[VerdictRow]:
    # ranks that share cores wait for each other even in an empty operation: their floor says nothing about other cells
    shapes = {(row["nodes"], row["ranks_per_node"]) for row in found.calls if not row["oversubscribed"]}
    empty = [found.floor.value("empty", *shape) or 0.0 for shape in shapes]
    scalings = {series.name: series.scaling for series in found.plan.series}
    judged = [row for row in found.calls if row["call"] == found.main]
    doubted = doubts(judged, found.medians, found.measured, found.floor)
    omitted = left_out(found.cells, found.main)
    return verdicts(found.calls, scalings, found.main, max(empty, default=0.0), doubted, omitted)


def _changes(launches: Sequence[LaunchRow], found: Found) -> list[ChangeRow]:
    knobs = launch_knobs(found.measured, launches, found.plan.planned_fabric.stated_limits)
    order = {name: place for place, name in enumerate(found.cells)}
    series = sorted(size_series(found.calls, found.medians), key=lambda each: order[each.cell])
    changes = [
        name_knob(change, each, found.cells[each.cell], knobs.get(each.cell, Knobs("", {})))
        for each in series
        for change in find_change_overs(each, modelled=found.modelled)
    ]
    return mark_memory_effects(changes, series, found.cells)


def _slower(found: Found) -> list[SlowerRow]:
    order = {name: place for place, name in enumerate(found.cells)}
    series = [*size_series(found.calls, found.medians), *block_series(found.calls, found.medians, found.main)]
    ordered = sorted(series, key=lambda one: order[one.cell])
    return [row for each in ordered for row in slower_than_double(each, modelled=found.modelled)]


def _quality(
    found: Found, looks: Sequence[Look], answer: VerdictRow | None, stands: frozenset[Doubt], latency: float | None
) -> list[QualityRow]:
    precision = found.plan.measure.precision
    crowded = frozenset(cell.id for cell in found.plan.cells if cell.oversubscribed)
    given = (cell.parameters.get("inherited") for cell in found.plan.cells)
    inherited = [(each[0], each[1]) for each in given if each]
    return quality(
        _of_calls(found), found.measured, found.floor, precision, looks, medians=found.medians, answer=answer,
        modelled=found.modelled, crowded=crowded, stands=stands, fabric=found.plan.planned_fabric,
        inherited=inherited, latency=latency,
    )  # fmt: skip


def _classes(root: Path, found: Found) -> list[ClassRow]:
    return CLASSES.read(root) if found.of_pairs else []


def _latencies(root: Path, found: Found) -> list[ClassRow]:
    """Times of single messages: none where a window of them is one operation."""
    return [] if any("window" in cell.parameters for cell in found.plan.cells) else _classes(root, found)


def _of_calls(found: Found) -> list[CallRow]:
    """Rows with a time of their own, and failed ones: in a block of pair rounds, only each pair has a time."""
    return [row for row in found.calls if row["cell"] not in found.of_pairs or row["status"] != "ok" or row["reason"]]


def _trials(root: Path, changes: Sequence[ChangeRow]) -> list[TrialRow]:
    """Of the run beside this one in which knobs were moved, if there is one with tables."""
    moved = RunFolder(root).trials()
    if moved is None or not MEDIANS.path(moved.path).is_file():
        return []
    return trial_rows(changes, plan_of(moved), MEDIANS.read(moved.path))


def _findings(
    root: Path, found: Found, changes: Sequence[ChangeRow], slower: Sequence[SlowerRow], trials: Sequence[TrialRow]
) -> list[FindingRow]:
    findings = common_findings(_of_calls(found), found.measured, found.floor, found.plan.measure.precision)
    if found.modelled:  # its ranks run where the plan says, and one launch of it is enough
        findings = [each for each in findings if not each["what"].startswith(NO_SOCKETS)]
    else:
        findings += unjudged(found.calls, found.plan.cells)
    classes, measure = _classes(root, found), found.plan.measure
    if not found.modelled:
        findings += find_few_samples(_of_calls(found), measure.min_samples)
        findings += find_crowded_hosts(RANK_TABLE.read(root)) if found.plan.planned_fabric.is_emulated else []
        findings += few_of_pairs(classes, measure.launches, measure.min_samples)
    findings += mixed(LAUNCH_TABLE.read(root)) + waits_at_start(STARTUP.read(root))
    findings += range_findings(found.calls, found.cells, found.plan.planned_fabric, classes)
    findings += latency_findings(_latencies(root, found), found.plan.planned_fabric) if found.modelled else []
    findings += protocol_findings(changes, slower, found.cells, trials, modelled=found.modelled)
    return by_gravity([*findings, *(pair_findings(root, found.plan) if found.of_pairs else [])])
