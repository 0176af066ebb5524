# SPDX-License-Identifier: BSD-3-Clause
"""Who wins where, and what the cost model expected, as text."""

from collections.abc import Sequence

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.format import format_bytes, format_seconds
from weft.report.tabular import Table, Words
from weft.tune.model import Machine
from weft.tune.rules import Choice
from weft.tune.study import ordered


def winners_table(title: str, found: Sequence[Choice], fabric: Fabric) -> Table:
    """One row for each call, shape and size: the choice, its time, the library's, and the predicted winner."""
    rows = [
        (
            choice.op,
            f"N = {choice.nodes}, p = {choice.ranks}",
            format_bytes(choice.block_bytes),
            choice.algorithm,
            format_seconds(choice.median_s),
            format_seconds(choice.default_s),
            f"{100 * (1 - choice.ratio):.0f} %" if choice.ratio < 1 else "–",
            *_predicted(choice, fabric),
        )
        for choice in found
    ]
    columns = (
        Words("call"),
        Words("shape"),
        "block",
        Words("take"),
        "time",
        "library",
        "saved",
        Words("predicted winner"),
        "predicted",
    )
    return Table(title, columns, tuple(rows))


def _predicted(choice: Choice, fabric: Fabric) -> tuple[str, str]:
    try:
        machine = Machine.of(fabric)
    except FabricError:
        return "–", "–"
    shape = (choice.nodes, choice.ranks_per_node, choice.block_bytes)
    best = ordered(fabric, *shape)[0]
    return best, format_seconds(machine.seconds(best, *shape))
