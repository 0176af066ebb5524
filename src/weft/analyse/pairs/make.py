# SPDX-License-Identifier: BSD-3-Clause
"""Making the tables of the analysis of pairs from ``tables/pairs.parquet``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from weft.analyse.engine import Backend, Expression, read
from weft.analyse.outliers.attribute import Attribution, attribute
from weft.analyse.outliers.doubts import Way, doubt_by_samples, doubt_by_steal, list_few_samples, typical_steal
from weft.analyse.outliers.matched import Pass, find_outliers, matched_rounds, read_passes
from weft.analyse.outliers.outlier import Outlier
from weft.analyse.pairs import hop_tables as tables
from weft.analyse.pairs.exact import spread
from weft.analyse.pairs.hop_tables import contention_rows, placed, verdicts
from weft.analyse.pairs.matrix import node_medians, node_rows, slowest_blocks
from weft.analyse.pairs.places import Places, list_placements
from weft.analyse.pairs.scratch import Scratch, scratch
from weft.analyse.tables.pairs import ALL, FARTHEST, LEAST_TOLD_S, PAIR_FACTOR
from weft.fabric.kinds import KINDS
from weft.plan.records import Plan
from weft.store.files import Schema, Table, write_parquet
from weft.store.rows import RANK_TABLE, MeasuredRow

#: Rows of one of `weft.analyse.tables.pairs.ALL` before their placement is added; a large table column by column.
Rows: TypeAlias = Sequence[Mapping[str, object]] | Table
Found = dict[str, Rows]

#: Rank matrices are drawn with at most this many points per side: each is the slowest pair of its block.
RASTER = 512


def make_pair_analysis(root: Path, plan: Plan, backend: Backend, cells: Sequence[MeasuredRow] = ()) -> None:
    """Write the tables of `weft.analyse.tables.pairs.ALL`, for each placement of ranks separately.

    Raises DataError: A table is missing, or cannot be written.
    """
    whole: dict[str, list[Table]] = {table.name: [] for table in ALL}
    pairs = read(backend, [root / "tables" / "pairs.parquet"])
    measured = pairs.select("launch_id").distinct().to_pyarrow()["launch_id"].to_pylist()
    with scratch(backend, root / "tables") as kept:
        for number, (launches, places) in enumerate(list_placements(RANK_TABLE.read(root), measured, plan)):
            own = pairs.filter(pairs.launch_id.isin(launches))
            modelled = KINDS[plan.fabric_kind].is_model
            share = 0.0 if modelled else typical_steal(cells, launches)
            folder = Scratch(backend, kept.subfolder(f"placement{number}"))
            passes = read_passes(root, plan, launches) if matched_rounds(plan) else []
            found = _analysed(own, len(launches), modelled, share, places, folder, passes)
            # the histogram is summed over launches and placements, so it is written for the largest, which contains
            # them all
            found |= _of_samples(root, backend, places) if number == 0 else {}
            for table in ALL:
                rows = found.get(table.name.removeprefix("pair_"), [])
                whole[table.name].append(_of_placement(rows, places, table.schema))
    for table in ALL:
        name = table.name.replace("_", "-", 1)
        write_parquet(table.path(root), whole[table.name], table.schema, f"weft-{name}/1")


def _of_placement(rows: Rows, places: Places, schema: Schema) -> Table:
    """Rows as a table with the columns of their placement; large ones are a columnar table already."""
    where = {"nodes": len(places.nodes), "ranks": places.ranks}
    if isinstance(rows, Sequence):
        return pa.Table.from_pylist([{**where, **row} for row in rows], schema=schema)
    table: Any = rows
    for name, value in where.items():
        table = table.append_column(name, pa.repeat(pa.scalar(value, pa.int32()), len(table)))
    return table.select(schema.names).cast(schema)


def _analysed(
    pairs: Expression,
    launches: int,
    modelled: bool,
    share: float,
    places: Places,
    kept: Scratch,
    passes: Sequence[Pass] = (),
) -> Found:
    """Rows of every table for one placement, with the typical share of CPU steal; ``passes`` of a run of matchings."""
    judged = kept.keep("verdicts", placed(verdicts(pairs, launches), places))
    found = attribute(judged, places, kept, modelled=modelled, named=not passes)
    found = replace(found, outliers=tuple(find_outliers(passes, places))) if passes else found
    factors = kept.keep("contention", tables.pair_contention(judged))
    counts = factors.group_by(tables.CLASS).agg(n=factors.count()).n.name("n").as_table().distinct()
    sizes = counts.to_pyarrow()["n"].to_pylist()
    outliers = _weighed(found, pairs, judged, share, places, kept, modelled=modelled)
    return {
        "classes": _with_slow(_named(tables.hop_table(judged).order_by(tables.CLASS), places), found.left),
        "cold": _classed(tables.cold_table(judged), places),
        "contention": _placed(contention_rows(pairs, judged, factors, sizes, modelled=modelled), places)
        if sizes
        else [],
        "nodes": node_rows(
            [(each, parts.base) for each, parts in zip(found.matrices, found.taken, strict=True)], places
        ),
        "matrix": _matrix(judged, factors),
        "matrix_medians": tables.matrix_medians(factors).order_by(["bytes", "mode"]).to_pyarrow().to_pylist(),
        "blocks": _blocks(judged, places),
        "worst": _worst(tables.worst_pairs(found.left, pairs, FARTHEST), places),
        "blame": [asdict(each) | {"statement": each.statement} for each in sorted(outliers, key=attrgetter("doubted"))],
        "names": [
            {"node": index, "name": name, "on_node": int((places.node_of == index).sum()), "unknown": places.unknown}
            for index, name in enumerate(places.nodes)
        ],
    }


def _weighed(
    found: Attribution,
    pairs: Expression,
    judged: Expression,
    share: float,
    places: Places,
    kept: Scratch,
    *,
    modelled: bool,
) -> list[Outlier]:
    """The outliers, each marked where steal or too few samples could have made it."""
    ways = judged.group_by(["bytes", "mode"]).agg(pairs=judged.count()).to_pyarrow()["pairs"].to_pylist()
    few: frozenset[Way] = frozenset() if modelled else list_few_samples(judged, found.outliers)
    weighed = [doubt_by_steal(each, share, len(places.nodes), max(ways), len(ways)) for each in found.outliers]
    if any(each.doubted for each in weighed):
        steady = found_in_every_launch(pairs, places, kept)
        weighed = [
            before if (before.kind, before.name) in steady else after
            for before, after in zip(found.outliers, weighed, strict=True)
        ]
    return [doubt_by_samples(each, few) for each in weighed]


def found_in_every_launch(pairs: Expression, places: Places, kept: Scratch) -> frozenset[tuple[str, str]]:
    """Kind and name of the outliers that every launch shows by itself; none of a single launch.

    Disturbance that knows nothing of the cables would have to fall on the same pairs each time, to fake one of them.
    """
    launches = sorted(pairs.select("launch_id").distinct().to_pyarrow()["launch_id"].to_pylist())
    seen: frozenset[tuple[str, str]] | None = None
    for launch in launches if len(launches) > 1 else ():
        own = Scratch(kept.backend, kept.subfolder(f"alone-{launch}"))
        judged = own.keep("verdicts", placed(verdicts(pairs.filter(pairs.launch_id == launch)), places))
        named = frozenset((each.kind, each.name) for each in attribute(judged, places, own).outliers)
        seen = named if seen is None else seen & named
    return seen or frozenset()


def _classed(table: Expression, places: Places) -> Rows:
    """Rows of a table by class, each with the hops and the name of its class, nearest first."""
    return _named(table.order_by(tables.CLASS), places)


def _with_slow(classes: Iterable[dict[str, Any]], left: Expression) -> Rows:
    """The classes, each with the number of its pairs that are slow."""
    slow = left.filter(left.time_s >= PAIR_FACTOR * left.base_s, left.time_s - left.base_s >= LEAST_TOLD_S)
    counts = slow.group_by(tables.CLASS).agg(slow=slow.count()).to_pyarrow().to_pylist()
    known = {tuple(row[name] for name in tables.CLASS): row["slow"] for row in counts}
    return [row | {"slow": known.get(tuple(row[name] for name in tables.CLASS), 0)} for row in classes]


def _named(table: Expression, places: Places) -> list[dict[str, Any]]:
    """Rows of a table in its order, each with the hops and the name of its class."""
    return _placed(table.to_pyarrow().to_pylist(), places)


def _placed(rows: Iterable[dict[str, Any]], places: Places) -> list[dict[str, Any]]:
    """Rows by class, each with the hops and the name of its class."""
    return [row | {"hops": places.hops[row["class_"]], "class": places.labels[row["class_"]]} for row in rows]


def _matrix(judged: Expression, factors: Expression) -> Table:
    """Medians of every two nodes, with the factor of contention if it was measured."""
    key = ["bytes", "mode", "source_node", "target_node"]
    medians, slower = node_medians(judged), tables.node_contention(factors)
    return medians.left_join(slower, key)[[*medians.columns, "factor"]].order_by(key).to_pyarrow()


def _blocks(judged: Expression, places: Places) -> Table:
    block = -(-places.ranks // RASTER)
    rows = slowest_blocks(judged, block).order_by(["bytes", "mode", "row", "column"]).to_pyarrow()
    return rows.append_column("block", pa.repeat(pa.scalar(block, pa.int32()), len(rows)))


def _of_samples(root: Path, backend: Backend, places: Places) -> Found:
    """The histogram of the samples of each class, and their spread."""
    import ibis

    path = root / "tables" / "pair_histogram.parquet"
    counted = tables.class_histogram(read(backend, [path]), ibis.memtable(places.class_table()))
    named = _named(counted.order_by([*tables.CLASS, "bucket"]), places)
    return {"class_histogram": named, "class_spread": _classed(spread(counted), places)}


def _worst(table: Expression, places: Places) -> Rows:
    """The slowest pairs with the names of their nodes."""
    ends = ("source", "target")
    return [
        row | {f"{end}_name": places.nodes[int(row[f"{end}_node"])] for end in ends} for row in _named(table, places)
    ]
