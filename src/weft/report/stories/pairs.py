# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``pairs``: slow nodes and links, latency by hops, and contention between pairs (paper 002)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from weft.analyse.tables.claims import extras
from weft.analyse.tables.pairs import ClassRow, NodeRow, WorstRow
from weft.format import format_bytes, measured_seconds
from weft.report.figures import Figures
from weft.report.intervals import interval_heading
from weft.report.pair_view import PairView
from weft.report.tabular import Column, Table, Words, existing, make_table
from weft.report.view import RunView, Story

TEN = 10
R = TypeVar("R", bound=Mapping[str, Any])
ROLES = {"sender": "slow as sender", "receiver": "slow as receiver", "both": "slow in both directions"}


class PairsStory(Story):
    """The table by hops, worst nodes and pairs, contention, first contact, and the matrices."""

    def tables(self, view: RunView) -> list[Table]:
        if not (pairs := PairView(view)).measured:
            return []
        return existing(_hops(pairs), _nodes(pairs), _pairs(pairs), _contention(pairs), _cold(pairs))

    def figures(self, view: RunView) -> Figures:
        from weft.report.figures.pairs import pair_figures

        return pair_figures(pairs) if (pairs := PairView(view)).measured else []

    def proof(self, view: RunView, figures: Figures) -> Figures:
        """The matrix at the message size that answers; with a slow cable or switch, the tree with it in red."""
        from weft.report.figures.proof import draw_outlier

        answer = next(iter(view.claimed("answer")), None)
        size = extras(answer).get("bytes") if answer else None
        wanted = [each for each in figures if size is not None and each.name.split("-")[2:3] == [str(size)]]
        # a matrix beside the card has no heading
        shown = [replace(each, key=f"{each.title}. {each.key}") for each in (wanted or figures)[:1]]
        return [*([tree] if (tree := draw_outlier(view)) else []), *shown]

    def fields(self, view: RunView) -> dict[str, Any]:
        if not (pairs := PairView(view)).measured:
            return {"pairs": None}
        classes = [{**row, "messages": pairs.window(row["bytes"])} for row in pairs.classes]
        found = {"classes": classes, "cold": pairs.cold, "contention": pairs.contention, "nodes": pairs.node_rows}
        return {"pairs": found | {"worst": pairs.worst, "outliers": pairs.outliers, "unknown": pairs.unknown}}


def _ordered(rows: Iterable[R]) -> list[R]:
    """Rows by size and mode; classes stay nearest first, as in the table."""
    return sorted(rows, key=lambda row: (row["bytes"], row["mode"]))


def _where(row: Mapping[str, Any]) -> str:
    return f"{format_bytes(row['bytes'])}, {row['mode']}"


def _factor(value: float | None, unit: str = " x") -> str:
    return "–" if value is None else f"{value:.2f}{unit}"


#: Which pairs a row is of: their messages, their hops, and how many they are.
WHICH: tuple[Column[Any], ...] = (
    (Words("Message, pairs"), "", _where), (Words("hops"), "", lambda row: row["class"]),
    ("pairs", "", lambda row: f"{row['pairs']:,}"),
)  # fmt: skip


def _hops(pairs: PairView) -> Table:
    """The table of paper 002, with median and p99; or the rates by hop class."""
    samples: Column[ClassRow] = ("samples", "", lambda row: f"{row['samples']:,}")
    if pairs.rates:
        title = f"Rate by hops: one way, {pairs.under_way} under way {pairs.places}"
        ends: tuple[str, ...] = ("slowest", "median", "fastest")
        names, units = ("max_s", "median_s", "min_s"), ("", "of pairs", "")
    else:
        title = f"Latency by hops: {pairs.trip}"
        ends = ("min", "mean", "median", "p99", "max")
        names, units = tuple(f"{name}_s" for name in ends), ("of pairs",) * 5

    def value(name: str, row: Mapping[str, Any]) -> str:
        return pairs.value_text(row["bytes"], row[name])

    known = zip(ends, units, names, strict=True)
    values: list[Column[ClassRow]] = [(end, unit, partial(value, name)) for end, unit, name in known]
    return make_table(pairs.run.titled(title), _ordered(pairs.classes), *WHICH, samples, *values)


def _nodes(pairs: PairView) -> Table:
    placed = sorted((row for row in pairs.node_rows if row["place"]), key=lambda row: row["place"] or 0)
    claimed = [each for each in pairs.run.claimed("answer") if each["id"] == "outlier.node"]
    roles = {each["subject"]: ROLES.get(extras(each).get("role", ""), "slow") for each in claimed}
    # where no node is slow, what slows its pairs is elsewhere
    verdicts: list[Column[NodeRow]] = [(Words("verdict"), "", lambda row: roles.get(row["name"], ""))] if roles else []
    return make_table(
        pairs.run.titled("The ten worst nodes"), placed[:TEN],
        (Words("Node"), "", lambda row: row["name"]), (Words("worst at"), "", _where),
        ("all its pairs", "median over that of their class", lambda row: _factor(row["factor"])),
        ("worst partner", "", lambda row: f"{_factor(row['worst'])} with {row['worst_with']}"),
        ("within the node", "over the nodes' median", lambda row: _factor(row["within"])), *verdicts,
    )  # fmt: skip


def _pairs(pairs: PairView) -> Table:
    """The ten worst pairs of different nodes, with the three measurements of each that was measured again."""
    firsts: dict[tuple[object, ...], WorstRow] = {}
    for row in pairs.worst:
        firsts.setdefault((row["source_name"], row["target_name"], row["bytes"], row["mode"]), row)
    title = "The ten worst pairs" + ("" if len(firsts) == len(pairs.worst) else ", the worst of each two nodes")
    times = ("first_s", "again_1_s", "again_2_s")
    return make_table(
        pairs.run.titled(title), list(firsts.values())[:TEN],
        (Words("Pair"), "",
         lambda row: f"{row['source']} on {row['source_name']} > {row['target']} on {row['target_name']}"),
        (Words("message, pairs"), "", _where), (Words("hops"), "", lambda row: row["class"]),
        ("rate" if pairs.rates else "time", "median of those measured",
         lambda row: pairs.value_text(row["bytes"], row["time_s"])),
        ("time of its class", "", lambda row: _factor(row["factor"])),
        ("measured", "first, and again beside the same traffic",
         lambda row: ", ".join(pairs.value_text(row["bytes"], row[name]) for name in times if row[name])),
    )  # fmt: skip


def _contention(pairs: PairView) -> Table:
    return make_table(
        pairs.run.titled("Contention: concurrent over isolated time"), _ordered(pairs.contention), *WHICH,
        ("factor", interval_heading(pairs.contention),
         lambda row: f"{row['factor']:.2f}"
         + (f" ({row['low']:.2f}–{row['high']:.2f})" if row["low"] and row["high"] else "")),
        ("p5", "of the pairs", lambda row: _factor(row["p5"], "")), ("p95", "", lambda row: _factor(row["p95"], "")),
        ("max", "", lambda row: _factor(row["max"], "")),
    )  # fmt: skip


def _cold(pairs: PairView) -> Table:
    return make_table(
        pairs.run.titled("First contact of a pair (cold)"), _ordered(pairs.cold), *WHICH,
        ("median", pairs.trip, lambda row: measured_seconds(row["median_s"])),
        ("max", "", lambda row: measured_seconds(row["max_s"])),
        ("over warm", "median of the pairs", lambda row: f"{row['ratio']:.2f} x"),
    )  # fmt: skip


STORY = PairsStory
