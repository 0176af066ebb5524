# SPDX-License-Identifier: BSD-3-Clause
"""Making the tables of the analysis of pairs from ``tables/pairs.parquet``."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import ibis
import numpy as np
import pyarrow as pa

from weft.analyse.engine import Backend, read
from weft.analyse.outliers import outlier
from weft.analyse.outliers.attribute import Taken, attribute
from weft.analyse.outliers.matched import Pass, find_outliers, leaves_of, matched_rounds, read_passes
from weft.analyse.outliers.remainders import Remainders
from weft.analyse.pairs.hop_tables import (
    CLASS,
    class_histogram,
    cold_rows,
    hop_rows,
    list_contention,
    spread,
    worst_rows,
)
from weft.analyse.pairs.matrix import Floats, by_nodes, node_matrix, node_rows, slowest, table_columns
from weft.analyse.pairs.pair_times import PairFile, PairTimes, read_pair_times
from weft.analyse.pairs.places import Places, list_placements
from weft.analyse.tables.pairs import ALL, FARTHEST, LEAST_SHOWN_S, PAIR_FACTOR
from weft.plan.records import Plan
from weft.store.rows import RANK_TABLE, MeasuredRow
from weft.store.tables import Schema, Table, grouped, write_parquet

#: Rows of one of `weft.analyse.tables.pairs.ALL` before their placement is added; a large table column by column.
Rows: TypeAlias = Sequence[Mapping[str, object]] | Table
Found = dict[str, Rows]
RASTER = 512  # rank matrices are drawn with at most this many points per side: each is the slowest pair of its block


def make_pair_analysis(root: Path, plan: Plan, backend: Backend, cells: Sequence[MeasuredRow] = ()) -> None:
    """Write the tables of `weft.analyse.tables.pairs.ALL`, for each placement of ranks separately."""
    whole: dict[str, list[Table]] = {table.name: [] for table in ALL}
    with closing(PairFile(root)) as file:
        for number, (launches, places) in enumerate(list_placements(RANK_TABLE.read(root), file.launches, plan)):
            share = None if plan.is_model else outlier.typical_steal(cells, launches)
            passes = read_passes(root, plan, launches) if matched_rounds(plan) else []
            with TemporaryDirectory(prefix=".pairs-", dir=root / "tables", ignore_cleanup_errors=True) as scratch:
                own, nodal = by_nodes(root, file, launches, places, Path(scratch) / "pairs.parquet")
                found = _analysed(read_pair_times(own, launches, nodal), share, passes, places)
                if own is not file:
                    own.close()  # NFS keeps a file that is open, and so its folder
            # summed over launches and placements, so written for the largest, which contains them all
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


def _analysed(ways: Sequence[PairTimes], share: float | None, passes: Sequence[Pass], ranks: Places) -> Found:
    """Rows of every table of one placement of ``ranks``; ``share``: typical CPU steal, None of a model."""
    modelled, places = share is None, ways[0].ends.places if ways else ranks
    outliers, taken = attribute(ways, places, modelled=modelled, named=not passes)
    outliers = _weighed(find_outliers(passes, places) if passes else outliers, ways, share, places)
    left = [each.left for each in taken]
    contention = list(list_contention(ways))
    factors = {each.times.way: each.by_nodes() for each in contention}
    return {
        "classes": [row | {"slow": None if each.times.file.by_nodes else slow[row["class_"]]}
                    for each, slow in zip(left, map(_slow_pairs, left), strict=True) for row in hop_rows(each.times)],
        "cold": [row for each in ways for row in cold_rows(each)],
        "contention": [row for each in contention for row in each.rows(modelled=modelled)],
        "nodes": node_rows([(each.matrix, each.parts.base) for each in taken], ranks),
        "matrix": pa.concat_tables([_matrix(each, factors.get(each.left.times.way)) for each in taken]),
        "matrix_medians": [
            {"bytes": size, "mode": mode, "factor": float(np.nanmedian(values))}
            for (size, mode), values in factors.items()
        ],
        "blocks": pa.concat_tables([_blocks(each) for each in ways]),
        "worst": worst_rows(left, places, FARTHEST),
        "outliers": [
            asdict(each) | {"statement": each.statement} for each in sorted(outliers, key=attrgetter("doubted"))
        ],
        "names": _names(passes, ranks),
    }  # fmt: skip


def _names(passes: Sequence[Pass], places: Places) -> Rows:
    leaves = leaves_of(passes, places)
    numbers: list[int] = leaves.of.tolist() if leaves and leaves.clustered else [-1] * len(places.nodes)
    leaf_of = [leaves.names[number] if leaves and number >= 0 else "" for number in numbers]
    return [
        {"node": index, "name": name, "on_node": int((places.node_of == index).sum()), "unknown": places.unknown,
         "leaf": leaf}
        for index, (name, leaf) in enumerate(zip(places.nodes, leaf_of, strict=True))
    ]  # fmt: skip


def _weighed(
    outliers: Sequence[outlier.Outlier], ways: Sequence[PairTimes], share: float | None, places: Places
) -> list[outlier.Outlier]:
    """The outliers, each marked where steal or too few samples could have made it."""
    most = max((len(times.ends.source) for times in ways), default=0)
    few: frozenset[outlier.Way] = frozenset() if share is None else outlier.list_few_samples(ways, outliers)
    met = max((len(np.unique(times.ends.nodes[~times.ends.inside])) for times in ways), default=0) if outliers else 0
    weighed = [outlier.doubt_by_steal(each, share or 0.0, met, most, len(ways)) for each in outliers]
    steady = found_in_every_launch(ways, places) if any(each.doubted for each in weighed) else ()
    weighed = [
        before if (before.kind, before.name) in steady else after
        for before, after in zip(outliers, weighed, strict=True)
    ]
    return [outlier.doubt_by_samples(each, few) for each in weighed]


def found_in_every_launch(ways: Sequence[PairTimes], places: Places) -> frozenset[tuple[str, str]]:
    """Kind and name of outliers that each of several launches shows alone: what no disturbance could fake."""
    pieces = [piece for times in ways for part in times.parts for piece in part]
    launches = [sorted({piece.launch for piece in own}) for own in grouped(pieces, lambda piece: piece.number).values()]
    if len(launches) < 2:
        return frozenset()
    each = (attribute(read_pair_times(ways[0].file, own, places), places)[0] for own in launches)
    named = [frozenset((one.kind, one.name) for one in outliers) for outliers in each]
    return named[0].intersection(*named[1:])


def _slow_pairs(left: Remainders) -> list[int]:
    base_s = left.base_s
    slow = (left.time_s >= PAIR_FACTOR * base_s) & (left.time_s - base_s >= LEAST_SHOWN_S)
    return np.bincount(left.ends.kind[slow], minlength=len(left.ends.places.hops)).tolist()


def _matrix(taken: Taken, factors: Floats | None) -> Table:
    """Medians of every two nodes as measured, with the factor of contention if it was measured."""
    times, matrix = taken.left.times, taken.matrix
    if taken.left.time_s is not times.time_s:  # scaled by loads
        matrix = node_matrix(times, times.time_s, times.over_launches("forward_s"))
    known, count = np.flatnonzero(matrix.pairs), len(matrix.pairs)
    source, target = np.divmod(known.astype(np.int32), count)
    whole = {
        "time_s": matrix.time_s.ravel(), "forward_s": matrix.forward_s.ravel(), "pairs": matrix.pairs.ravel(),
        "slowest_s": slowest(times.ends.nodes, times.slowest_s, count * count),
        "factor": np.full(count * count, np.nan) if factors is None else factors,
    }  # fmt: skip
    numbers = {name: values[known] for name, values in whole.items()} | {"source_node": source, "target_node": target}
    return pa.table(table_columns(numbers, bytes=times.bytes, mode=times.mode))


def _blocks(times: PairTimes) -> Table:
    ends, places = times.ends, times.ends.places
    block = -(-places.ranks // RASTER)
    side = -(-places.ranks // block)
    position = np.empty(places.ranks, np.int32)
    position[places.order] = np.arange(places.ranks, dtype=np.int32) // block
    value = slowest(position[ends.source] * np.int32(side) + position[ends.target], times.slowest_s, side * side)
    known = np.flatnonzero(np.isfinite(value))
    row, column = np.divmod(known.astype(np.int32), side)
    numbers = {"row": row, "column": column, "value": value[known]}
    return pa.table(table_columns(numbers, block=block, bytes=times.bytes, mode=times.mode))


def _of_samples(root: Path, backend: Backend, places: Places) -> Found:
    """The histogram of the samples of each class, and their spread, each with the hops and the name of its class."""
    stored = read(backend, [root / "tables" / "pair_histogram.parquet"])
    counted = class_histogram(stored, ibis.memtable(places.class_table()))
    tables = {"class_histogram": counted.order_by([*CLASS, "bucket"]), "class_spread": spread(counted).order_by(CLASS)}
    return {
        name: [row | {"hops": places.hops[row["class_"]], "class": places.labels[row["class_"]]}
               for row in table.to_pyarrow().to_pylist()]
        for name, table in tables.items()
    }  # fmt: skip
