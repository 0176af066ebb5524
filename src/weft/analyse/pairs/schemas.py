# SPDX-License-Identifier: BSD-3-Clause
"""Columns of the tables that the analysis of pairs writes: ``tables/pair_<name>.parquet``; times in seconds."""

from typing import Any, TypeAlias

import pyarrow as pa

from weft.store.files import Schema

#: pyarrow comes without types.
DataType: TypeAlias = Any


def _schema(**columns: DataType) -> Schema:
    """Every table says of which placement it speaks: how many nodes and ranks."""
    return pa.schema([("nodes", pa.int32()), ("ranks", pa.int32()), *columns.items()])


TEXT, INT, LONG, REAL = pa.string(), pa.int32(), pa.int64(), pa.float64()
WHERE = {"bytes": LONG, "mode": TEXT}
CLASS = {**WHERE, "hops": INT, "class": TEXT, "pairs": LONG}
SIGHTING = pa.struct([("bytes", LONG), ("mode", TEXT), ("factor", REAL), ("one_way", REAL), ("share", REAL)])


def _reals(*names: str) -> dict[str, DataType]:
    return dict.fromkeys(names, REAL)


SCHEMAS: dict[str, Schema] = {
    "classes": _schema(
        **CLASS, samples=LONG, **_reals("min_s", "mean_s", "median_s", "p99_s", "max_s", "least_s", "most_s"),
        broken=LONG,
    ),
    "cold": _schema(**CLASS, **_reals("median_s", "max_s", "ratio", "total_s")),
    "contention": _schema(**CLASS, **_reals("factor", "low", "high", "p5", "p95", "max")),
    "nodes": _schema(**WHERE, node=INT, name=TEXT, **_reals("factor", "worst"), worst_with=TEXT, within=REAL),
    "matrix": _schema(
        **WHERE, source_node=INT, target_node=INT, **_reals("time_s", "forward_s", "slowest_s", "factor"), pairs=LONG
    ),
    "blocks": _schema(**WHERE, block=INT, row=INT, column=INT, value=REAL),
    "worst": _schema(
        **WHERE, source=INT, target=INT, source_name=TEXT, target_name=TEXT, hops=INT, **{"class": TEXT},
        **_reals("time_s", "base_s", "factor", "first_s", "again_1_s", "again_2_s"), checked=pa.bool_(),
    ),
    "blame": _schema(
        kind=TEXT, name=TEXT, role=TEXT, statement=TEXT, pairs=LONG, also=pa.list_(TEXT), detail=TEXT,
        sightings=pa.list_(SIGHTING),
    ),
    "class_histogram": _schema(**WHERE, hops=INT, **{"class": TEXT}, bucket=INT, count=LONG),
    "names": _schema(node=INT, name=TEXT, on_node=INT, unknown=TEXT),
}  # fmt: skip
