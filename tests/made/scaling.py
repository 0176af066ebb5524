# SPDX-License-Identifier: BSD-3-Clause
"""Rows of calls as the verdict on scaling reads them."""

from typing import Any

Row = dict[str, Any]


def point(nodes: int, median: float, *, half: float = 0.01, **changes: Any) -> Row:
    """A row on ``nodes`` nodes of eight ranks with an interval of +-``half``, relative."""
    low, high = median * (1 - half), median * (1 + half)
    row: Row = {
        "series": ["s"], "call": "C", "phase": "warm", "status": "ok", "oversubscribed": False, "nodes": nodes,
        "ranks_per_node": 8, "ranks": 8 * nodes, "median_s": median, "low_s": low, "high_s": high,
        "cell": f"c{nodes}", "min_s": low, "launches": 6, "interval": "over launches", "bound_s": median / 2,
        "bound": "injection",
        "bound_basis": "stated",
    }  # fmt: skip
    return row | changes


PAPER_STRONG = [point(n, t) for n, t in ((1, 1.14), (3, 0.57), (9, 0.25), (18, 0.15), (36, 0.11))]
PAPER_WEAK = [point(n, t) for n, t in ((1, 1.14), (3, 1.64), (9, 2.09), (18, 2.28), (36, 2.30))]
