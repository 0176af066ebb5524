# SPDX-License-Identifier: BSD-3-Clause
"""A run of pairs as its story sees it: the tables of the largest placement."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute
from numpy.typing import NDArray

from weft.report.view import Row, RunView
from weft.store.files import Table
from weft.store.tables import read_table

Floats = NDArray[np.float64]
pc: Any = pyarrow.compute  # its functions are made at run time

#: What is drawn first of the ways to measure: pairs alone say most of the network, all at once most of a job.
MODES = ("isolated", "node", "all")
#: A way that measured fewer of the pairs than this share is a sample: its matrices would be mostly holes.
WHOLE = 0.5


@dataclass(frozen=True)
class PairView:
    """Tables of pairs, of the placement with most nodes and ranks."""

    run: RunView

    @cached_property
    def _names(self) -> list[Row]:
        rows = self.run.table("pair_names")
        # the largest placement stands first
        return (
            [row for row in rows if (row["nodes"], row["ranks"]) == (rows[0]["nodes"], rows[0]["ranks"])]
            if rows
            else []
        )

    def of(self, name: str) -> list[Row]:
        """Rows of a table, of the largest placement."""
        return [row for row in self.run.table(f"pair_{name}") if self._own(row)]

    def _own(self, row: Row) -> bool:
        return bool(self._names) and (row["nodes"], row["ranks"]) == (self._names[0]["nodes"], self._names[0]["ranks"])

    @property
    def measured(self) -> bool:
        """Whether any pair was."""
        return bool(self._names)

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes."""
        return [row["name"] for row in self._names]

    @property
    def on_node(self) -> list[int]:
        """Ranks on each node."""
        return [row["on_node"] for row in self._names]

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return sum(self.on_node)

    @property
    def unknown(self) -> str:
        """Why no link can be named; empty where routes are known."""
        return self._names[0]["unknown"] if self._names else ""

    @cached_property
    def classes(self) -> list[Row]:
        """Times by hop class."""
        return self.of("classes")

    @cached_property
    def contention(self) -> list[Row]:
        """Factors of contention by hop class."""
        return self.of("contention")

    @cached_property
    def node_rows(self) -> list[Row]:
        """How slow each node is."""
        return self.of("nodes")

    @cached_property
    def worst(self) -> list[Row]:
        """The slowest pairs."""
        return self.of("worst")

    @cached_property
    def blame(self) -> list[Row]:
        """Who is to blame."""
        return self.of("blame")

    @cached_property
    def histogram(self) -> list[Row]:
        """Samples by class and bucket."""
        return self.of("class_histogram")

    @cached_property
    def shown(self) -> list[tuple[int, str]]:
        """Sizes and, of the ways each was measured, the first that measured most pairs."""
        possible = self.ranks * (self.ranks - 1)
        found: list[tuple[int, str]] = []
        for size in sorted({row["bytes"] for row in self.classes}):
            pairs = {
                mode: sum(row["pairs"] for row in self.classes if (row["bytes"], row["mode"]) == (size, mode))
                for mode in MODES
            }
            whole = [mode for mode in MODES if pairs[mode] >= WHOLE * possible]
            found.append((size, whole[0] if whole else max(MODES, key=lambda mode: pairs[mode])))
        return found

    @cached_property
    def contended(self) -> list[tuple[int, str]]:
        """Sizes and ways of measuring that have a factor of contention."""
        return sorted({(row["bytes"], row["mode"]) for row in self.contention})

    def matrix(self, size: int, mode: str, column: str) -> Floats:
        """One number of every two nodes, shape (nodes, nodes); nan where not measured."""
        rows = self._filtered("pair_matrix", size, mode)
        found = np.full((len(self.nodes), len(self.nodes)), np.nan)
        at = rows["source_node"].to_numpy(), rows["target_node"].to_numpy()
        found[at] = rows[column].to_numpy(zero_copy_only=False).astype(float)
        return found

    def blocks(self, size: int, mode: str) -> tuple[Floats, int]:
        """The slowest pair of every block of ranks, shape (blocks, blocks), and the ranks of a block a side."""
        rows = self._filtered("pair_blocks", size, mode)
        block = int(rows["block"][0].as_py()) if len(rows) else 1
        side = -(-self.ranks // block)
        found = np.full((side, side), np.nan)
        found[rows["row"].to_numpy(), rows["column"].to_numpy()] = rows["value"].to_numpy()
        return found, block

    def _filtered(self, name: str, size: int, mode: str) -> Table:
        table = read_table(self.run.path, name)
        same = [("nodes", len(self.nodes)), ("ranks", self.ranks), ("bytes", size), ("mode", mode)]
        chosen = None
        for column, value in same:
            is_value = pc.equal(table[column], value)
            chosen = is_value if chosen is None else pc.and_(chosen, is_value)
        return table.filter(chosen)
