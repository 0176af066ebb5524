# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``pairs``: slow nodes and links, latency by hops, and contention between pairs (paper 002)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from weft.analyse.tables.pairs import PAIR_FACTOR, BlameRow, WorstRow
from weft.format import capital, format_bytes, measured_factor, measured_seconds, plural
from weft.report.headline import Number
from weft.report.intervals import interval_heading
from weft.report.pair_view import MODES, PairView
from weft.report.story import Story
from weft.report.tabular import Table
from weft.report.view import RunView

if TYPE_CHECKING:
    from weft.report.figures.picture import Picture
    from weft.report.figures.theme import Figure

TEN = 10
TOLD = 3


R = TypeVar("R", bound=Mapping[str, Any])


class PairsStory(Story):
    """The table by hops, worst nodes and pairs, contention, first contact, and the matrices."""

    def finding(self, view: RunView) -> str:
        """How many pairs were measured and how long they take, where nothing stands out."""
        pairs = PairView(view)
        if not pairs.measured:
            return "No pair has been measured yet."
        if pairs.blame:
            return ""
        counted, times = _counted(pairs), _fastest(pairs)
        if spread := _spread(pairs):
            return f"No node or link stands out among {counted}, but {spread}.{times}"
        return f"No node, link or pair stands out among {counted}.{times}"

    def cause(self, view: RunView) -> str:
        """What is slow: nodes, links, pairs."""
        pairs = PairView(view)
        causes = [row["statement"] for row in pairs.named] if pairs.measured else []
        if not causes:
            return ""
        left = len(pairs.blame) - min(len(causes), TOLD)
        doubt = ", in doubt" if len(causes) <= TOLD else ""
        more = f" And {left:,} more{doubt}." if left else ""
        return "; ".join(capital(text) if index == 0 else text for index, text in enumerate(causes[:TOLD])) + "." + more

    def advice(self, view: RunView) -> str:
        """What to do about the first cause that stolen time could not have made."""
        pairs = PairView(view)
        if not pairs.measured or not pairs.blame or pairs.named[0]["doubted"]:
            return ""
        rule = f"slow-{pairs.named[0]['kind']}"
        return next((f"To try: {row['remedy']}." for row in view.findings if row["rule"] == rule), "")

    def answers(self, view: RunView) -> bool:
        """Whether pairs were measured: their times are in tables of their own."""
        return PairView(view).measured

    def line(self, view: RunView) -> str:
        """Who is slow, or that nobody is."""
        pairs = PairView(view)
        if not pairs.measured:
            return "No pair has been measured yet"
        if not pairs.blame:
            return "No node or link stands out; pairs differ" if _spread(pairs) else "Nothing stands out"
        if pairs.named[0]["doubted"]:
            return "Not shown: what stands out is in doubt"
        first = pairs.named[0]["statement"].partition(":")[0]
        split = pairs.named[0]["kind"] == "class"
        first = f"{capital(first)} split into two groups" if split else f"Slow: {first}"
        return first + (f", and {len(pairs.named) - 1:,} more" if len(pairs.named) > 1 else "")

    def numbers(self, view: RunView) -> list[Number]:
        """What the first cause costs, and half a round trip between the farthest."""
        pairs = PairView(view)
        if not pairs.measured:
            return []
        rows = [row for row in pairs.classes if (row["bytes"], row["mode"]) == pairs.shown[0]]
        far = max(rows, key=lambda row: row["median_s"])
        found: list[Number] = []
        if pairs.named and not pairs.named[0]["doubted"]:
            title = pairs.named[0]["statement"].partition(":")[0]
            worst = max(pairs.named[0]["sightings"], key=lambda seen: seen["factor"])
            label = f"as long, {format_bytes(worst['bytes'])}, {MODES[worst['mode']]}: {title}"
            found.append((f"{measured_factor(worst['factor'])} times", label))
        told = f"half a round trip of {format_bytes(far['bytes'])}, {far['class']}"
        return [*found, (measured_seconds(far["median_s"]), told)]

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

    def fields(self, view: RunView) -> dict[str, Any]:
        """``pairs``: the rows of the tables and the culprits."""
        pairs = PairView(view)
        if not pairs.measured:
            return {"pairs": None}
        return {
            "pairs": {
                "classes": pairs.classes,
                "cold": pairs.cold,
                "contention": pairs.contention,
                "nodes": pairs.node_rows,
                "worst": pairs.worst,
                "blame": pairs.blame,
                "unknown": pairs.unknown,
            }
        }


def _spread(pairs: PairView) -> str:
    """The pairs that are slow in their class although nothing is blamed; empty if there are none."""
    worst = pairs.worst[0] if pairs.worst else None
    if worst is None or worst["factor"] < PAIR_FACTOR:
        return ""
    way = worst["bytes"], worst["mode"]
    count = sum(row["slow"] for row in pairs.classes if (row["bytes"], row["mode"]) == way)
    times = f"{measured_factor(worst['factor'])} times"
    where = "" if way == pairs.shown[0] else f" at {format_bytes(way[0])}, {MODES[way[1]]}"
    if count == 1:
        return f"one pair takes {times} as long as its hop class{where}, which is within the spread of that class"
    shared = "; pairs that are measured at once may share links" if way[1] == "all" else ""
    return (
        f"{count:,} of them take {PAIR_FACTOR:g} times as long as their hop class or longer{where} ({times} at most): "
        f"too many, or too near the others, to blame single ones{shared}"
    )


def _counted(pairs: PairView) -> str:
    counts = [row["pairs"] for row in pairs.classes if (row["bytes"], row["mode"]) == pairs.shown[0]]
    nodes = plural(len(pairs.nodes), "node")
    return f"{plural(sum(counts), 'pair')} of {plural(pairs.ranks, 'rank')} on {nodes}"


def _fastest(pairs: PairView) -> str:
    """The nearest and the farthest class in a sentence."""
    rows = [row for row in pairs.classes if (row["bytes"], row["mode"]) == pairs.shown[0]]
    near, far = (choose(rows, key=lambda row: row["median_s"]) for choose in (min, max))
    size = format_bytes(near["bytes"])
    if near is far:
        return f" Half a round trip of {size} takes {measured_seconds(near['median_s'])} (median; {near['class']})."
    return (
        f" Half a round trip of {size} takes {measured_seconds(near['median_s'])} at {near['class']} and "
        f"{measured_seconds(far['median_s'])} at {far['class']} (medians)."
    )


def _ordered(rows: Iterable[R]) -> list[R]:
    """Rows by size and mode; classes stay nearest first, as in the table."""
    return sorted(rows, key=lambda row: (row["bytes"], row["mode"]))


def _where(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"{format_bytes(row['bytes'])}, {row['mode']}", row["class"]


def _hops(pairs: PairView) -> Table:
    """The table of paper 002, with median and p99."""
    names = ("min_s", "mean_s", "median_s", "p99_s", "max_s")
    rows = [
        (*_where(row), f"{row['pairs']:,}", f"{row['samples']:,}", *(measured_seconds(row[name]) for name in names))
        for row in _ordered(pairs.classes)
    ]
    heading = ("Message, pairs", "hops", "pairs", "samples", "min", "mean", "median", "p99", "max")
    second = ("", "", "", "", *("of pairs",) * 5)
    title = pairs.run.titled("Latency by hops: half a round trip")
    return Table(title, heading, (second, *rows), frozenset({0, 1}))


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} x"


def _nodes(pairs: PairView) -> Table:
    """The ten worst nodes."""
    placed = sorted((row for row in pairs.node_rows if row["place"]), key=lambda row: row["place"] or 0)
    blamed = pairs.blame if pairs.run.grade != "D" else []  # at D no cause is named
    told = {row["name"]: _role(row) for row in blamed if row["kind"] == "node"}
    rows = [
        (
            row["name"],
            f"{format_bytes(row['bytes'])}, {row['mode']}",
            _factor(row["factor"]),
            f"{_factor(row['worst'])} with {row['worst_with']}",
            _factor(row["within"]),
            told.get(row["name"], ""),
        )
        for row in placed[:TEN]
    ]
    heading = ("Node", "worst at", "all its pairs", "worst partner", "within the node", "verdict")
    second = ("", "", "median over that of their class", "", "over the nodes' median", "")
    if not told:  # no node is to blame: what slows its pairs lies elsewhere
        heading, second, rows = heading[:-1], second[:-1], [row[:-1] for row in rows]
    return Table(pairs.run.titled("The ten worst nodes"), heading, (second, *rows), frozenset({0, 1, 5}))


def _role(row: BlameRow) -> str:
    words = {"sender": "slow as sender", "receiver": "slow as receiver", "both": "slow in both directions"}
    return words.get(row["role"], "slow") + (", in doubt" if row["doubted"] else "")


def _pairs(pairs: PairView) -> Table:
    """The ten worst pairs of different nodes, with the three measurements of each that was measured again."""
    firsts: dict[tuple[object, ...], WorstRow] = {}
    for row in pairs.worst:
        firsts.setdefault((row["source_name"], row["target_name"], row["bytes"], row["mode"]), row)
    rows = [
        (
            f"{row['source']} on {row['source_name']} > {row['target']} on {row['target_name']}",
            *_where(row),
            measured_seconds(row["time_s"]),
            _factor(row["factor"]),
            ", ".join(measured_seconds(row[name]) for name in ("first_s", "again_1_s", "again_2_s") if row[name]),
        )
        for row in list(firsts.values())[:TEN]
    ]
    heading = ("Pair", "message, pairs", "hops", "time", "of its class", "measured")
    second = ("", "", "", "median of those measured", "", "first, and again in the same company")
    title = "The ten worst pairs" + ("" if len(firsts) == len(pairs.worst) else ", the worst of each two nodes")
    return Table(pairs.run.titled(title), heading, (second, *rows), frozenset({0, 1, 2}))


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
    heading = ("Message, pairs", "hops", "pairs", "factor", "p5", "p95", "max")
    second = ("", "", "", interval_heading(pairs.contention), "of the pairs", "", "")
    title = pairs.run.titled("Contention: concurrent over isolated time")
    return Table(title, heading, (second, *rows), frozenset({0, 1}))


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
    heading = ("Message, pairs", "hops", "pairs", "median", "max", "over warm")
    second = ("", "", "", "half the first round trip", "", "median of the pairs")
    return Table(pairs.run.titled("First contact of a pair (cold)"), heading, (second, *rows), frozenset({0, 1}))


STORY = PairsStory
