# SPDX-License-Identifier: BSD-3-Clause
"""Output of ``weft plan``: the papers' memory table of each series, the cells, and the expected duration."""

import os
from collections.abc import Callable, Iterator, Sequence

from weft.bound.placed import CAUSES
from weft.format import format_bytes, format_seconds, with_title
from weft.host import read_host
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell, Plan
from weft.plan.rounds import breakdown_s
from weft.plan.schedules import foreseen_cost, foreseen_s
from weft.plan.simulation_budget import refusal, simulation_of
from weft.report.tabular import Table, Words, comma_separated, markdown, terminal
from weft.text import console, markdown_text

# The papers' own units: their kB is 1024 B. Everywhere else Weft writes KiB (METHOD 25).
PAPER_UNITS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30}
CSV_COLUMNS = (
    "cell", "series", "nodes", "ranks_per_node", "ranks", "n", "m", "block_bytes", "local_bytes", "array_bytes",
    "memory_rank_bytes", "memory_node_bytes", "memory_job_bytes", "memory_limit_bytes", "bound_s", "bound",
    "oversubscribed", "status", "reason", "bound_most_s", "not_modelled",
)  # fmt: skip


def paper_sizes(sizes: Sequence[int], unit: str) -> list[str]:
    """Sizes as the papers print them: whole numbers of ``unit`` (of a smaller one if below half), rounded half up."""
    *smaller, unit = list(PAPER_UNITS)[: list(PAPER_UNITS).index(unit) + 1]
    while smaller and min(sizes) * 2 < PAPER_UNITS[unit]:
        unit = smaller.pop()
    factor = PAPER_UNITS[unit]
    return [f"{(2 * size + factor) // (2 * factor):,} {unit}" for size in sizes]


def memory_table(cells: Sequence[Cell], title: str) -> Table:
    """Memory of one array at each cell of a series, as Tables 4.1 and 4.3 of paper 000 print it."""

    def numbers(of: Callable[[Cell], int]) -> Iterator[str]:
        return (f"{of(cell):,}" for cell in cells)

    rows = (
        ("Processes p", *numbers(lambda cell: cell.ranks)),
        ("Dimension m", *numbers(lambda cell: cell.parameters["m"])),
        ("Length n of global array", *numbers(lambda cell: cell.parameters["n"])),
        ("Memory", *paper_sizes([cell.array_bytes for cell in cells], "GB")),
        ("Length l_n = n/p of local arrays", *numbers(lambda cell: cell.parameters["n"] // cell.ranks)),
        ("Memory", *paper_sizes([cell.local_bytes for cell in cells], "MB")),
        ("Length l_n/p of blocks", *numbers(lambda cell: cell.parameters["n"] // cell.ranks // cell.ranks)),
        ("Memory", *paper_sizes([cell.block_bytes for cell in cells], "kB")),
    )
    return Table(title, ("Nodes N", *numbers(lambda cell: cell.nodes)), rows)


def memory_tables(plan: Plan, names: Sequence[str] | None = None) -> list[Table]:
    """One memory table for each series of m-vectors, or for each of these names."""
    cells: dict[str, list[Cell]] = {series.name: [] for series in plan.series if names is None or series.name in names}
    for cell in plan.measured:
        for name in cell.series if {"n", "m"} <= set(cell.parameters) else ():
            cells.get(name, []).append(cell)
    known = {f"{name}: memory of one array (1 kB = 1024 B)": found for name, found in cells.items() if found}
    return [memory_table(found, title) for title, found in known.items()]


def bound_of(cell: Cell) -> tuple[str, str]:
    """Lower bound and its name as text; its range and what makes it one where the model leaves something out."""
    if (bound := cell.bound) is None or not bound.effects:
        return (format_seconds(bound.seconds), bound.name) if bound else ("-", "")
    return f"{format_seconds(bound.seconds)} to {format_seconds(bound.most_s)}", f"{bound.name}; {bound.causes}"


def _cells_table(plan: Plan) -> Table:
    rows: list[tuple[str, ...]] = []
    for cell in plan.measured:
        mark = "oversubscribed" if cell.oversubscribed and cell.status == "planned" else cell.status
        counts = (f"{cell.nodes}", f"{cell.ranks_per_node}", f"{cell.ranks}")
        what, memory = kernel_named(cell.kernel).words(cell.parameters), cell.memory
        needed = (cell.block_bytes, memory.rank_bytes, memory.node_bytes, memory.job_bytes)
        rows.append((cell.id, *counts, what, *map(format_bytes, needed), *bound_of(cell), mark))
    sweeps = any("bytes" in cell.parameters for cell in plan.measured)
    what, block = (Words("what"), "up to") if sweeps else ("m", "block")
    sizes = ("a rank", "a node", "the job", "at least")
    columns = (Words("cell"), "N", "r", "p", what, block, *sizes, Words("because of"), Words("status"))
    return Table("Cells: memory needed, lower bound of the time", columns, tuple(rows))


def remarks(plan: Plan) -> list[str]:
    """Duration, then why cells cannot run, then notes about the plan."""
    impossible = [cell for cell in plan.measured if cell.status != "planned"]
    duration = "nothing can be launched"
    if plan.launches:
        duration = f"{len(plan.launches)} launches: a first guess is {format_seconds(plan.expected_s)}, "
        duration += "their starts and samples at their lower bounds"
        if (simulating := simulated(plan)) is not None:
            duration = f"{len(plan.launches)} launches: {simulating}"
        elif breakdowns := sum(breakdown_s(plan.cell(name), plan) for launch in plan.launches for name in launch.cells):
            duration += f", {format_seconds(breakdowns)} of it to explain all-to-alls (explain = false leaves that out)"
    if impossible:
        duration += f"; {len(impossible)} of {len(plan.measured)} cells cannot run"
    bounds = (bound for cell in plan.measured for bound in cell.bounds.values())
    left_out = sorted({effect.cause for bound in bounds for effect in bound.effects})
    return [
        duration,
        *(f"{cell.id}: {cell.status}: {cell.reason}" for cell in impossible),
        *(f"not modelled: {cause}: {CAUSES[cause].what}" for cause in left_out),
        *plan.notes,
    ]


def simulated(plan: Plan) -> str | None:
    """What simulating the launches of a plan costs this host, and takes at its load; None without one in the budget."""
    if not plan.is_model:
        return None
    fabric, costs = plan.planned_fabric, list[float]()
    for launch in plan.launches:
        cells = [plan.cell(name).requested for name in launch.cells]
        cost = foreseen_cost(fabric, cells, launch.ranks, launch.ranks_per_node, launch.settings)
        if not refusal(cost, launch.ranks, simulation_of(fabric)):
            costs.append(cost.seconds)
    if not costs:
        return None
    load = os.getloadavg()[0]
    took = format_seconds(foreseen_s(costs, read_host().cores, load))
    return f"about {format_seconds(sum(costs))} of processor time, {took} at this host's load of {load:.1f}"


def heading(plan: Plan) -> str:
    """Study and fabric in one line."""
    return with_title(f"{plan.study} on {plan.fabric} ({plan.fabric_kind})", plan.title)


def as_markdown(plan: Plan) -> str:
    """The whole plan in Markdown."""
    tables = [markdown(table) for table in (*memory_tables(plan), _cells_table(plan))]
    notes = "\n".join(f"- {markdown_text(remark)}" for remark in remarks(plan))
    return "\n\n".join([f"# {markdown_text(heading(plan))}", *tables, notes]) + "\n"


def as_csv(plan: Plan) -> str:
    """The cells as CSV: bytes and seconds, unrounded."""
    rows: list[tuple[object, ...]] = []
    for cell in plan.measured:
        shape = (cell.id, " ".join(cell.series), cell.nodes, cell.ranks_per_node, cell.ranks)
        lengths = (cell.parameters.get(name) for name in ("n", "m"))
        sizes = (*lengths, cell.block_bytes, cell.local_bytes, cell.array_bytes)
        memory, bound = cell.memory, cell.bound
        limits = (memory.rank_bytes, memory.node_bytes, memory.job_bytes, memory.limit_bytes)
        least, most = ((bound.seconds, bound.name), (bound.most_s, bound.causes)) if bound else ((None, ""), (None, ""))
        rows.append((*shape, *sizes, *limits, *least, cell.oversubscribed, cell.status, cell.reason, *most))
    return comma_separated(CSV_COLUMNS, rows)


def print_text(plan: Plan) -> None:
    """Print the whole plan, as wide as the terminal (120 columns without one)."""
    out = console(120)
    out.print(heading(plan), style="bold")
    for table in (*memory_tables(plan), _cells_table(plan)):
        out.print()
        out.print(terminal(table))
    for remark in remarks(plan):
        out.print(remark)
