# SPDX-License-Identifier: BSD-3-Clause
"""How long each round of a plain exchange takes, beside the link that it fills longest."""

from collections.abc import Sequence
from statistics import median

from weft.analyse.tables.breakdown import RoundRow, TurnRow
from weft.bound.links import Fullest, fullest_links
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.steps import ROUNDS
from weft.plan.records import Cell, Plan


def round_rows(turns: Sequence[TurnRow], plan: Plan) -> list[RoundRow]:
    """The rounds of every breakdown, by distance."""
    cells = {cell.id: cell for cell in plan.cells}
    seconds: dict[tuple[str, str], dict[int, list[float]]] = {}
    for turn in turns:
        if turn["step"] == ROUNDS:
            rounds = seconds.setdefault((turn["cell"], turn["call"]), {})
            rounds.setdefault(turn["place"], []).append(turn["seconds"])
    links = {name: _links(cells[name], plan.planned_fabric) for name in dict.fromkeys(cell for cell, _ in seconds)}
    return [
        _row(cells[name], call, distance, median(each), links[name])
        for (name, call), rounds in seconds.items()
        for distance, each in sorted(rounds.items())
    ]


def _links(cell: Cell, fabric: Fabric) -> list[Fullest]:
    if fabric.network is not None and fabric.network.is_read:  # a dump is no part of a run folder
        return [Fullest(link, s_per_byte) for link, s_per_byte in cell.round_links]
    return fullest_links(cell, cell.order, fabric)


def _row(cell: Cell, call: str, distance: int, seconds: float, links: Sequence[Fullest]) -> RoundRow:
    size = split_op(call)[1] or (cell.block_bytes if call == kernel_named(cell.kernel).main else None)
    full = links[distance] if size and distance < len(links) else None
    return RoundRow(
        cell=cell.id, call=call, nodes=cell.nodes, ranks=cell.ranks, distance=distance, seconds=seconds,
        link=full.link if full else "", link_s=full.s_per_byte * size if full and size else None,
    )  # fmt: skip
