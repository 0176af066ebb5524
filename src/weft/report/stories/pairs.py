# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``pairs``: slow nodes and links, latency by hops, and contention between pairs (paper 002)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from weft.analyse.tables.claims import extras
from weft.analyse.tables.pairs import WorstRow
from weft.format import format_bytes, measured_seconds
from weft.report.intervals import interval_heading
from weft.report.pair_view import PairView
from weft.report.tabular import Table, Words
from weft.report.view import RunView, Story

if TYPE_CHECKING:
    from weft.report.figures import Picture
    from weft.report.figures.theme import Figure

TEN = 10
ROLES = {"sender": "slow as sender", "receiver": "slow as receiver", "both": "slow in both directions"}


R = TypeVar("R", bound=Mapping[str, Any])


class PairsStory(Story):
    """The table by hops, worst nodes and pairs, contention, first contact, and the matrices."""

    def tables(self, view: RunView) -> list[Table]:
        """Hops, nodes, pairs, contention, first contact."""
        pairs = PairView(view)
        if not pairs.measured:
            return []
        found = [_hops(pairs), _nodes(pairs), _pairs(pairs), _contention(pairs), _cold(pairs)]
        return [table for table in found if len(table.rows) > 1]

    def figures(self, view: RunView) -> "list[Figure | Picture]":
        """Matrices by rank and node, contention, histograms."""
        from weft.report.figures.pairs import pair_figures

        pairs = PairView(view)
        return pair_figures(pairs) if pairs.measured else []

    def proof(self, view: RunView, figures: "Sequence[Figure | Picture]") -> "list[Figure | Picture]":
        """The matrix at the message size that answers; with a slow cable or switch, the tree with it in red."""
        from weft.report.figures.proof import draw_outlier

        answer = next(iter(view.claimed("answer")), None)
        size = extras(answer).get("bytes") if answer else None
        wanted = [each for each in figures if size is not None and each.name.split("-")[2:3] == [str(size)]]
        tree = draw_outlier(view)
        # a matrix beside the card has no heading
        shown = [replace(each, key=f"{each.title}. {each.key}") for each in (wanted or figures)[:1]]
        return [*([tree] if tree else []), *shown]

    def fields(self, view: RunView) -> dict[str, Any]:
        """``pairs``: the rows of the tables and the outliers."""
        pairs = PairView(view)
        if not pairs.measured:
            return {"pairs": None}
        return {
            "pairs": {
                "messages": pairs.window, "classes": pairs.classes, "cold": pairs.cold,
                "contention": pairs.contention,
                "nodes": pairs.node_rows, "worst": pairs.worst, "outliers": pairs.outliers, "unknown": pairs.unknown,
            }
        }  # fmt: skip


def _ordered(rows: Iterable[R]) -> list[R]:
    """Rows by size and mode; classes stay nearest first, as in the table."""
    return sorted(rows, key=lambda row: (row["bytes"], row["mode"]))


def _where(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"{format_bytes(row['bytes'])}, {row['mode']}", row["class"]


def _hops(pairs: PairView) -> Table:
    """The table of paper 002, with median and p99."""
    if pairs.window > 1:
        return _rates(pairs)
    names = ("min_s", "mean_s", "median_s", "p99_s", "max_s")
    rows = [
        (*_where(row), f"{row['pairs']:,}", f"{row['samples']:,}", *(measured_seconds(row[name]) for name in names))
        for row in _ordered(pairs.classes)
    ]
    heading = (Words("Message, pairs"), Words("hops"), "pairs", "samples", "min", "mean", "median", "p99", "max")
    second = ("", "", "", "", *("of pairs",) * 5)
    title = pairs.run.titled("Latency by hops: half a round trip")
    return Table(title, heading, (second, *rows))


def _rates(pairs: PairView) -> Table:
    """Rates by hop class: those of the slowest sample, of the median over the pairs, and of the fastest sample."""
    rows = [
        (*_where(row), f"{row['pairs']:,}", f"{row['samples']:,}",
         *(pairs.value_text(row["bytes"], row[name]) for name in ("max_s", "median_s", "min_s")))
        for row in _ordered(pairs.classes)
    ]  # fmt: skip
    heading = (Words("Message, pairs"), Words("hops"), "pairs", "samples", "slowest", "median", "fastest")
    title = pairs.run.titled(f"Rate by hops: one way, {pairs.window} messages under way {pairs.places}")
    return Table(title, heading, (("", "", "", "", "", "of pairs", ""), *rows))


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} x"


def _nodes(pairs: PairView) -> Table:
    """The ten worst nodes."""
    placed = sorted((row for row in pairs.node_rows if row["place"]), key=lambda row: row["place"] or 0)
    claimed = [each for each in pairs.run.claimed("answer") if each["id"] == "outlier.node"]
    roles = {each["subject"]: ROLES.get(extras(each).get("role", ""), "slow") for each in claimed}
    rows = [
        (
            row["name"],
            f"{format_bytes(row['bytes'])}, {row['mode']}",
            _factor(row["factor"]),
            f"{_factor(row['worst'])} with {row['worst_with']}",
            _factor(row["within"]),
            roles.get(row["name"], ""),
        )
        for row in placed[:TEN]
    ]
    heading = (Words("Node"), Words("worst at"), "all its pairs", "worst partner", "within the node", Words("verdict"))
    second = ("", "", "median over that of their class", "", "over the nodes' median", "")
    if not roles:  # no node is slow: what slows its pairs lies elsewhere
        heading, second, rows = heading[:-1], second[:-1], [row[:-1] for row in rows]
    return Table(pairs.run.titled("The ten worst nodes"), heading, (second, *rows))


def _pairs(pairs: PairView) -> Table:
    """The ten worst pairs of different nodes, with the three measurements of each that was measured again."""
    firsts: dict[tuple[object, ...], WorstRow] = {}
    for row in pairs.worst:
        firsts.setdefault((row["source_name"], row["target_name"], row["bytes"], row["mode"]), row)
    rows = [
        (
            f"{row['source']} on {row['source_name']} > {row['target']} on {row['target_name']}",
            *_where(row),
            pairs.value_text(row["bytes"], row["time_s"]),
            _factor(row["factor"]),
            ", ".join(
                pairs.value_text(row["bytes"], row[name]) for name in ("first_s", "again_1_s", "again_2_s") if row[name]
            ),
        )
        for row in list(firsts.values())[:TEN]
    ]
    heading = (
        Words("Pair"),
        Words("message, pairs"),
        Words("hops"),
        "time" if pairs.window == 1 else "rate",
        "time of its class",
        "measured",
    )
    second = ("", "", "", "median of those measured", "", "first, and again beside the same traffic")
    title = "The ten worst pairs" + ("" if len(firsts) == len(pairs.worst) else ", the worst of each two nodes")
    return Table(pairs.run.titled(title), heading, (second, *rows))


def _contention(pairs: PairView) -> Table:
    """Factors of contention by class."""
    rows = [
        (
            *_where(row),
            f"{row['pairs']:,}",
            f"{row['factor']:.2f}" + (f" ({row['low']:.2f}–{row['high']:.2f})" if row["low"] and row["high"] else ""),
            *(f"{row[name]:.2f}" for name in ("p5", "p95", "max")),
        )
        for row in _ordered(pairs.contention)
    ]
    heading = (Words("Message, pairs"), Words("hops"), "pairs", "factor", "p5", "p95", "max")
    second = ("", "", "", interval_heading(pairs.contention), "of the pairs", "", "")
    title = pairs.run.titled("Contention: concurrent over isolated time")
    return Table(title, heading, (second, *rows))


def _cold(pairs: PairView) -> Table:
    """First contact by class."""
    rows = [
        (
            *_where(row),
            f"{row['pairs']:,}",
            measured_seconds(row["median_s"]),
            measured_seconds(row["max_s"]),
            f"{row['ratio']:.2f} x",
        )
        for row in _ordered(pairs.cold)
    ]
    heading = (Words("Message, pairs"), Words("hops"), "pairs", "median", "max", "over warm")
    second = ("", "", "", "half the first round trip", "", "median of the pairs")
    return Table(pairs.run.titled("First contact of a pair (cold)"), heading, (second, *rows))


STORY = PairsStory
