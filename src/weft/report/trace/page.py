# SPDX-License-Identifier: BSD-3-Clause
"""The page of a trace: headline, tables, and who sent how much to whom as two matrices."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.format import format_bytes
from weft.report.figures import Picture
from weft.report.figures.matrix import PairMatrix, matrix_picture
from weft.report.figures.raster import scale_of
from weft.report.html import figure_values, fill, write_page
from weft.report.trace.tables import trace_tables
from weft.report.trace.view import Floats, TraceView

UNITS = {"bytes": ("MiB", 2.0**20), "messages": ("messages", 1.0)}


def write_trace_page(view: TraceView, path: Path, notes: Sequence[str]) -> None:
    """Write the page of a trace. Raises DataError: the disk is full, or the folder cannot be written."""
    drawn = [view.draw_activity(), *matrix_pictures(view)]
    figures = [figure_values(each.name, each) for each in drawn if each]
    page = fill(
        "trace.html", title=f"Trace {view.path.name}", card=view.card, grade=view.confidence, tables=trace_tables(view),
        figures=figures, notes=notes,
    )  # fmt: skip
    write_page(path, page)


def write_matrix(view: TraceView, path: Path) -> None:
    """Write the matrix of bytes as a drawing of its own (SVG).

    Raises DataError: the disk is full, or the folder cannot be written.
    """
    write_page(path, _picture(view, "bytes").svg)


def matrix_pictures(view: TraceView) -> list[Picture]:
    """Bytes and messages by pair of ranks, in the order of nodes."""
    return [_picture(view, what) for what in UNITS]


def _picture(view: TraceView, what: str) -> Picture:
    order = sorted(range(len(view.ranks)), key=lambda index: (view.ranks[index]["node"], view.ranks[index]["rank"]))
    ranks = [view.ranks[index]["rank"] for index in order]
    nodes = [view.ranks[index]["node"] for index in order]
    values = view.matrix(what)[np.ix_(order, order)]
    parts = [nodes.count(node) for node in view.nodes]
    told = _by_node(values, parts)
    sent = np.where(values > 0, values, np.nan)
    shown = PairMatrix(
        sent,
        parts,
        list(view.nodes.values()),
        told,
        scale_of(sent, np.inf),
        UNITS[what],
        f"{what} of their ranks",
        missing="nothing sent",
    )
    title = f"Communication matrix: {what} by pair of ranks"
    return matrix_picture(f"trace-{what}", title, KEY, _reading(values, ranks, what), shown)


def _reading(values: Floats, ranks: Sequence[int], what: str) -> str:
    """Who sent most, in a sentence; nobody is singled out among pairs that sent the same."""
    if not values.any():
        return "Nothing was sent."
    most = format_bytes(float(values.max())) if what == "bytes" else f"{int(values.max()):,} messages"
    busiest = np.argwhere(values == values.max())
    source, target = (ranks[int(place)] for place in busiest[0])
    if len(busiest) == 1:
        return f"Rank {source} sent most to rank {target}: {most}."
    if len(busiest) == len(ranks) * (len(ranks) - 1) and not np.diag(values).any():
        return f"Each rank sent the same to every other: {most}."
    return f"{len(busiest):,} pairs of ranks sent most, {most} each; the first is rank {source} to rank {target}."


KEY = (
    "Rows send, columns receive; ranks in the order of their nodes. Grey: nothing was sent. All-to-alls count as one "
    "message to each member; broadcasts and reductions are not in it, since their messages depend on the library."
)


def _by_node(values: Floats, parts: Sequence[int]) -> Floats:
    """Sums over the ranks of every two nodes, shape (nodes, nodes), bytes or counts as given."""
    starts = np.cumsum([0, *parts])[:-1]
    return np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
