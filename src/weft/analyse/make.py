# SPDX-License-Identifier: BSD-3-Clause
"""Making a run's tables: times and calls from its samples and its plan, then its answers, from verdicts to findings."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from weft.analyse import calls
from weft.analyse.breakdown import breakdown_rows, round_rows
from weft.analyse.checks import NO_SOCKETS, below_floor, by_gravity, common_findings, make_finding, mixed, self_checks
from weft.analyse.claims.kernels.interference import count_jobs, impact_rows
from weft.analyse.claims.make import write_claims
from weft.analyse.doubts import doubts, few_of_pairs, find_crowded_hosts, find_few_samples, quality, with_shared_hosts
from weft.analyse.engine import Backend, Expression, connect, read
from weft.analyse.floor import BESIDE, Bounds, Floor, floor_rows, with_rates_beside
from weft.analyse.links import bottlenecks, find_causes, link_rows, load_rows
from weft.analyse.outliers.matched import matched_rounds
from weft.analyse.pairs.make import make_pair_analysis
from weft.analyse.pairs.pair_table import make_pair_tables
from weft.analyse.ranges import latency_beyond, latency_findings, left_out, range_findings
from weft.analyse.remedies import bound_remedies, knob_remedies, remedies
from weft.analyse.scaling import verdicts
from weft.analyse.sensitivity import sensitivity_rows
from weft.analyse.tables import answers, breakdown, pairs, times
from weft.analyse.tables.claims import QUALITY, Doubt, QualityRow
from weft.analyse.tables.pairs import ClassRow, class_text, largest
from weft.analyse.tables.sweeps import TRIALS, TrialRow
from weft.analyse.thresholds.knob import launch_settings, mark_memory_effects, name_knob
from weft.analyse.thresholds.series import block_series, size_series
from weft.analyse.thresholds.switches import find_change_overs, slower_than_double
from weft.analyse.thresholds.trials import protocol_findings, trial_rows, with_trials
from weft.analyse.times import is_of_breakdown, iteration_times, launch_weighted, order_statistics, turn_rows
from weft.analyse.winners import guideline_rows, overlap_rows, unjudged, winners
from weft.format import format_bytes, format_seconds, plural
from weft.kernel.registry import kernel_named, main_call
from weft.kernel.steps import split_step
from weft.mpi.knobs import Knobs
from weft.mpi.starting import DELAY_S
from weft.plan.records import Cell, Plan
from weft.plan.stored import plan_of
from weft.store.cells import folder_path
from weft.store.folder import RunFolder, read_looks
from weft.store.parquet import sample_files
from weft.store.rows import LAUNCH_TABLE, MEASURED, RANK_TABLE, SEGMENT_TABLE, LaunchRow, MeasuredRow
from weft.store.tables import write_parquet

GROUP = ["cell", "call", "phase"]
Samples = tuple[Expression, Expression]
Row = TypeVar("Row")
Classes = Sequence[ClassRow]


def make_tables(folder: Any, engine: str = "duckdb://") -> None:
    """Write the tables of `weft.analyse.tables`, ``calls`` last; run `weft.store.parquet.convert` first."""
    root = folder_path(folder)
    plan = plan_of(RunFolder(root))
    cells = {cell.id: cell for cell in plan.cells}
    launches = MEASURED.read(root)
    if not plan.is_model:
        launches = with_shared_hosts(launches, plan, root)
    segments = SEGMENT_TABLE.read(root)
    backend = connect(engine, root)
    of_pairs = {name for name, cell in cells.items() if kernel_named(cell.kernel).has_pair_samples}
    if of_pairs:
        make_pair_tables(root, backend, of_pairs)
        make_pair_analysis(root, plan, backend, launches)
    samples = _good_samples(root, backend, of_pairs)
    each = _write_iterations(root, backend, samples)
    medians: list[Any] = []  # rows of both tables
    if each is not None:
        key = ["launch", *GROUP]
        counts = each.group_by(key).agg(samples=each.count()).select("samples").distinct()
        sizes = sorted(counts.to_pyarrow()["samples"].to_pylist())
        medians = order_statistics(each, key, sizes).order_by(key).to_pyarrow().to_pylist() if sizes else []
    whole: list[Any] = launch_weighted(each, GROUP).order_by(GROUP).to_pyarrow().to_pylist() if medians else []
    found = calls.summaries(whole, medians, modelled=plan.is_model)
    times.MEDIANS.write(root, medians)
    times.QUARTILES.write(root, medians)
    turns = turn_rows(*samples) if samples and any(split_step(row["op"])[1] for row in segments) else []
    breakdown.TURNS.write(root, turns)
    times.STARTUP.write(root, [] if plan.is_model else calls.startup_rows(root, plan, medians))
    floors = with_rates_beside(floor_rows(found, cells), _beside(samples), cells)
    times.FLOOR.write(root, floors)
    counted = link_rows(root, plan, segments, medians, turns, launches)
    breakdown.LINKS.write(root, counted)
    known = Floor(floors)
    of_calls = [row for row in segments if not split_step(row["op"])[1]]
    rows = calls.call_rows(plan.cells, launches, of_calls, found, Bounds(plan.planned_fabric, known))
    write_answers(root, Found(plan, rows, medians, counted, launches, known, frozenset(of_pairs), turns))
    times.CALLS.write(root, rows)  # last: its presence means that all others are there


def _good_samples(root: Path, backend: Backend, but: Collection[str]) -> Samples | None:
    """Samples ``but`` of some cells, and all segments; None where there are none."""
    files = [path for path in sample_files(root) if path.stem not in but]
    if not files:
        return None
    statuses, segments = (read(backend, [root / "tables" / f"{name}.parquet"]) for name in ("cells", "segments"))
    # samples of an invalid cell stay in the store, but no table shows times of an exchange that delivered wrong data
    good = statuses.filter(statuses.status == "ok").select("cell", "launch")
    return read(backend, files).semi_join(good, ["cell", "launch"]), segments


def _beside(found: Samples | None) -> list[Any]:
    """``cell``, ``op`` and shortest ``seconds`` of what cells measured for their bounds."""
    if found is None:
        return []
    samples = found[0].filter(found[0]["op"].startswith(BESIDE) & (found[0].phase == "warm"))
    ns = samples.duration_ns.max() / samples.batch.max()
    longest = samples.group_by(["cell", "launch", "op", "iteration"]).agg(ns=ns)
    return longest.group_by(["cell", "op"]).agg(seconds=longest.ns.min() / 1e9).to_pyarrow().to_pylist()


def _write_iterations(root: Path, backend: Backend, found: Samples | None) -> Expression | None:
    """Write the time of each iteration; as a table of the engine, None without samples."""
    table, batches = times.ITERATIONS, list[Any]()
    if found:
        rows = iteration_times(found[0].filter(~is_of_breakdown(found[0])), found[1]).rename(call="op")
        # one whole table: DuckDB 2.0 removed the call with which Ibis 12 reads a result batch by batch
        batches = [rows.order_by(["cell", "call", "phase", "launch", "iteration"]).to_pyarrow()]
    write_parquet(table.path(root), batches, table.schema, "weft-iterations/1", differences=("iteration",))
    return read(backend, [table.path(root)]) if batches else None


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
    verdicts, loads = _verdicts(found), load_rows(found.links)
    held_back = bottlenecks(found.calls, loads, found.main)
    won = winners(found.calls, found.medians, plan.cells, modelled=modelled)
    settings = launch_settings(found.measured, launches, fabric.stated_limits)
    steps = breakdown_rows(found.turns, found.calls, found.cells, settings, fabric if modelled else None)
    classes = pairs.CLASSES.read(root) if found.of_pairs else []
    # times of single messages: none where a window of them is one operation
    latencies = [] if any("window" in cell.parameters for cell in plan.cells) else classes
    findings = _findings(root, found, classes, latencies)
    findings += protocol_findings(changes, slower, found.cells, trials, modelled=modelled)
    findings += _pair_findings(root, plan) if found.of_pairs else []
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
    found: Found, steps: Sequence[breakdown.BreakdownRow], won: Sequence[answers.WinnerRow], trials: Sequence[TrialRow]
) -> list[breakdown.RemedyRow]:
    modelled, fabric = found.plan.is_model, found.plan.planned_fabric
    # nothing is advised where times contradict themselves, their bound or the noise floor
    doubted = {
        (row["cell"], row["call"])
        for row in found.calls
        if row["phase"] == "warm" and (self_checks([row]) or below_floor([row], found.floor))
    }
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


def _quality(root: Path, found: Found, answer: answers.VerdictRow | None, latencies: Classes) -> list[QualityRow]:
    plan = found.plan
    every = pairs.NAMES.read(root) if found.of_pairs else []
    # an answer with a cause of slow pairs that CPU steal could not have made
    stand = bool(every) and not all(row["doubted"] for row in largest(pairs.OUTLIERS.read(root), every))
    stands = frozenset[Doubt](("steal",) if stand else ())
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
    moved = RunFolder(root).inner("confirm")
    if moved is None or not times.MEDIANS.path(moved.path).is_file():
        return []
    return trial_rows(changes, plan_of(moved), times.MEDIANS.read(moved.path))


def _findings(root: Path, found: Found, classes: Classes, latencies: Classes) -> list[answers.FindingRow]:
    measure, fabric = found.plan.measure, found.plan.planned_fabric
    findings = common_findings(found.own, found.measured, found.floor, measure.precision)
    if found.plan.is_model:  # its ranks run where the plan says, and one launch of it is enough
        findings = [each for each in findings if not each["what"].startswith(NO_SOCKETS)]
    else:
        findings += unjudged(found.calls, found.plan.cells) + find_few_samples(found.own, measure.min_samples)
        findings += find_crowded_hosts(RANK_TABLE.read(root)) if fabric.is_emulated else []
        findings += few_of_pairs(classes, measure.launches, measure.min_samples)
    findings += mixed(LAUNCH_TABLE.read(root))
    findings += [
        make_finding(  # a component of the library only waits in MPI_Init
            "start-up", f"N = {row['nodes']}, p = {row['ranks']}", init=format_seconds(row["init_s"] or 0.0),
            delay=format_seconds(DELAY_S), component=row["waits"], launches=plural(row["launches"], "launch"),
        )
        for row in times.STARTUP.read(root)
        if row["waits"]
    ]  # fmt: skip
    findings += range_findings(found.calls, found.cells, fabric, classes)
    return findings + (latency_findings(latencies, fabric) if found.plan.is_model else [])


def _pair_findings(root: Path, plan: Plan) -> list[answers.FindingRow]:
    """What is inconsistent or only sampled of the largest placement; none where no pair was measured."""
    every = pairs.NAMES.read(root)
    if not every:
        return []
    names, classes = largest(every, every), largest(pairs.CLASSES.read(root), every)
    unknown, ranks = names[0]["unknown"], sum(row["on_node"] for row in names)
    found = [make_finding("no-routes", "all pairs", unknown=unknown)] if unknown and len(names) > 1 else []
    counts, many = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for row in classes:
        if row["broken"]:  # METHOD 20 for every pair
            broken = plural(row["broken"], "pair")
            found.append(make_finding("self-check.pairs", class_text(row), broken=broken, pairs=row["pairs"]))
        counts[row["bytes"], row["mode"]] += row["pairs"]
        if row["slow"] is None:  # pairs of ranks were too many to judge each
            many[row["bytes"], row["mode"]] += row["pairs"]
    possible = 0 if matched_rounds(plan) else ranks * (ranks - 1)  # a check means to measure few
    for (size, mode), count in sorted(counts.items()):
        if count < possible:
            found.append(make_finding("sample", f"{format_bytes(size)}, {mode}", count=count, possible=possible))
    if many:
        found.append(make_finding("by-nodes", "all pairs", pairs=plural(max(many.values()), "pair")))
    return found
