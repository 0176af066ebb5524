# SPDX-License-Identifier: BSD-3-Clause
"""The floor of a run: what an empty operation, a small message and a copy of memory cost on each shape of nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("nodes", pa.int32()),
        ("ranks_per_node", pa.int32()),
        ("quantity", pa.string()),
        ("bytes", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("best", pa.float64()),
        ("unit", pa.string()),
        ("samples", pa.int64()),
    ]
)


def floor_rows(statistics: Iterable[Row], cells: dict[str, Row]) -> list[Row]:
    """Rows of the floor table from the order statistics of the kernel ``floor``.

    Parameters
    ----------
    statistics
        Rows of `weft.analyse.times.order_statistics`.
    cells
        The plan's cells by id.

    Returns
    -------
    list
        One row a quantity: ``empty`` and ``latency`` in seconds, ``copy`` in bytes per second of one node, with the
        bytes that each of its ranks copied at once. An interval of a rate is the interval of the time, turned round.
        ``best`` is the shortest time or the highest rate of all samples: what a lower bound stands on.
    """
    rows: list[Row] = []
    for found in statistics:
        cell = cells.get(found["cell"])
        if cell is None or cell["kernel"] != "floor" or found["phase"] != "warm":
            continue
        quantity, _, size = found["op"].partition("-")
        row: Row = {key: cell[key] for key in ("nodes", "ranks_per_node")}
        row |= {"cell": cell["id"], "quantity": quantity, "samples": found["samples"], "bytes": int(size or 0)}
        if quantity == "copy":
            moved = cell["ranks_per_node"] * int(size)
            times = (found["median_s"], found["high_s"], found["low_s"], found["min_s"])
            value, low, high, best = (moved / seconds if seconds > 0 else None for seconds in times)
            row |= {"value": value, "low": low, "high": high, "best": best, "unit": "B/s"}
        else:
            times = {"value": "median_s", "low": "low_s", "high": "high_s", "best": "min_s"}
            row |= {"unit": "s"} | {name: found[key] for name, key in times.items()}
        rows.append(row)
    return sorted(rows, key=lambda row: (row["nodes"], row["ranks_per_node"], row["quantity"], row["bytes"]))


@dataclass(frozen=True)
class Floor:
    """The floor of one run, to be asked by shape."""

    rows: Sequence[Row]

    def value(self, quantity: str, nodes: int, ranks_per_node: int) -> float | None:
        """Seconds of ``empty`` or ``latency`` for a shape; None where it was not measured."""
        found = [row["value"] for row in self._of(quantity, nodes, ranks_per_node)]
        return found[0] if found else None

    def best_latency(self, nodes: int) -> float | None:
        """Seconds of the shortest ``latency`` over so many nodes; None where it was not measured.

        With any number of ranks on them: ranks that share a core wait for it, which no bound should stand on.
        """
        return min(
            (row["best"] for row in self.rows if (row["quantity"], row["nodes"]) == ("latency", nodes)), default=None
        )

    def copy_rate(self, nodes: int, ranks_per_node: int, block_bytes: int) -> float | None:
        """Bytes per second that a node copies at best, for blocks of a size; None where it was not measured.

        It is the rate at the largest working set not exceeding the block: smaller working sets stay in nearer caches
        and are faster, so a bound made from it remains a lower bound. Below all measured sizes the smallest counts.
        """
        rows = [row for row in self._of("copy", nodes, ranks_per_node) if row["value"]]
        if not rows:
            return None
        fitting = [row for row in rows if row["bytes"] <= block_bytes] or [min(rows, key=lambda row: row["bytes"])]
        return max(fitting, key=lambda row: row["bytes"])["best"]

    def _of(self, quantity: str, nodes: int, ranks_per_node: int) -> list[Row]:
        shape = (quantity, nodes, ranks_per_node)
        return [row for row in self.rows if (row["quantity"], row["nodes"], row["ranks_per_node"]) == shape]
