# SPDX-License-Identifier: BSD-3-Clause
"""The floor of a run: an empty operation, a small message and a memory copy on each shape; and bounds by its rates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.analyse.tables.times import FloorRow, SummaryRow
from weft.bound.placed import Basis, terms_of, traffic_of, with_rates
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, Bound, BoundedCell, largest
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.format import format_bytes
from weft.kernel.registry import kernel_named
from weft.kernel.traffic import Traffic
from weft.plan.records import Cell

#: How a copy was made, by what follows its size in its operation's name.
WAYS: Mapping[str, str] = {
    "": "whole", "streamed": "streaming stores", "backward": "backward", "string": "string instruction",
}  # fmt: skip
#: What operations begin with that a cell measures for its bounds, after its own: ``floor:swap``, ``floor:copy-4096``.
BESIDE = "floor:"


def floor_rows(statistics: Iterable[SummaryRow], cells: Mapping[str, Cell]) -> list[FloorRow]:
    """Rows of the kernel ``floor``: ``empty``, ``latency``, ``swap`` in s, ``copy`` in B/s of a node. ``bytes`` are
    what each rank copied at once; the interval of a rate is the inverted one of the time. ``best`` is the shortest time
    or highest rate of all samples, for bounds; a size copied in several ways has the row of the fastest.
    """
    rows: list[FloorRow] = []
    floors = {name: cell for name, cell in cells.items() if kernel_named(cell.kernel).is_floor}
    for found in (row for row in statistics if row["cell"] in floors and row["phase"] == "warm"):
        cell = floors[found["cell"]]
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


def with_rates_beside(rows: list[FloorRow], beside: Iterable[Any], cells: Mapping[str, Cell]) -> list[FloorRow]:
    """The floor with the best ``seconds`` that a ``cell`` measured by an ``op`` ``beside`` its own (METHOD 16)."""
    best: dict[tuple[int, int, str, int], float] = {}
    for found in beside:
        cell = cells[found["cell"]]
        quantity, _, copied = found["op"].removeprefix(BESIDE).partition("-")
        key = (cell.nodes, cell.ranks_per_node, quantity, int(copied.partition("-")[0] or 0))
        best[key] = min(best.get(key, found["seconds"]), found["seconds"])
    for row in rows:
        seconds, copied = best.get(_shape(row)), row["ranks_per_node"] * row["bytes"]
        if seconds and row["best"]:
            row["best"] = max(row["best"], copied / seconds) if row["quantity"] == "copy" else min(row["best"], seconds)
    return rows


@dataclass(frozen=True)
class Floor:
    """The floor of one run, looked up by shape."""

    rows: Sequence[FloorRow]

    def value(self, quantity: str, nodes: int, ranks_per_node: int) -> float | None:
        """Seconds of ``empty``, ``latency`` or ``swap`` for a shape; None if it was not measured."""
        return next((row["value"] for row in self._of(quantity, nodes, ranks_per_node)), None)

    def best_latency(self, nodes: int) -> float | None:
        """Seconds of the fastest small message over so many nodes; None if it was not measured. Half a round trip
        (``latency``) or two messages that cross (``swap``): a rank that waits may yield its core. Any number of ranks
        per node counts: those that share a core wait for it.
        """
        best = [row["best"] for row in self.rows if row["quantity"] in ("latency", "swap") and row["nodes"] == nodes]
        return min((seconds for seconds in best if seconds is not None), default=None)

    def copy_rate(self, nodes: int, ranks_per_node: int, rank_bytes: int) -> float | None:
        """Highest copy rate of a node in bytes per second if each rank copies ``rank_bytes``; None if not measured. The
        best at the largest measured working set up to ``rank_bytes`` (else the smallest), at a larger one, or of one
        rank's share where more copied at once: alone, or in nearer caches, a rank is as fast, so it remains a lower
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


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of a run's calls (METHOD 16), copies at the working set of a call. Measured rates replace those of
    the file if the ranks run on this host, and else only fill in what it omits.
    """

    fabric: Fabric
    floor: Floor

    def __call__(self, cell: BoundedCell, call: str) -> tuple[float, str, Basis] | None:
        """The lower bound of a call in seconds, the name of its term, and where its rate is from; None if not known."""
        traffic = traffic_of(cell, call)
        found, own = self._measured(cell, call, traffic) if traffic else (None, set[str]())
        found = found or cell.bounds.get(call)
        if found is None and traffic and cell.hosts:  # a size that is not in the plan: refinement added it
            found = largest(self._terms(cell, call, traffic, self.fabric))
        return (found.seconds, found.name, "measured" if found.name in own else "stated") if found else None

    def _measured(self, cell: BoundedCell, call: str, traffic: Traffic) -> tuple[Bound | None, set[str]]:
        """The bound at measured rates, and the terms that have one; none where nothing was measured."""
        nodes, per_node = cell.nodes, cell.ranks_per_node
        rate = self.floor.copy_rate(nodes, per_node, traffic.staying(nodes, per_node) // per_node)
        latency = self.floor.best_latency(nodes)
        node, network = self.fabric.node, self.fabric.network
        if not self.fabric.runs_here:
            rate = None if node.copy_rate else rate
            latency = None if (network or node).latency else latency
        if not rate and not latency:
            return None, set()
        fabric = with_rates(self.fabric, copy_rate=rate or None, latency=latency or None)
        own = {name for name, value in ((COPY, rate), (LATENCY, latency)) if value}
        return largest(self._terms(cell, call, traffic, fabric)), own

    def _terms(self, cell: BoundedCell, call: str, traffic: Traffic, fabric: Fabric) -> dict[str, float]:
        """Terms at the rates of ``fabric``; those of links as in the plan, which do not depend on measured rates."""
        terms = cell.bounds[call].terms if call in cell.bounds else {}
        links = {name: seconds for name, seconds in terms.items() if name == INJECTION or name.startswith(LINK)}
        try:
            return terms_of(traffic, cell, fabric, links if call in cell.bounds else None)
        except FabricError:  # a run folder does not contain the dump: the bound without links is lower, but valid
            return terms_of(traffic, cell, fabric, {})
