# SPDX-License-Identifier: BSD-3-Clause
"""Planning a study on a fabric: its cells with memory and lower bounds, and its launches."""

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Literal

from weft.bound.links import fullest_links
from weft.bound.placed import alone_s_per_byte, bounds, main_of
from weft.errors import StudyError
from weft.fabric.model import Fabric, complete, memory_limit
from weft.fabric.presets import SHEET_ERRORS
from weft.format import format_rate, format_seconds
from weft.host import Host, Limit, read_host
from weft.kernel import Shape, find_hosts
from weft.kernel.budget import ROOM, time_limit
from weft.kernel.jobs import team_of, team_values
from weft.kernel.registry import FLOOR, KERNELS, kernel_named
from weft.kernel.steps import MOST_RANKS
from weft.plan.records import Cell, Job, Plan, PlannedSeries, memory_need, shapes
from weft.plan.rounds import launches_of, with_launches
from weft.plan.schedules import foreseen
from weft.plan.trials import LEAST_LAUNCHES, budget_within, rounds_within, share_within
from weft.plan.wire import budgets_beside
from weft.study import MOST_CELLS, Measure, Study

MODEL_SEED = 1
NAMED = 4  # cells by name in a note; the others are counted
USUAL_COPY_RATE = 4e9  # bytes/s that one core copies, beyond its caches: a guess for expected times only


def make_plan(
    study: Study, fabric: Fabric, *, predict: bool = True, host: Host | None = None,
    library: str | Callable[[], str] = "", notes: Sequence[str] = (),
) -> Plan:  # fmt: skip
    """Plan a study whose best nodes are resolved; starts nothing. StudyError, FabricError if it is impossible.
    `predict`: whether to assume a usual copy rate where the fabric states none, for the expected times (kind local).
    `library`: version string of the MPI library, empty if unknown, or what finds it.
    """
    host = host or read_host()
    find = library if callable(library) else lambda: library
    plan = planned(study, fabric, host, find, notes, predict=predict)
    share = share_within(plan)
    most = max((cell.launched.nodes for cell in plan.measured), default=0)
    smaller = KERNELS[study.kernel].smaller(study, share, most) if share < 1 else None
    if smaller is None:
        return plan
    fewer, words = smaller
    room = f"so that {LEAST_LAUNCHES} launches fit into {format_seconds(study.measure.time)}: a run with more --time"
    changed = planned(fewer, fabric, host, find, [*notes, f"{words}, {room} has more"], predict=predict)
    return changed if any(cell.status == "planned" for cell in changed.measured) else plan


def planned(
    study: Study, fabric: Fabric, host: Host, find: Callable[[], str], notes: Sequence[str], *, predict: bool
) -> Plan:
    """The plan of a study with arrays as it asks for them; ``find`` returns the version of the MPI library."""
    given_memory = fabric.node.memory
    limit = memory_limit(fabric, host)
    fabric = complete(fabric, host)
    noted = list(notes)
    fabric = with_usual_rate(fabric, noted) if predict else fabric
    seed = seed_of(study, fabric, noted)
    measure = study.measure.model_copy(update={"seed": seed})
    cells = study_cells(study, fabric, limit, noted, find)
    if fabric.is_model:
        noted.append("one launch, no noise floor: a simulation gives the same time again, at the rates of the fabric")
        measure = measure.model_copy(update={"launches": 1})
    noted += preset_notes(fabric)
    floors = [] if fabric.is_model else floor_cells(cells, measure, limit)
    # limits that the kernel cannot read itself: of the fabric file or the scheduler
    stated = [given_memory] if given_memory is not None else []
    stated += [limit.bytes] if limit and limit.by not in ("MemAvailable", "cgroup limit") else []
    plain = Plan(
        study=study.name, title=study.title, kernel=study.kernel, fabric=fabric.name, fabric_kind=fabric.kind,
        # A new object: the file's path and text do not go into plan.json, so they must not stay here.
        seed=seed, measure=measure, planned_fabric=Fabric.model_validate(fabric.model_dump()),
        memory_limit_bytes=min(stated, default=0), series=tuple(planned_series(study, cells)),
        cells=(*cells, *floors), launches=(), notes=tuple(noted),
    )  # fmt: skip
    launched = timed(plain)
    return launched.model_copy(update={"notes": (*plain.notes, *refusals(launched))})


def timed(plain: Plan) -> Plan:
    """The plan with its launches; where the study states the time of a run, with a budget that fits into it."""
    if not plain.measure.time or plain.is_model:
        return plain.model_copy(update={"launches": tuple(launches_of(plain))})
    measure = plain.measure.model_copy(update={"budget": budget_within(plain), "launches": 1})
    first = plain.model_copy(update={"measure": measure})
    first = first.model_copy(update={"launches": tuple(launches_of(first))})
    return with_launches(first, rounds_within(first))


def seed_of(study: Study, fabric: Fabric, notes: list[str]) -> int:
    """The study's seed; without one that of every model, or a drawn one, added to ``notes``."""
    if study.measure.seed is not None:
        return study.measure.seed
    seed = MODEL_SEED if fabric.is_model else secrets.randbelow(2**31)
    drawn = "is that of every model, whose times repeat" if fabric.is_model else "was drawn"
    notes.append(f"seed {seed} {drawn}: the study gives none")
    return seed


def refusals(plan: Plan) -> Iterable[str]:
    """A note for the launches of each shape that the launcher will refuse to start: simulations over their budget."""
    refused: dict[tuple[int, int], list[tuple[str, tuple[str, ...]]]] = {}
    for launch in sorted(plan.launches, key=lambda each: each.cells) if plan.is_model else ():
        asked = [plan.cell(name).requested for name in launch.cells]
        if why := foreseen(plan.planned_fabric, asked, launch.ranks, launch.ranks_per_node, launch.settings):
            refused.setdefault((launch.nodes, launch.ranks), []).append((why, launch.cells))
    for (nodes, ranks), each in refused.items():
        names = sorted(name for _, members in each for name in members)
        named = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        more = "" if len(each) == 1 else f"; other launches over it: {len(each) - 1}"
        yield f"{named} (N = {nodes}, p = {ranks}) will have a bound and no time: {each[0][0]}{more}"


def with_usual_rate(fabric: Fabric, notes: list[str]) -> Fabric:
    """The fabric with the copy rate that is usual for its cores where it states none, added to ``notes``."""
    if not fabric.runs_here or fabric.node.copy_rate or not fabric.node.cores:
        return fabric
    rate = USUAL_COPY_RATE * fabric.node.cores
    notes.append(f"expected times assume a copy rate of {format_rate(rate)}; the bounds of a run take measured rates")
    return fabric.model_copy(update={"node": fabric.node.model_copy(update={"copy_rate": rate})})


def preset_notes(fabric: Fabric) -> list[str]:
    """What numbers of data sheets are worth, if the fabric has some."""
    if not fabric.presets:
        return []
    named = " and ".join(fabric.presets)
    errors = ", ".join(f"{error} by {model}" for model, error in SHEET_ERRORS.items())
    return [
        f"numbers of data sheets ({named}): times of tara from data sheets alone err by {errors} (weft papers "
        "datasheet); measure a cell on one node and one on several, and fit to them: weft fabric fit"
    ]


Draft = tuple[Shape, dict[str, Any], list[str]]  # of a cell: its shape, parameters and series


def study_cells(
    study: Study, fabric: Fabric, limit: Limit | None, notes: list[str], library: Callable[[], str] = str
) -> list[Cell]:
    """Cells of all series, identical ones merged; adds to ``notes``. StudyError if there are more than `MOST_CELLS`."""
    kernel = KERNELS[study.kernel]
    drafts: dict[str, Draft] = {}
    for series in study.series:
        sweep = kernel.variants(study, kernel.sweep(study, series, shapes(series, fabric), fabric), library)
        notes.extend(note for note in sweep.notes if note not in notes)
        for shape, values in sweep.values:
            key = json.dumps([shape.hosts, shape.nodes, shape.ranks_per_node, values], sort_keys=True)
            drafts.setdefault(key, (shape, values, []))[2].append(series.name)
        if len(drafts) > MOST_CELLS:
            what = f"{study.path}: {len(drafts):,} cells up to series {series.name}"
            raise StudyError(what, f"split the study: at most {MOST_CELLS:,} cells keep a run readable")
    return [make_cell(f"c{index:03}", study, fabric, limit, draft) for index, draft in enumerate(drafts.values())]


def make_cell(name: str, study: Study, fabric: Fabric, limit: Limit | None, draft: Draft) -> Cell:
    """One cell with its placement, memory and lower bound."""
    shape, given, series = draft
    kernel, order = kernel_named(study.kernel), study.placement.order
    team = team_of(given, shape.nodes, shape.ranks_per_node, order)
    values: dict[str, Any] = given if len(set(team.counts)) == 1 else given | {"node_ranks": list(team.counts)}
    most = max(team.counts)
    sizes = kernel.sizes(values, team.ranks)
    terms, beside = kernel.need(values, team.ranks, study.measure), kernel.need_beside(values)
    if fabric.simulation:
        terms = fabric.simulation.staged(terms, team.ranks)
    memory = memory_need(terms, most, len(team.counts), limit)
    if beside and memory.fits:  # on nodes of their own, which may be fuller
        others = memory_need(beside, shape.ranks_per_node, shape.nodes - len(team.counts), limit)
        memory = memory if others.fits else others
    status, reason, hosts = placed(study, fabric, shape)
    if status == "planned" and not memory.fits:
        status, reason = "memory", memory.reason
    budgets = kernel.budgets(values, team.ranks) + budgets_beside(kernel, values)
    limit_s = time_limit(budgets, study.measure, values.get("expected_s", 0.0))
    each, cores = shape.ranks_per_node, fabric.node.cores or shape.ranks_per_node
    whole = Job(nodes=shape.nodes, ranks_per_node=each, ranks=shape.ranks, hosts=hosts, oversubscribed=each > cores)
    cell = Cell(
        id=name, kernel=study.kernel, series=tuple(dict.fromkeys(series)), nodes=len(team.counts), ranks_per_node=most,
        ranks=team.ranks, hosts=tuple(hosts[place] for place in team.places) if hosts else (), order=order,
        oversubscribed=most > cores,
        job=None if team.is_whole(shape.ranks) else whole, parameters=values,
        memory=memory, block_bytes=sizes.block, local_bytes=sizes.local, array_bytes=sizes.array,
        status=status, reason=reason, limit_s=limit_s + ROOM * kernel.apart_s(values),
    )  # fmt: skip
    return bounded(cell, fabric) if cell.hosts else cell  # without hosts it is unknown which links it would use


def bounded(cell: Cell, fabric: Fabric) -> Cell:
    """A placed cell with its lower bounds."""
    found = bounds(cell, fabric)
    explained = kernel_named(cell.kernel).explained(cell.parameters, cell.ranks)
    alone = alone_s_per_byte(cell, fabric) if explained else None
    known: dict[str, Any] = {"bounds": found, "bound": main_of(cell.kernel, found), "alone_s_per_byte": alone}
    if explained and cell.ranks <= MOST_RANKS and fabric.network is not None and fabric.network.is_read:
        known["round_links"] = tuple(fullest_links(cell, cell.order, fabric))
    return cell.model_copy(update=known)


Status = Literal["planned", "memory", "fabric"]


def placed(study: Study, fabric: Fabric, shape: Shape) -> tuple[Status, str, tuple[str, ...]]:
    """Status, reason and hosts of a cell: whether it can be placed, or why not."""
    hosts, why = find_hosts(study, fabric, shape)
    cores = fabric.node.cores or shape.ranks_per_node
    if hosts and shape.ranks_per_node > cores and not (shape.oversubscribed or study.placement.oversubscribe):
        why = f"{shape.ranks_per_node} ranks a node on {cores} cores; placement.oversubscribe = true would run them"
    return "fabric" if why else "planned", why, hosts


def planned_series(study: Study, cells: Sequence[Cell]) -> Iterable[PlannedSeries]:
    """The series of a study, each with the axis along which it grows."""
    counts: dict[str, set[int]] = {}
    for cell in cells:
        for name in cell.series:
            counts.setdefault(name, set()).add(cell.nodes)
    for series in study.series:
        axis = "nodes" if len(counts.get(series.name, ())) > 1 else "ranks"
        written = series.model_dump(mode="json", exclude_none=True)
        yield PlannedSeries(name=series.name, scaling=series.scaling, axis=axis, written=written)


def floor_cells(cells: Sequence[Cell], measure: Measure, limit: Limit | None) -> list[Cell]:
    """One floor for each launched shape, of its cells' copies, in two buffers of at most a quarter of the memory."""
    shaped: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        if cell.status == "planned" and kernel_named(cell.kernel).has_floor(cell.parameters):
            shaped.setdefault((cell.nodes, cell.ranks_per_node), []).append(cell)
    floors: list[Cell] = []
    for (nodes, each), alike in shaped.items():
        first = alike[0]
        traffics = (kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks).values() for cell in alike)
        sizes = {traffic.staying(nodes, each) // each for traffic in chain.from_iterable(traffics)}
        copies = {"copies": FLOOR.copies(sizes, limit.bytes // (8 * each) if limit else None)}
        memory = memory_need(FLOOR.need(copies, first.ranks, measure), each, nodes, limit)
        placed_as = {name: getattr(first, name) for name in (*Job.model_fields, "order", "job")}
        floors.append(Cell(
            **placed_as, id=f"f{len(floors):03}", kernel=FLOOR.name, series=(), memory=memory,
            parameters=team_values(first.parameters) | copies, status="planned" if memory.fits else "memory",
            reason=memory.reason, limit_s=time_limit(FLOOR.budgets(copies, first.ranks), measure),
        ))  # fmt: skip
    return floors
