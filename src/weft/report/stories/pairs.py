# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``pairs``: who is slow, at how many hops, and what pairs cost beside each other (paper 002)."""

from collections.abc import Iterable
from typing import Any

from weft.analyse.checks import Finding, by_gravity, common_findings
from weft.report.figures.picture import Picture
from weft.report.figures.theme import Figure
from weft.report.numbers import plural, seconds_text
from weft.report.pair_view import PairView
from weft.report.story import Story
from weft.report.view import Row, RunView
from weft.tabular import Table
from weft.units import format_bytes

TEN = 10
TOLD = 3

REMEDIES = {
    "node": "look at its adapter and its cable (ibstat, perfquery, ethtool -S), and at what else runs there; "
    "placement.nodes in the study leaves it out",
    "memory": "compare its memory and processor frequency with its neighbours' (dmidecode, cpupower)",
    "link": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "cable": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "switch": "read its counters and its temperature; all slow pairs cross it",
    "leaves": "look at the routes between the two (weft fabric show), and at the cables that they share",
    "route": "look at the route between the two (weft fabric show)",
    "rank": "look at what else runs on its core",
    "pair": "measure it again; look at what the two nodes share with nobody else",
    "class": "pin the ranks another way, or measure with one rank on each socket, and see whether the groups follow",
}


class PairsStory(Story):
    """The table by hops, worst nodes and pairs, contention, first contact, and the matrices."""

    def headline(self, view: RunView) -> str:
        """Who is slow, or that nobody stands out."""
        pairs = PairView(view)
        if not pairs.measured:
            return "No pair was measured yet."
        told = [row["statement"] for row in pairs.blame]
        if not told:
            return f"No node, link or pair stands out among {_counted(pairs)}.{_fastest(pairs)}"
        more = f" And {plural(len(told) - TOLD, 'more')}." if len(told) > TOLD else ""
        return "; ".join(_capital(text) if index == 0 else text for index, text in enumerate(told[:TOLD])) + "." + more

    def tables(self, view: RunView) -> list[Table]:
        """Hops, nodes, pairs, contention, first contact."""
        pairs = PairView(view)
        if not pairs.measured:
            return []
        found = [_hops(pairs), _nodes(pairs), _pairs(pairs), _contention(pairs), _cold(pairs)]
        return [table for table in found if len(table.rows) > 1]

    def figures(self, view: RunView) -> list[Figure | Picture]:
        """Matrices by rank and node, contention, histograms."""
        from weft.report.figures.pairs import pair_figures

        pairs = PairView(view)
        return pair_figures(pairs) if pairs.measured else []

    def findings(self, view: RunView) -> list[Finding]:
        """Who is to blame, and what any run can have."""
        # a block of rounds has no time of its own: its pairs have, and they are checked in their own table
        rows = [row for row in view.rows if row["kernel"] != "pairs" or row["status"] != "ok" or row["reason"]]
        found = common_findings(rows, view.table("cells"), view.floor, view.plan.measure.precision)
        pairs = PairView(view)
        return by_gravity([*found, *_blamed(pairs), *_broken(pairs), *_sampled(pairs)])

    def fields(self, view: RunView) -> dict[str, Any]:
        """``pairs``: the rows of the tables and the culprits."""
        pairs = PairView(view)
        if not pairs.measured:
            return {"pairs": None}
        names = ("classes", "cold", "contention", "nodes", "worst", "blame")
        return {"pairs": {name: pairs.of(name) for name in names} | {"unknown": pairs.unknown}}


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
        return f" Half a round trip of {size} takes {seconds_text(near['median_s'])} (median; {near['class']})."
    return (
        f" Half a round trip of {size} takes {seconds_text(near['median_s'])} at {near['class']} and "
        f"{seconds_text(far['median_s'])} at {far['class']} (medians)."
    )


def _ordered(rows: Iterable[Row]) -> list[Row]:
    """By size and mode; classes stay nearest first, as the table has them."""
    return sorted(rows, key=lambda row: (row["bytes"], row["mode"]))


def _where(row: Row) -> tuple[str, str]:
    return f"{format_bytes(row['bytes'])}, {row['mode']}", row["class"]


def _hops(pairs: PairView) -> Table:
    """The table of paper 002, with median and p99."""
    names = ("min_s", "mean_s", "median_s", "p99_s", "max_s")
    rows = [
        (*_where(row), f"{row['pairs']:,}", f"{row['samples']:,}", *(seconds_text(row[name]) for name in names))
        for row in _ordered(pairs.classes)
    ]
    heading = ("Message, pairs", "hops", "pairs", "samples", "min", "mean", "median", "p99", "max")
    second = ("", "", "", "", "of the pairs' medians: half a round trip", "", "", "", "")
    title = pairs.run.titled("Latency by hops")
    return Table(title, heading, (second, *rows), frozenset({0, 1}))


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} x"


def _nodes(pairs: PairView) -> Table:
    """The ten worst nodes."""
    far = [row for row in pairs.node_rows if row["factor"] is not None]
    worst: dict[str, Row] = {}
    for row in sorted(far, key=lambda row: -row["factor"]):
        worst.setdefault(row["name"], row)
    roles = {row["name"]: row["role"] for row in pairs.blame if row["kind"] == "node"}
    rows = [
        (
            row["name"],
            f"{format_bytes(row['bytes'])}, {row['mode']}",
            _factor(row["factor"]),
            f"{_factor(row['worst'])} with {row['worst_with']}",
            _factor(row["within"]),
            _role(roles.get(row["name"])),
        )
        for row in list(worst.values())[:TEN]
    ]
    heading = ("Node", "worst at", "all its pairs", "worst partner", "within the node", "verdict")
    second = ("", "", "median over that of their class", "", "over the nodes' median", "")
    return Table(pairs.run.titled("The ten worst nodes"), heading, (second, *rows), frozenset({0, 1, 5}))


def _role(role: str | None) -> str:
    words = {None: "", "sender": "slow as sender", "receiver": "slow as receiver", "both": "slow both ways"}
    return words.get(role, "slow")


def _pairs(pairs: PairView) -> Table:
    """The ten worst pairs, with the three measurements of each that was measured again."""
    rows = [
        (
            f"{row['source']} on {row['source_name']} > {row['target']} on {row['target_name']}",
            *_where(row),
            seconds_text(row["time_s"]),
            _factor(row["factor"]),
            ", ".join(seconds_text(row[name]) for name in ("first_s", "again_1_s", "again_2_s") if row[name]),
        )
        for row in pairs.worst[:TEN]
    ]
    heading = ("Pair", "message, pairs", "hops", "verdict", "of its class", "measured")
    second = ("", "", "", "median of three", "", "first, and again alone")
    return Table(pairs.run.titled("The ten worst pairs"), heading, (second, *rows), frozenset({0, 1, 2}))


def _contention(pairs: PairView) -> Table:
    """Factors of contention by class."""
    rows = [
        (
            *_where(row),
            f"{row['pairs']:,}",
            f"{row['factor']:.2f} ({row['low']:.2f}–{row['high']:.2f})",
            *(f"{row[name]:.2f}" for name in ("p5", "p95", "max")),
        )
        for row in _ordered(pairs.contention)
    ]
    heading = ("Message, pairs", "hops", "pairs", "factor", "p5", "p95", "max")
    second = ("", "", "", "median (95 % interval)", "of the pairs", "", "")
    title = pairs.run.titled("Contention: time beside others over time alone")
    return Table(title, heading, (second, *rows), frozenset({0, 1}))


def _cold(pairs: PairView) -> Table:
    """First contact by class."""
    rows = [
        (
            *_where(row),
            f"{row['pairs']:,}",
            seconds_text(row["median_s"]),
            seconds_text(row["max_s"]),
            f"{row['ratio']:.2f} x",
        )
        for row in _ordered(pairs.of("cold"))
    ]
    heading = ("Message, pairs", "hops", "pairs", "median", "max", "over warm")
    second = ("", "", "", "half the first round trip", "", "median of the pairs")
    return Table(pairs.run.titled("First contact of a pair (cold)"), heading, (second, *rows), frozenset({0, 1}))


def _blamed(pairs: PairView) -> list[Finding]:
    found: list[Finding] = []
    for row in pairs.blame if pairs.measured else []:
        level = "note" if row["kind"] == "class" else "warning"
        where = row["statement"].partition(":")[0]
        found.append(
            Finding(level, f"slow-{row['kind']}", where, row["statement"].partition(": ")[2], REMEDIES[row["kind"]])
        )
    if pairs.unknown and len(pairs.nodes) > 1:
        what = f"no link can be named and no hops be counted: {pairs.unknown}"
        found.append(Finding("note", "no-routes", "all pairs", what, "describe the network in the fabric file"))
    return found


def _broken(pairs: PairView) -> list[Finding]:
    """METHOD 20 over every pair."""
    found: list[Finding] = []
    for row in pairs.classes if pairs.measured else []:
        if row["broken"]:
            what = f"{plural(row['broken'], 'pair')} of {row['pairs']:,} have quantiles out of order, or no samples"
            remedy = "do not use these numbers; please report them with the run folder"
            found.append(Finding("error", "self-check", ", ".join(_where(row)), what, remedy))
    return found


def _sampled(pairs: PairView) -> list[Finding]:
    """Ways of measuring that saw a sample of the pairs only."""
    possible = pairs.ranks * (pairs.ranks - 1) if pairs.measured else 0
    found: list[Finding] = []
    for key in sorted({(row["bytes"], row["mode"]) for row in pairs.classes} if pairs.measured else set()):
        count = sum(row["pairs"] for row in pairs.classes if (row["bytes"], row["mode"]) == key)
        if count < possible:
            what = f"{count:,} of {possible:,} pairs were measured"
            where = f"{format_bytes(key[0])}, {key[1]}"
            found.append(
                Finding("note", "sample", where, what, "raise pairs.sample_pairs or the budget for all of them")
            )
    return found
