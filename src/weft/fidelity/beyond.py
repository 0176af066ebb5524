# SPDX-License-Identifier: BSD-3-Clause
"""tara's tree extended beyond its 36 nodes: simulated as far as the budget allows, then by the closed form."""

from collections.abc import Sequence
from itertools import pairwise

from weft.analyse.sensitivity import WORTH
from weft.analyse.tables.sensitivity import SensitivityRow
from weft.fidelity import PARTS, Part
from weft.fidelity.bench import Bench, Row, time_or_status
from weft.fit.inputs import MeasuredCell
from weft.fit.models import bound_time
from weft.format import measured_seconds
from weft.report.numbers import bound_text
from weft.report.sensitivity import flip_sentences, sensitivities, sensitivity_table
from weft.report.tabular import Table
from weft.report.view import RunView

STUDY, FABRIC, CALL = "tara-beyond", "tara-extended", "C"
COLUMNS = ("N", "p", "block", "simulated", "closed form", "at least")


def compute(bench: Bench) -> Part:
    """Strong and weak scaling to 576 nodes, after what these verdicts depend on."""
    view = bench.run(STUDY, FABRIC)
    hangs = sensitivities(view)
    tables: list[Table] = []
    values: dict[str, float] = {}
    told: list[str] = []
    for series in view.plan.series:
        rows: list[Row] = [{**row, "closed_s": closed_form(view, dict(row))} for row in view.of_series(series, CALL)]
        tables.append(table(series.name, rows))
        values |= {f"{series.name}{row['nodes']}": row["median_s"] for row in rows if row["status"] == "ok"}
        values |= {f"{series.name}{row['nodes']}_closed": row["closed_s"] for row in rows}
        told.append(weak_sentence(rows) if series.scaling == "weak" else strong_sentence(rows))
    told += [sensitivity_words(hangs), reach(view), eager_words(view)]
    moved = sensitivity_table(hangs, "Each fitted or assumed number over its plausible range (simulated, closed form)")
    values |= {f"flips_{row['series']}_{row['key']}": row["flips_at"] for row in hangs if row["flips_at"] is not None}
    found = (*flip_sentences(hangs), *told)
    return Part("beyond", PARTS["beyond"], found, (*([moved] if moved else []), *tables), values)


def sensitivity_words(rows: Sequence[SensitivityRow]) -> str:
    """How many of the moved numbers turn a verdict, and how they were moved, as a sentence."""
    flips = sum(row["flips"] for row in rows)
    return (
        f"Of {len(rows)} pairs of a number and a series, {flips} turn the verdict somewhere in the number's plausible "
        "range: 10 % either way for a fitted number, what machines of this kind have for an assumed one. One number "
        "is moved at a time, by the ratio of the closed form, at no cost: nothing is simulated again."
    )


def closed_form(view: RunView, row: Row) -> float:
    """Seconds of a row's cell from the closed form."""
    cell = MeasuredCell(
        nodes=row["nodes"], ranks_per_node=row["ranks_per_node"], n=row["n"], m=row["m"], call=CALL, seconds=1.0,
        name="",
    )  # fmt: skip
    return bound_time(view.plan.planned_fabric, cell)


def table(series: str, rows: list[Row]) -> Table:
    """The table of one series."""
    lines = tuple(
        (
            str(row["nodes"]), str(row["ranks"]), f"{row['block_bytes']:,} B", time_or_status(row),
            measured_seconds(row["closed_s"]), bound_text(row),
        )
        for row in rows
    )  # fmt: skip
    return Table(f"{series}: C on tara extended (simulated)", COLUMNS, lines)


def strong_sentence(rows: list[Row]) -> str:
    """The number of nodes at which the all-to-all stops scaling, as far as it was simulated, as a sentence."""
    seen = [row for row in rows if row["status"] == "ok"]
    for before, after in pairwise(seen):
        if before["median_s"] < WORTH * after["median_s"]:
            others = after["ranks"] - after["ranks_per_node"]
            return (
                f"Strong: all-to-all stops scaling between N = {before['nodes']} and {after['nodes']}: "
                f"{time_or_status(before)} against {time_or_status(after)}. There the cost of {others} messages a "
                f"rank, "
                "which grows with the ranks, outweighs the bytes, which shrink."
            )
    return f"Strong: the time still falls at N = {seen[-1]['nodes']}."


def weak_sentence(rows: list[Row]) -> str:
    """The finding on weak scaling, as a sentence."""
    seen = [row for row in rows if row["status"] == "ok"]
    first, last, end = seen[0], seen[-1], rows[-1]
    return (
        f"Weak: the time rises from {time_or_status(first)} at N = {first['nodes']} to {time_or_status(last)} at N = "
        f"{last['nodes']} (simulated), and to {measured_seconds(end['closed_s'])} at N = {end['nodes']} by the closed "
        f"form: "
        "the bytes that leave a node hardly grow any more, the messages do."
    )


def reach(view: RunView) -> str:
    """How far the simulation went, and why it stopped there, as a sentence."""
    ends = [
        f"up to N = {max(row['nodes'] for row in rows if row['status'] == 'ok')} in {series.name}"
        for series in view.plan.series
        if (rows := view.of_series(series, CALL)) and any(row["status"] == "ok" for row in rows)
    ]
    return (
        f"Simulated {' and '.join(ends)}. What would take longer than simulation.budget is a row `bound`: it has its "
        "lower bound, and here the closed form of the fit (page on simulated machines): bytes over rates, and the cost "
        "of each message."
    )


def eager_words(view: RunView) -> str:
    """How the cost of a message changes as blocks become small, as a sentence."""
    network = view.plan.planned_fabric.network
    limit = (network.eager_limit if network else None) or 0
    return (
        f"Blocks of at most {limit:,} B go without asking first (eager), and the papers do not say what such a "
        "message costs: the file charges latency alone. So the strong series drops where its blocks come below that "
        "limit, to times that are lower limits and no predictions."
    )
