# SPDX-License-Identifier: BSD-3-Clause
"""tara's tree extended beyond its 36 nodes: simulated as far as the budget allows, then by the closed form."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from weft.analyse.sensitivity import WORTH
from weft.analyse.tables.breakdown import SENSITIVITY, SensitivityRow
from weft.analyse.tables.times import CallRow, TimedRow, timed
from weft.fit.inputs import MeasuredCell
from weft.fit.run import bound_time
from weft.format import measured_seconds
from weft.papers import PARTS, Bench, Part, time_or_status
from weft.report.intervals import bound_text
from weft.report.tables import sensitivity_table
from weft.report.tabular import Table, existing
from weft.report.view import RunView

STUDY, FABRIC, CALL = "tara-beyond", "tara-extended", "C"
COLUMNS = ("N", "p", "block", "simulated", "closed form", "at least")


def compute(bench: Bench) -> Part:
    """Strong and weak scaling to 576 nodes, after what these verdicts depend on."""
    view = bench.run(STUDY, FABRIC)
    hangs = SENSITIVITY.read(view.path)
    tables, values, sentences = list[Table](), dict[str, float](), list[str]()
    for series in view.plan.series:
        rows = view.of_series(series, CALL)
        closed_s, seen = [closed_form(view, row) for row in rows], timed(rows)
        tables.append(table(series.name, rows, closed_s))
        values |= {f"{series.name}{row['nodes']}": row["median_s"] for row in seen}
        values |= {f"{series.name}{row['nodes']}_closed": seconds for row, seconds in zip(rows, closed_s, strict=True)}
        weak = series.scaling == "weak"
        sentences.append(weak_sentence(seen, rows[-1]["nodes"], closed_s[-1]) if weak else strong_sentence(seen))
    sentences += [sensitivity_words(hangs), reach(view), eager_words(view)]
    moved = sensitivity_table(hangs, "Each fitted or assumed number over its plausible range (simulated, closed form)")
    values |= {f"flips_{row['series']}_{row['key']}": row["flips_at"] for row in hangs if row["flips_at"] is not None}
    found = (*filter(None, (view.claim_line("depends"),)), *sentences)
    return Part("beyond", PARTS["beyond"], found, (*existing(replace(moved, rows=moved.rows[1:])), *tables), values)


def sensitivity_words(rows: Sequence[SensitivityRow]) -> str:
    """How many of the moved numbers turn a verdict, and how they were moved, as a sentence."""
    flips = sum(row["flips"] for row in rows)
    return (
        f"{flips} of the {len(rows)} rows of the next table turn{'s' if flips == 1 else ''} a verdict. A fitted number "
        "moves by 10 % either way, an assumed one over what machines of this kind have; one at a time, and two "
        "together where neither turns the verdict alone. It costs nothing: the closed form gives the ratio, and "
        "nothing is simulated again."
    )


def closed_form(view: RunView, row: CallRow) -> float:
    """Seconds of a row's cell from the closed form."""
    cell = MeasuredCell(
        nodes=row["nodes"], ranks_per_node=row["ranks_per_node"], n=row["n"] or 0, m=row["m"] or 0, call=CALL,
        seconds=1.0, name="",
    )  # fmt: skip
    return bound_time(view.plan.planned_fabric, cell)


def table(series: str, rows: Sequence[CallRow], closed_s: Sequence[float]) -> Table:
    """The table of one series, with the time of the closed form for each row."""
    lines = tuple(
        (
            str(row["nodes"]), str(row["ranks"]), f"{row['block_bytes']:,} B", time_or_status(row),
            measured_seconds(seconds), bound_text(row),
        )
        for row, seconds in zip(rows, closed_s, strict=True)
    )  # fmt: skip
    return Table(f"{series}: C on tara extended (simulated)", COLUMNS, lines)


def strong_sentence(seen: Sequence[TimedRow]) -> str:
    """The number of nodes at which the all-to-all stops scaling, as far as it was simulated, as a sentence."""
    for before, after in pairwise(seen):
        if before["median_s"] < WORTH * after["median_s"]:
            others, times = after["ranks"] - after["ranks_per_node"], (before["median_s"], after["median_s"])
            return (
                f"Strong: all-to-all stops scaling between N = {before['nodes']} and {after['nodes']}: "
                f"{' against '.join(map(measured_seconds, times))}. There the cost of {others} messages a rank, which "
                "grows with the ranks, outweighs the bytes, which shrink."
            )
    return f"Strong: the time still falls at N = {seen[-1]['nodes']}."


def weak_sentence(seen: Sequence[TimedRow], most: int, closed_s: float) -> str:
    """The finding on weak scaling, as a sentence: the simulated rows, then the closed form at the most nodes."""
    first, last = seen[0], seen[-1]
    return (
        f"Weak: the time rises from {measured_seconds(first['median_s'])} at N = {first['nodes']} to "
        f"{measured_seconds(last['median_s'])} at N = {last['nodes']} (simulated), and to "
        f"{measured_seconds(closed_s)} at N = {most} by the closed form: the bytes that leave a node hardly grow any "
        "more, the messages do."
    )


def reach(view: RunView) -> str:
    """How far the simulation went, and why it stopped there, as a sentence."""
    rows = ((series.name, timed(view.of_series(series, CALL))) for series in view.plan.series)
    ends = [f"up to N = {max(row['nodes'] for row in seen)} in {name}" for name, seen in rows if seen]
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
        "message costs its sender: the file charges what larger ones were fitted to. Should they cost less, the strong "
        "series falls where its blocks come below that limit."
    )
