# SPDX-License-Identifier: BSD-3-Clause
"""tara's tree extended beyond its 36 nodes: simulated as far as the budget goes, bounded further."""

from itertools import pairwise

from weft.fidelity import PARTS, Part
from weft.fidelity.bench import Bench, Row, time_or_status
from weft.report.numbers import bound_text
from weft.report.view import RunView
from weft.tabular import Table

STUDY, FABRIC = "tara-beyond", "tara-extended"
WORTH = 1.05  # a doubling of the nodes that saves less than this is not worth it


def compute(bench: Bench) -> Part:
    """Strong and weak scaling to 576 nodes."""
    view = bench.run(STUDY, FABRIC)
    tables: list[Table] = []
    values: dict[str, float] = {}
    told: list[str] = []
    for series in view.plan.series:
        rows = view.of_series(series, "C")
        tables.append(table(series.name, rows))
        values |= {f"{series.name}{row['nodes']}": best(row) for row in rows}
        told.append(sentence(series.scaling, rows))
    simulated = max(row["nodes"] for row in view.rows if row["status"] == "ok")
    told.append(
        f"Simulated up to N = {simulated}; what would take longer than simulation.budget is a row `bound`, with its "
        f"lower "
        "bound alone. A bound is not a prediction: nothing can be faster."
    )
    told.append(eager_words(view))
    return Part("beyond", PARTS["beyond"], tuple(told), tuple(tables), values)


def table(series: str, rows: list[Row]) -> Table:
    """One series."""
    lines = tuple(
        (str(row["nodes"]), str(row["ranks"]), block_text(row), time_or_status(row), bound_text(row)) for row in rows
    )
    return Table(f"{series}: C on tara extended (simulated)", ("N", "p", "block", "simulated", "at least"), lines)


def best(row: Row) -> float:
    """The simulated time, else the bound."""
    return float(row["median_s"] if row["status"] == "ok" else row["bound_s"])


def block_text(row: Row) -> str:
    """A block in bytes."""
    return f"{row['block_bytes']:,} B"


def sentence(kind: str, rows: list[Row]) -> str:
    """Where a series stops scaling, as far as it was simulated."""
    seen = [row for row in rows if row["status"] == "ok"]
    first, last = seen[0], seen[-1]
    if kind == "weak":
        factor, end = last["median_s"] / first["median_s"], rows[-1]
        return (
            f"Weak: the time rises by {factor:.2f} from N = {first['nodes']} to {last['nodes']}; at N = "
            f"{end['nodes']} the "
            f"bound is {bound_text(end)}. It rises towards what the adapter takes for all of a node's array, so "
            f"scaling "
            "is lost between the first nodes and hardly any more beyond."
        )
    for before, after in pairwise(seen):
        if before["median_s"] < WORTH * after["median_s"]:
            return (
                f"Strong: all-to-all stops scaling between N = {before['nodes']} and {after['nodes']}: "
                f"{time_or_status(before)} against {time_or_status(after)}. There the cost of {after['ranks'] - 8} "
                f"messages "
                "a rank, which grows with the ranks, outweighs the bytes, which shrink."
            )
    return f"Strong: the time still falls at N = {last['nodes']}."


def eager_words(view: RunView) -> str:
    """What happens to the cost of a message where blocks get small."""
    network = view.plan.planned_fabric.network
    limit = network.eager_limit if network else None
    return (
        f"Blocks of at most {limit:,} B go without asking first (eager), and the papers tell nothing of what such a "
        f"message "
        "costs: the file charges latency alone, so a strong series that comes to such blocks drops to a time that is a "
        "lower limit rather than a prediction."
    )
