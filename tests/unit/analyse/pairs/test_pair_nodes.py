# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes are told as the worst: those that stand out at some size, not those that a short message scatters."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.analyse.pairs.matrix import worst_first
from weft.report.stories import pairs as story

ZERO, LARGE = 0, 1 << 18


def rows(short: dict[int, float], long: dict[int, float], nodes: int = 24) -> list[dict[str, Any]]:
    """Factors that scatter by 15 % at 0 B and by 0.5 % at 256 KiB, but for those given."""
    rng = np.random.default_rng(11)
    found: list[dict[str, Any]] = []
    for size, scatter, given in ((ZERO, 0.15, short), (LARGE, 0.005, long)):
        for node, noise in enumerate(rng.standard_normal(nodes).tolist()):
            factor = given.get(node, float(np.exp(scatter * noise)))
            row = {"bytes": size, "mode": "all", "node": node, "name": f"n{node:02}", "factor": factor}
            found.append(row | {"worst": factor, "worst_with": "n00", "within": None})
    return found


def test_a_node_that_long_messages_show_comes_before_the_scatter_of_short_ones() -> None:
    first, *rest = worst_first(rows({5: 1.5}, {9: 1.2}))
    assert (first["name"], first["bytes"], first["factor"]) == ("n09", LARGE, 1.2)
    assert len(rest) == 23


def test_nodes_that_stand_out_are_ordered_by_how_much_slower_they_are() -> None:
    found = worst_first(rows({3: 4.0}, {9: 1.2, 7: 1.6}))
    assert [(row["name"], row["bytes"]) for row in found[:3]] == [("n03", ZERO), ("n07", LARGE), ("n09", LARGE)]


def test_a_node_that_was_not_measured_has_no_rank() -> None:
    made = rows({}, {})
    for row in made:
        row["factor"] = None if row["node"] == 2 else row["factor"]
    assert "n02" not in [row["name"] for row in worst_first(made)]


def test_the_page_tells_the_worst_nodes_in_that_order() -> None:
    made = [row | {"place": None} for row in rows({5: 1.5}, {9: 1.2})]
    for place, row in enumerate(worst_first(made), 1):
        row["place"] = place
    view: Any = SimpleNamespace(node_rows=made, outliers=[], run=SimpleNamespace(titled=str, claimed=lambda _: []))
    table = story._nodes(view)  # pyright: ignore[reportPrivateUsage]
    assert table.rows[1][:3] == ("n09", "256 KiB, all", "1.20 x")
