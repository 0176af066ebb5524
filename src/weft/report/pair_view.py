# SPDX-License-Identifier: BSD-3-Clause
"""A run of pairs for its story: the tables of the largest placement."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables import pairs as tables
from weft.analyse.tables.pairs import ExactRow, P, RankOfPairs, largest
from weft.format import capital, format_bytes, format_rate, measured_seconds, plural
from weft.kernel.sizes import window_of
from weft.report.tabular import Table, Words, make_table
from weft.report.view import RunView
from weft.store.tables import Table as ArrowTable
from weft.store.tables import TableOf, read_table

Floats = NDArray[np.float64]
#: Order of the modes in figures: isolated pairs show most about the network, all at once most about a job.
MODES = {"isolated": "one pair at a time", "node": "one pair per node at a time", "all": "all pairs of a round at once"}
WHOLE = 0.5  # a mode that measured fewer of the pairs than this share is a sample: its matrices would be mostly empty


def _of_largest(table: TableOf[P]) -> cached_property[list[P]]:
    def rows(view: "PairView") -> list[P]:
        return view.of_largest(table)

    return cached_property(rows)  # pyrefly: ignore[bad-return]


class PairView:
    """Tables of pairs, of the placement with most nodes and ranks."""

    classes = _of_largest(tables.CLASSES)  # times by hop class
    contention = _of_largest(tables.CONTENTION)  # factors of contention by hop class
    node_rows = _of_largest(tables.NODES)  # how slow each node is
    worst = _of_largest(tables.WORST)  # the slowest pairs
    outliers = _of_largest(tables.OUTLIERS)  # causes of slow pairs
    histogram = _of_largest(tables.HISTOGRAM)  # samples by class and bucket
    cold = _of_largest(tables.COLD)  # first contact by hop class
    spread = _of_largest(tables.SPREAD)  # spread of the samples of each hop class

    def __init__(self, run: RunView) -> None:
        rows, values = tables.NAMES.read(run.path), [cell.parameters for cell in run.plan.measured]
        self.run, self._names, self._values = run, largest(rows, rows) if rows else [], values
        self.measured = bool(self._names)  # whether any pair was
        self.nodes = [row["name"] for row in self._names]
        self.on_node = [row["on_node"] for row in self._names]  # ranks
        self.ranks = sum(self.on_node)
        self.unknown = self._names[0]["unknown"] if self._names else ""  # why no link can be named
        self.rates = any("window" in each for each in values)  # whether windows of messages were measured
        # bytes from which an operation is a message each way at the same time: in a check
        self.both_ways: float = min((each.get("both_ways", math.inf) for each in values), default=math.inf)
        self.trip = "half a round trip"  # what the time of an operation without windows is of
        if self.both_ways < math.inf:
            self.trip += f", from {format_bytes(self.both_ways)} a message each way at once"
            if parts := {each["part"] for each in values if "part" in each}:
                self.trip += f", in parts of {format_bytes(min(parts))}"
        apart = any(each.get("places", "apart") == "apart" for each in values)
        self.places = "each with its own buffer" if apart else "in one place"  # of the messages of a window

    def of_largest(self, table: TableOf[P]) -> list[P]:
        """Rows of a table, of the largest placement."""
        return largest(table.read(self.run.path), self._names) if self._names else []

    def window(self, size: int = 1) -> int:
        """Messages of ``size`` bytes in one operation: 1 where latency was measured."""
        return max((window_of(each, size) for each in self._values), default=1)

    @property
    def under_way(self) -> str:
        """How many messages an operation has, over all sizes: ``64 messages``, ``16-64 messages``."""
        counts = {self.window(row["bytes"]) for row in self.classes} or {self.window()}
        few, most = min(counts), plural(max(counts), "message")
        return most if few == max(counts) else f"{few:,}-{most}"

    def value_text(self, size: int, seconds: float | None) -> str:
        """What a pair takes: the time of a message, or the rate of a window of messages of ``size`` bytes."""
        return format_rate(self.window(size) * size / seconds) if self.rates and seconds else measured_seconds(seconds)

    @property
    def by_nodes(self) -> bool:
        """Whether pairs of ranks were too many to analyse each."""
        return any(row["slow"] is None for row in self.classes)

    @cached_property
    def shown(self) -> list[tuple[int, str]]:
        """Each size with the first of its modes that measured most pairs."""
        pairs = Counter[tuple[int, str]]()
        for row in self.classes:
            pairs[row["bytes"], row["mode"]] += row["pairs"]
        found: list[tuple[int, str]] = []
        for size in sorted({size for size, _ in pairs}):
            whole = (mode for mode in MODES if pairs[size, mode] >= WHOLE * self.ranks * (self.ranks - 1))
            found.append((size, next(whole, None) or max(MODES, key=lambda mode: pairs[size, mode])))
        return found

    def matrix(self, size: int, mode: str, column: str) -> Floats:
        """One column (its unit) for every two nodes, shape (nodes, nodes); nan if not measured."""
        rows, found = self._filtered("pair_matrix", size, mode), np.full((len(self.nodes), len(self.nodes)), np.nan)
        values = rows[column].to_numpy(zero_copy_only=False).astype(float)
        found[rows["source_node"].to_numpy(), rows["target_node"].to_numpy()] = values
        return found

    def blocks(self, size: int, mode: str) -> tuple[Floats, int]:
        """Seconds of the slowest pair in every block, shape (blocks, blocks), and its side in ranks, or in nodes."""
        rows = self._filtered("pair_blocks", size, mode)
        block = int(rows["block"].to_numpy()[0]) if len(rows) else 1
        side = -(-(len(self.nodes) if self.by_nodes else self.ranks) // block)
        found = np.full((side, side), np.nan)
        found[rows["row"].to_numpy(), rows["column"].to_numpy()] = rows["value"].to_numpy()
        return found, block

    def _filtered(self, name: str, size: int, mode: str) -> ArrowTable:
        import pyarrow.compute as pc  # the card of pairs needs no matrix

        table = read_table(self.run.path, name)
        same = {"nodes": len(self.nodes), "ranks": self.ranks, "bytes": size, "mode": mode}
        return table.filter(reduce(pc.and_, (pc.equal(table[column], value) for column, value in same.items())))


def ranks_table(view: RunView, nodes: tuple[str, str], rows: Sequence[RankOfPairs]) -> Table:
    """Ranks of two nodes, from `weft.analyse.pairs.hop_tables.rank_rows`."""
    pairs = PairView(view)
    between = f"between {nodes[0]} and {nodes[1]}" if nodes[0] != nodes[1] else f"within {nodes[0]}"
    return make_table(
        view.titled(f"Ranks in their pairs {between}"), rows,
        (Words("Message, pairs"), "", lambda row: f"{format_bytes(row['bytes'])}, {row['mode']}"),
        (Words("rank"), "", lambda row: f"{row['rank']} on {row['node']}"),
        ("pairs", "", lambda row: f"{row['pairs']:,}"),
        ("median", "", lambda row: pairs.value_text(row["bytes"], row["median_s"])),
        ("over all of them", "", lambda row: f"{row['factor']:.2f}x"),
        ("slowest", "",
         lambda row: f"{pairs.value_text(row['bytes'], row['slowest_s'])} with {row['slowest_with']}"),
    )  # fmt: skip


def exact_table(view: RunView, rows: Sequence[ExactRow]) -> Table:
    """Times by hops, from `weft.analyse.pairs.hop_tables.exact_rows`."""
    pairs = PairView(view)
    what = f"One way of {pairs.under_way} under way" if pairs.rates else capital(pairs.trip)
    return make_table(
        view.titled(f"{what}, over all samples, exact"), rows,
        (Words("Message, pairs"), "", lambda row: f"{format_bytes(row['bytes'])}, {row['mode']}"),
        (Words("hops"), "", lambda row: row["class"]), ("samples", "", lambda row: f"{row['samples']:,}"),
        ("min", "", lambda row: measured_seconds(row["min_s"])),
        ("mean", "", lambda row: measured_seconds(row["mean_s"])),
        ("median", "", lambda row: measured_seconds(row["median_s"])),
        ("p99", "", lambda row: measured_seconds(row["p99_s"])),
        ("max", "", lambda row: measured_seconds(row["max_s"])),
    )  # fmt: skip
