# SPDX-License-Identifier: BSD-3-Clause
"""Pairs as matrices: the median of every two nodes, and the slowest pair of every block of ranks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.analyse.pairs.pair_times import MEASURED, PairFile, PairTimes, Piece, inconsistent, judged
from weft.analyse.pairs.places import Places
from weft.analyse.statistics.quantile import group_medians, robust_deviation
from weft.analyse.tables.pairs import NodeRow
from weft.files.atomic import explain
from weft.store.tables import grouped

Floats = NDArray[np.float64]
#: Ordered pairs of ranks in one way up to which each is analysed by itself: a column of them takes 268 MB.
MOST_PAIRS = 1 << 25
AT_ONCE = 1 << 23  # pairs of ranks of which medians are taken at a time
#: Pairs of ranks on their way to `BY_NODES`; times to a ten-millionth, at half the size of the table's.
RANK_TIMES = ("time", "cold", "forward", "min", "max")
STANDING_OUT = 6.0  # a node stands out at a size if it is this many standard deviations of all nodes slower


@dataclass(frozen=True, eq=False)
class NodeMatrix:
    """Times of every two nodes at one size and mode, in seconds; shape (nodes, nodes) each, nan if not measured."""

    bytes: int
    mode: str
    time_s: Floats  # median over the pairs of ranks of their final times: half a round trip
    forward_s: Floats  # ... of the one-way time from source to target
    pairs: NDArray[np.int64]  # number of pairs of ranks in the median


def node_matrix(times: PairTimes, time_s: Floats, forward_s: Floats) -> NodeMatrix:
    """The medians of every two nodes; ``time_s`` and ``forward_s`` of each pair, shape (pairs,)."""
    nodes, count = times.ends.nodes, len(times.ends.places.nodes)
    time, forward = (group_medians(nodes, each, count * count).reshape(count, count) for each in (time_s, forward_s))
    pairs = np.bincount(nodes, times.counts(), minlength=count * count).astype(np.int64).reshape(count, count)
    return NodeMatrix(times.bytes, times.mode, time, forward, pairs)


def slowest(group: NDArray[np.integer], values: Floats, groups: int) -> Floats:
    """The largest value of each group (groups,), nan without any: never a mean, one slow pair must stay visible."""
    found = np.full(groups, -np.inf)
    np.maximum.at(found, group, values)
    return np.where(np.isneginf(found), np.nan, found)


BY_NODES = pa.schema(
    [("launch", pa.int16()), ("bytes", pa.int64()), ("mode", pa.string()), ("launch_id", pa.string())]
    + [(name, pa.int32()) for name in ("source", "target", "slowest_source", "slowest_target")]
    + [(name, pa.int64()) for name in ("pairs", "samples", "broken", "cold_pairs")]
    + [(f"{name}_s", pa.float64()) for name in ("median", "forward", "min", "max", "fastest", "mean", "slowest")]
    + [(f"{name}_s", pa.float64()) for name in ("cold", "cold_mean", "cold_max", "again_1", "again_2")]
)
RANK_PAIR = np.dtype([*((name, "i4") for name in ("source", "target", "samples", "broken")),
                      *((name, "f4") for name in RANK_TIMES)])  # fmt: skip


def by_nodes(
    root: Path, file: PairFile, launches: Sequence[str], places: Places, path: Path
) -> tuple[PairFile, Places]:
    """Over `MOST_PAIRS` the pairs of nodes, in a file at ``path``: medians of their ranks' pairs, and the slowest."""
    wanted = (piece for piece in file.pieces if piece.launch in launches)
    parts = grouped(wanted, lambda piece: (piece.bytes, piece.mode, piece.number))  # of each way in each launch
    most = max((sum(each.last - each.first for each in part) for part in parts.values()), default=0)
    if most <= MOST_PAIRS or places.ranks == len(places.nodes):
        return file, places
    with pq.ParquetWriter(path, BY_NODES, write_statistics=False) as writer:
        for _, part in sorted(parts.items()):
            for nodes, rows in _some_nodes(file, part, places, path.parent):
                writer.write_table(_node_pairs(part[0], rows, nodes, places))
    nodes = np.arange(len(places.nodes), dtype=np.int32)
    return PairFile(root, path), replace(places, node_of=nodes, local_of=np.zeros_like(nodes))


def _some_nodes(
    file: PairFile, part: Sequence[Piece], places: Places, scratch: Path
) -> Iterator[tuple[range, NDArray[Any]]]:
    """Some nodes at a time with the pairs of their ranks as sources, of `RANK_PAIR`; each piece is read once."""
    count = len(places.nodes)
    step = max(1, count * AT_ONCE // sum(each.last - each.first for each in part))
    paths = [scratch / f"{low}" for low in range(0, count, step)]
    for piece in part:
        rows = _rank_pairs(file, piece)
        own = (places.node_of[rows["source"]] // step).astype(np.uint16)
        ends = np.cumsum(np.bincount(own, minlength=len(paths)))
        words = rows.view(np.int32).reshape(len(rows), -1)  # six times as fast to order as records
        ordered = np.take(words, np.argsort(own, kind="stable"), axis=0)
        for path, some in zip(paths, np.split(ordered, ends[:-1]), strict=True):
            try:
                with path.open("ab") as stored:
                    stored.write(some.data)
            except OSError as error:
                raise explain(path, error) from None
    for at, path in enumerate(paths):
        if len(rows := np.fromfile(path, RANK_PAIR)):
            yield range(at * step, min((at + 1) * step, count)), rows
        path.unlink()


def _rank_pairs(file: PairFile, piece: Piece) -> NDArray[Any]:
    """The pairs of ranks of a piece; ``broken`` ones are inconsistent (METHOD 20)."""
    rows = np.empty(piece.last - piece.first, RANK_PAIR)
    first, *again = (file.read(name, [piece]) for name in MEASURED)
    least, most = file.read("min_s", [piece]), file.read("max_s", [piece])
    for name in ("source", "target", "samples"):
        rows[name] = file.read(name, [piece], np.int32)
    rows["broken"] = inconsistent(least, first, most, rows["samples"])
    times = judged(first, *again)[0], *(file.read(f"{name}_s", [piece]) for name in ("cold", "forward")), least, most
    for name, values in zip(RANK_TIMES, times, strict=True):
        rows[name] = values
    return rows


def _node_pairs(piece: Piece, rows: NDArray[Any], nodes: range, places: Places) -> pa.Table:
    """The pairs of some nodes with all others, ascending, from the pairs in which their ranks are sources."""
    count, groups = len(places.nodes), len(nodes) * len(places.nodes)
    code = (places.node_of[rows["source"]] - np.int32(nodes.start)) * np.int32(count) + places.node_of[rows["target"]]
    time_s, cold_s, forward_s, least, most = (rows[name].astype(np.float64) for name in RANK_TIMES)
    slowest_s, place = slowest(code, time_s, groups), np.zeros(groups, np.int64)
    at = np.flatnonzero(time_s == slowest_s[code])[::-1]
    place[code[at]] = at  # the first of equal ones
    met = np.isfinite(cold_s)

    def total(values: NDArray[Any] | None = None) -> NDArray[Any]:
        return np.bincount(code, values, minlength=groups)

    pairs, cold_pairs = total(), total(met)
    known = np.flatnonzero(pairs)
    of: dict[str, NDArray[Any]] = {
        "launch": np.full(groups, piece.number), "bytes": np.full(groups, piece.bytes),
        "source": np.arange(groups) // count + nodes.start, "target": np.arange(groups) % count,
        "slowest_source": rows["source"][place], "slowest_target": rows["target"][place],
        "pairs": pairs, "cold_pairs": cold_pairs, "samples": total(rows["samples"]), "broken": total(rows["broken"]),
        "median_s": group_medians(code, time_s, groups), "mean_s": total(time_s) / np.maximum(pairs, 1),
        "fastest_s": -slowest(code, -time_s, groups), "slowest_s": slowest_s,
        "min_s": -slowest(code, -least, groups), "max_s": slowest(code, most, groups),
        "cold_s": group_medians(code, cold_s, groups), "forward_s": group_medians(code, forward_s, groups),
        "cold_mean_s": total(np.where(met, cold_s, 0.0)) / np.where(cold_pairs > 0, cold_pairs, np.nan),
        "cold_max_s": slowest(code, np.where(met, cold_s, -np.inf), groups),
        **dict.fromkeys(MEASURED[1:], np.full(groups, np.nan)),
    }  # fmt: skip
    numbers = {name: values[known] for name, values in of.items()}
    found = pa.table(table_columns(numbers, mode=piece.mode, launch_id=piece.launch))
    return found.select(BY_NODES.names).cast(BY_NODES)


def table_columns(numbers: Mapping[str, NDArray[Any]], **same: object) -> dict[str, Any]:
    """Columns of numbers, null for nan; and of values that are the same in all rows."""
    found: dict[str, Any] = {name: pa.array(values, mask=np.isnan(values)) for name, values in numbers.items()}
    count = len(next(iter(numbers.values())))
    return found | {name: pa.repeat(pa.scalar(value), count) for name, value in same.items()}


def node_rows(bases: Iterable[tuple[NodeMatrix, Floats]], places: Places) -> list[NodeRow]:
    """A row for each node, size and mode, with its place in the row that shows it best (:func:`worst_first`).
    ``factor``: median of its pairs' times over their class without outliers, ``worst`` the largest; ``within``: own
    pairs.
    """
    rows: list[NodeRow] = []
    for matrix, base_s in bases:
        count, inside = len(matrix.time_s), np.diagonal(matrix.time_s)
        off = np.where(np.eye(count, dtype=bool), np.nan, matrix.time_s / base_s)
        both = np.fmax(off, off.T)
        known = inside[np.isfinite(inside)]
        usual = float(np.median(known)) if known.size else np.nan
        for node, name in enumerate(places.nodes):
            touching = np.concatenate([off[node], off[:, node]])
            touching = touching[np.isfinite(touching)]
            partner = int(np.nanargmax(both[node])) if np.isfinite(both[node]).any() else None
            rows.append({
                "nodes": count, "ranks": places.ranks, "bytes": matrix.bytes, "mode": matrix.mode, "node": node,
                "name": name, "factor": float(np.median(touching)) if touching.size else None,
                "worst": None if partner is None else float(both[node, partner]),
                "worst_with": None if partner is None else places.nodes[partner],
                "within": float(inside[node] / usual) if np.isfinite(inside[node]) else None, "place": None,
            })  # fmt: skip
    for place, row in enumerate(worst_first(rows), 1):
        row["place"] = place
    return rows


def worst_first(rows: Iterable[NodeRow]) -> list[NodeRow]:
    """The row of each node at the size and mode that shows it best, the worst node first. Those that stand out
    (`STANDING_OUT`) by factor, then the rest by deviations: short messages scatter more.
    """
    known = (row for row in rows if row["factor"] is not None)
    ranked: list[tuple[bool, float, NodeRow]] = []
    for own in grouped(known, lambda row: (row["bytes"], row["mode"])).values():
        logs = np.log(np.array([row["factor"] for row in own], float))
        excess, spread = logs - np.median(logs), max(robust_deviation(logs), 1e-6)
        for row, over in zip(own, excess.tolist(), strict=True):
            out = over > STANDING_OUT * spread
            ranked.append((out, over if out else over / spread, row))
    found: dict[str, NodeRow] = {}
    for _, _, row in sorted(ranked, key=lambda each: each[:2], reverse=True):
        found.setdefault(row["name"], row)
    return list(found.values())
