# SPDX-License-Identifier: BSD-3-Clause
"""How fast messages went between every two nodes: bytes over time, and which pairs of nodes are slow."""

from collections import defaultdict
from statistics import median

from weft.analyse.engine import Expression
from weft.analyse.tables.traces import NodePairRow
from weft.analyse.trace.sums import NS

LEAST_BYTES = 1 << 14
"""Of a message: what is smaller tells of latency, not of the rate of a link."""
FEWEST_MESSAGES, FEWEST_PAIRS = 8, 3
SLOW = 2.0
"""From this multiple of the others' median time for a byte on, a pair of nodes is slow."""


def node_pairs(seen: Expression, ranks: Expression) -> list[NodePairRow]:
    """Rows of NODE_PAIRS, the slowest first.

    Parameters
    ----------
    seen
        rank, peer, bytes and ns of messages whose whole way was seen.
    """
    import ibis

    places = ranks.select("rank", "node")
    both = seen.filter(seen.bytes >= LEAST_BYTES).join(places, "rank")
    both = both.join(places.select(peer=places.rank, other=places.node), "peer")
    both = both.filter(both.node != both.other)
    sized = both.select(
        "bytes", "ns", low=ibis.least(both.node, both.other), high=ibis.greatest(both.node, both.other),
        size=both.bytes.cast("float64").log2().floor().cast("int64"), each=both.ns / both.bytes,
    )  # fmt: skip
    sums = sized.group_by(["low", "high", "size"]).agg(
        messages=sized.count(), total=sized.bytes.sum().cast("int64"), ns=sized.ns.sum().cast("int64"),
        each=sized.each.median(),
    )  # fmt: skip
    return _judged(sums.to_pyarrow().to_pylist())


def _judged(classes: list[dict[str, float]]) -> list[NodePairRow]:
    by_size: defaultdict[float, list[float]] = defaultdict(list)
    by_pair: defaultdict[tuple[float, float], list[dict[str, float]]] = defaultdict(list)
    for each in classes:
        by_pair[each["low"], each["high"]].append(each)
        if each["messages"] >= FEWEST_MESSAGES:
            by_size[each["size"]].append(each["each"])
    rows: list[NodePairRow] = []
    for (low, high), own in by_pair.items():
        fair = [one for one in own if one["messages"] >= FEWEST_MESSAGES and len(by_size[one["size"]]) >= FEWEST_PAIRS]
        most = max(fair, key=lambda one: one["total"], default=None)
        ratio = most["each"] / median(by_size[most["size"]]) if most else None
        rows.append(
            NodePairRow(
                node=int(low), other=int(high), messages=int(sum(one["messages"] for one in own)),
                bytes=int(sum(one["total"] for one in own)), seconds=sum(one["ns"] for one in own) * NS,
                ratio=ratio, slow=ratio is not None and ratio >= SLOW,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (-(row["ratio"] or 0), row["node"], row["other"]))
