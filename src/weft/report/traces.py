# SPDX-License-Identifier: BSD-3-Clause
"""A trace's tables, printed and drawn: what ``weft trace show`` prints, its page, and who sent how much to whom."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables import traces
from weft.analyse.tables.claims import CLAIMS, claims_of, extras, grade_of
from weft.analyse.tables.traces import LETTERS
from weft.format import exact_bytes, format_bytes, format_rate, format_seconds, percent, plural
from weft.report.card import with_folder
from weft.report.figures import Picture
from weft.report.figures.matrix import PairMatrix, matrix_picture, scale_of
from weft.report.figures.timeline import COLOURS, draw_timeline
from weft.report.html import figure_values, fill, write_page
from weft.report.tabular import Table, Words, existing, make_table
from weft.store.tables import read_once, read_table
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.words.card import NEXT, Card, card_rows, headline, say

Floats = NDArray[np.float64]
MOST = 12
SCHEMA = "weft-trace-show/2"
UNITS = {"bytes": ("MiB", 2.0**20), "messages": ("messages", 1.0)}
KEY = (
    "Rows send, columns receive; ranks in the order of their nodes. Grey: nothing was sent. All-to-alls count as one "
    "message to each member; broadcasts and reductions are not in it, since their messages depend on the library."
)


@dataclass(frozen=True)
class TraceView:
    """A trace as the report shows it."""

    path: Path
    command: str
    ranks = read_once(TRACE_RANKS)
    calls = read_once(traces.CALL_TIMES)
    sizes = read_once(traces.CALL_SIZES)
    communicators = read_once(traces.COMM_TIMES)
    late = read_once(traces.LATE)
    phases = read_once(traces.PHASES)
    verdict = read_once(traces.VERDICT)
    shares = read_once(traces.SHARES)
    node_pairs = read_once(traces.NODE_PAIRS)
    doubts = read_once(traces.TRACE_DOUBTS)
    claims = read_once(CLAIMS)

    @property
    def card(self) -> Card:
        """The answer, then its evidence."""
        rows = tuple(with_folder(row, self.path) for row in card_rows(self.claims))
        facts = filter(None, (self.command, plural(len(self.nodes), "node"), plural(len(self.ranks), "rank")))
        return Card(f"trace {self.path.name}", tuple(facts), rows, grade_of(self.doubts))

    @property
    def nodes(self) -> dict[int, str]:
        """Host of each node, by its number; parts of a host get a letter's place behind its name."""
        hosts = {row["node"]: row["host"] for row in self.ranks}
        several = len(set(hosts.values())) < len(hosts)
        return {node: f"{host}/{node}" if several else host for node, host in sorted(hosts.items())}

    def draw_activity(self) -> Picture | None:
        """The lanes of all ranks over time; None if nothing was recorded."""
        table = read_table(self.path, traces.ACTIVITY.name)
        if not (columns := int((table["lane"].to_numpy() == 0).sum())):
            return None
        shares = {kind: table[kind].to_numpy().astype(np.float64).reshape(-1, columns) for kind in COLOURS}
        ranks, seconds = table["rank"].to_numpy()[::columns].tolist(), float(table["end_s"].to_numpy()[-1])
        return draw_timeline(ranks, shares, seconds, headline(self.claims))

    def matrix(self, what: str) -> Floats:
        """``bytes`` or ``messages`` of each rank to each, shape (ranks, ranks), in the order of `ranks`; 0 for none."""
        # of a rank without a trace nothing is drawn: a trace that was damaged may say that it is one of millions
        table = read_table(self.path, traces.MATRIX.name)
        own = np.array([row["rank"] for row in self.ranks], np.int64)
        order = np.argsort(own)
        found = np.zeros((len(own), len(own)))
        rank, peer = table["rank"].to_numpy(), table["peer"].to_numpy()
        ends = [order[np.minimum(np.searchsorted(own, each, sorter=order), len(own) - 1)] for each in (rank, peer)]
        inside = (own[ends[0]] == rank) & (own[ends[1]] == peer)
        np.add.at(found, (ends[0][inside], ends[1][inside]), table[what].to_numpy()[inside])
        return found


def load_trace(folder: TraceFolder) -> TraceView:
    """A trace whose tables exist; DataError where one that is asked for is missing."""
    return TraceView(folder.path, str(folder.metadata().get("command", "")))


def trace_tables(view: TraceView) -> list[Table]:
    """Every table that has rows."""
    makers = (_remedies, _doubts, _calls, _sizes, _communicators, _late, _node_pairs, _phases)
    return existing(*(make(view) for make in makers))


def _remedies(view: TraceView) -> Table:
    return make_table(
        "What would help, at most", [with_folder(say(each), view.path) for each in claims_of(view.claims, "remedy")],
        (Words("remedy"), "", lambda row: row.value), (Words("what remains"), "", lambda row: row.note),
        (Words("next"), "", lambda row: row.next),
    )  # fmt: skip


def _doubts(view: TraceView) -> Table:
    return make_table(
        "Confidence", claims_of(view.claims, "doubt"),
        (Words("at best"), "", lambda each: each["confidence"]), (Words("because"), "", lambda each: say(each).value),
        (Words("try"), "", lambda each: NEXT.get(each["subject"], "")),
    )  # fmt: skip


def _node_pairs(view: TraceView) -> Table:
    rows = [
        (f"{view.nodes[row['node']]} - {view.nodes[row['other']]}", f"{row['messages']:,}", format_bytes(row["bytes"]),
         format_rate(row["bytes"] / row["seconds"]), f"{row['ratio']:.1f}x", "run `weft check`")
        for row in view.node_pairs[:MOST]
        if row["slow"] and row["ratio"] and row["seconds"]
    ]  # fmt: skip
    columns = (Words("nodes"), "messages", "bytes", "rate", "time per byte, against other pairs", Words("try"))
    return Table("Slow links between nodes", columns, tuple(rows))


def _calls(view: TraceView) -> Table:
    rows = [
        (
            row["call"], f"{row['calls']:,}", format_seconds(row["seconds"]), percent(row["share"]),
            "–" if row["waiting_s"] is None else format_seconds(row["waiting_s"]),
            "–" if row["waiting_s"] is None else format_seconds(max(row["known_s"] - row["waiting_s"], 0.0)),
            percent(max(row["seconds"] - row["known_s"], 0.0) / row["seconds"]) if row["seconds"] else "–",
            format_bytes(row["bytes"]), format_seconds(row["longest_s"]),
        )
        for row in view.calls[:MOST]
    ]  # fmt: skip
    columns = ("call", "calls", "time of all ranks", "share", "waiting", "moving", "unknown", "bytes given", "longest")
    return Table(f"Time by call{_less(rows, view.calls)}", columns, tuple(rows))


def _sizes(view: TraceView) -> Table:
    shown = [
        (row["call"], f"up to {exact_bytes(row['size'])}", f"{row['calls']:,}", format_seconds(row["seconds"]),
         format_bytes(row["bytes"]))
        for row in sorted(view.sizes, key=lambda row: -row["seconds"])[:MOST]
    ]  # fmt: skip
    columns = ("call", "size", "calls", "time of all ranks", "bytes")
    return Table(f"Time by size{_less(shown, view.sizes)}", columns, tuple(shown))


def _communicators(view: TraceView) -> Table:
    rows = [
        (row["name"], f"{row['size']:,}", f"{row['calls']:,}", format_seconds(row["seconds"]),
         percent(row["all_to_all_s"] / row["seconds"]) if row["seconds"] else "–", format_bytes(row["bytes"]))
        for row in view.communicators[:MOST]
    ]  # fmt: skip
    columns = ("communicator", "ranks", "calls", "time of all ranks", "of it all-to-all", "bytes given")
    return Table(f"Time by communicator{_less(rows, view.communicators)}", columns, tuple(rows))


def _late(view: TraceView) -> Table:
    shown = [
        (f"{row['rank']:,}", view.nodes[row["node"]], format_seconds(row["caused_s"]), f"{row['last']:,}",
         percent(row["imbalance_s"] / row["caused_s"]), format_seconds(row["waited_s"]),
         format_seconds(row["mpi_s"]), format_seconds(row["compute_s"]))
        for row in sorted(view.late, key=lambda row: -row["caused_s"])[:MOST]
        if row["caused_s"] > 0
    ]  # fmt: skip
    columns = (
        "rank", Words("node"), "others waited for it", "in calls", "because it computed longer", "it waited", "in MPI",
        "outside",
    )  # fmt: skip
    return Table("Who came late", columns, tuple(shown))


def _phases(view: TraceView) -> Table:
    return make_table(
        "Repeating phases of rank 0", view.phases,
        ("times", "", lambda row: f"{row['times']:,}"), ("calls each", "", lambda row: f"{row['calls']:,}"),
        ("begins at", "", lambda row: format_seconds(row["begin_s"])),
        ("lasts", "", lambda row: format_seconds(row["seconds"])),
        ("of it MPI", "", lambda row: percent(row["mpi_s"] / row["seconds"]) if row["seconds"] else "–"),
        (Words("longest calls"), "", lambda row: row["text"]),
    )  # fmt: skip


def _less(shown: Sequence[object], of: Sequence[object]) -> str:
    return f", the first {len(shown)} of {len(of)}" if len(shown) < len(of) else ""


def as_json(view: TraceView) -> str:
    """All rows but the matrix, unrounded, in s and bytes."""
    card = view.card
    tree = {
        "schema": SCHEMA, "trace": str(view.path), "command": view.command, "headline": headline(view.claims),
        "card": [row._asdict() for row in card.rows],
        "claims": [{**claim, "more": extras(claim)} for claim in view.claims],
        "confidence": card.grade, "doubts": view.doubts, "shares": view.shares,
        "node_pairs": view.node_pairs, "verdict": view.verdict, "calls": view.calls,
        "sizes": view.sizes, "communicators": view.communicators, "ranks": view.late,
        "phases": view.phases, "partial": [row["missing"] for row in view.ranks if row["missing"]],
    }  # fmt: skip
    return json.dumps(tree, indent=1) + "\n"


def timeline_lines(begin_s: float, end_s: float, rows: dict[int, str]) -> list[str]:
    """Head, a line for each rank, and what the letters mean. `begin_s`, `end_s`: of the stretch, in s."""
    wide = max((len(str(rank)) for rank in rows), default=1)
    head = f"from {format_seconds(begin_s)} to {format_seconds(end_s)}, a letter what took most of the time:"
    lines = [f"{rank:>{wide}} |{letters}|" for rank, letters in rows.items()]
    return [head, *lines, ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items())]


def write_trace_page(view: TraceView, path: Path, notes: Sequence[str]) -> None:
    """Write the page of a trace. Raises DataError: the disk is full, or the folder cannot be written."""
    figures = [figure_values(each.name, each) for each in [view.draw_activity(), *matrix_pictures(view)] if each]
    page = fill(
        "trace.html", title=f"Trace {view.path.name}", card=view.card, tables=trace_tables(view), figures=figures,
        notes=notes,
    )  # fmt: skip
    write_page(path, page)


def write_matrix(view: TraceView, path: Path) -> None:
    """Write the matrix of bytes as a drawing of its own (SVG)."""
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
    sent, starts = np.where(values > 0, values, np.nan), np.cumsum([0, *parts])[:-1]
    exact = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)  # of every two nodes
    of, unit, names = f"{what} of their ranks", UNITS[what], list(view.nodes.values())
    shown = PairMatrix(sent, parts, names, exact, scale_of(sent, np.inf), unit, of, missing="nothing sent")
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
