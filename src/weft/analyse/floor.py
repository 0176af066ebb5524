# SPDX-License-Identifier: BSD-3-Clause
"""The floor of a run: the time of an empty operation, a small message and a memory copy on each shape."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from weft.analyse.tables.times import FloorRow, SummaryRow
from weft.format import format_bytes
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell

#: How a copy was made, by what follows its size in its operation's name.
WAYS: Mapping[str, str] = {
    "": "whole", "streamed": "streaming stores", "backward": "backward", "string": "string instruction",
}  # fmt: skip
BESIDE = "floor:"  # what the operations begin with that a cell measures for its bounds, after its own


class BesideRow(TypedDict):
    """The shortest time of an operation that a cell measured for its bounds (``floor:swap``, ``floor:copy-4096``)."""

    cell: str
    op: str
    seconds: float


def floor_rows(statistics: Iterable[SummaryRow], cells: Mapping[str, Cell]) -> list[FloorRow]:
    """Rows of the kernel ``floor``: ``empty``, ``latency``, ``swap`` in s, ``copy`` in B/s of a node.

    ``bytes`` are what each rank copied at once; the interval of a rate is the inverted one of the time. ``best`` is the
    shortest time or highest rate of all samples, for bounds; a size copied in several ways has the row of the fastest.
    """
    rows: list[FloorRow] = []
    for found in statistics:
        cell = cells.get(found["cell"])
        if cell is None or not kernel_named(cell.kernel).is_floor or found["phase"] != "warm":
            continue
        quantity, _, copied = found["call"].partition("-")
        size, _, way = copied.partition("-")
        row = FloorRow(
            cell=cell.id, nodes=cell.nodes, ranks_per_node=cell.ranks_per_node, quantity=quantity,
            bytes=int(size or 0), value=found["median_s"], low=found["low_s"], high=found["high_s"],
            best=found["min_s"], unit="s", samples=found["samples"], way="",
        )  # fmt: skip
        if quantity == "copy":
            moved, times = cell.ranks_per_node * int(size), (row["value"], row["high"], row["low"], row["best"])
            value, low, high, best = (moved / seconds if seconds else None for seconds in times)
            kind, _, piece = way.partition("-")
            how = f"pieces of {format_bytes(int(piece))}" if kind == "in" else WAYS[kind]
            row.update(value=value, low=low, high=high, best=best, unit="B/s", way=how)
        rows.append(row)
    # of the ways to copy one size, that with the highest rate: a sample could beat the others
    copies = sorted((row for row in rows if row["quantity"] == "copy"), key=lambda row: row["best"] or 0.0)
    others = (row for row in rows if row["quantity"] != "copy")
    return sorted([*others, *{_shape(row): row for row in copies}.values()], key=_shape)


def _shape(row: FloorRow) -> tuple[int, int, str, int]:
    return row["nodes"], row["ranks_per_node"], row["quantity"], row["bytes"]


def with_rates_beside(rows: list[FloorRow], beside: Iterable[BesideRow], cells: Mapping[str, Cell]) -> list[FloorRow]:
    """The floor with the best of what its cells measured in their own launches (METHOD 16), where that is better."""
    best: dict[tuple[int, int, str, int], float] = {}
    for found in beside:
        cell = cells[found["cell"]]
        quantity, _, copied = found["op"].removeprefix(BESIDE).partition("-")
        key = (cell.nodes, cell.ranks_per_node, quantity, int(copied.partition("-")[0] or 0))
        best[key] = min(best.get(key, found["seconds"]), found["seconds"])
    for row in rows:
        seconds = best.get(_shape(row))
        if seconds and row["best"] and row["quantity"] == "copy":
            row["best"] = max(row["best"], row["ranks_per_node"] * row["bytes"] / seconds)
        elif seconds and row["best"]:
            row["best"] = min(row["best"], seconds)
    return rows


@dataclass(frozen=True)
class Floor:
    """The floor of one run, looked up by shape."""

    rows: Sequence[FloorRow]

    def value(self, quantity: str, nodes: int, ranks_per_node: int) -> float | None:
        """Seconds of ``empty``, ``latency`` or ``swap`` for a shape; None if it was not measured."""
        return next((row["value"] for row in self._of(quantity, nodes, ranks_per_node)), None)

    def best_latency(self, nodes: int) -> float | None:
        """Seconds of the fastest small message over so many nodes; None if it was not measured.

        Half a round trip (``latency``) or two messages that cross (``swap``): a rank that waits may yield its core. Any
        number of ranks per node counts: those that share a core wait for it.
        """
        small = ("latency", "swap")
        best = [row["best"] for row in self.rows if row["quantity"] in small and row["nodes"] == nodes]
        return min((seconds for seconds in best if seconds is not None), default=None)

    def copy_rate(self, nodes: int, ranks_per_node: int, rank_bytes: int) -> float | None:
        """Highest copy rate of a node in bytes per second if each rank copies ``rank_bytes``; None if not measured.

        The best at the largest measured working set up to ``rank_bytes`` (else the smallest), at a larger one, or of
        one rank's share where more copied at once: alone, or in nearer caches, a rank is as fast, so it remains a lower
        bound.
        """
        own = [row["bytes"] for row in self._of("copy", nodes, ranks_per_node) if row["best"]]
        if not own:
            return None
        least = max((size for size in own if size <= rank_bytes), default=min(own))
        return ranks_per_node * max(
            row["best"] / row["ranks_per_node"]
            for row in self.rows
            if row["quantity"] == "copy" and row["nodes"] == nodes and row["best"]
            and row["ranks_per_node"] >= ranks_per_node and row["bytes"] >= least
        )  # fmt: skip

    def _of(self, quantity: str, nodes: int, ranks_per_node: int) -> list[FloorRow]:
        shape = (quantity, nodes, ranks_per_node)
        return [row for row in self.rows if (row["quantity"], row["nodes"], row["ranks_per_node"]) == shape]
