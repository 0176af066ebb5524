# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs, for one placement or several: ``tables/pair_<name>.parquet``. Times in s, half a round trip."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

import pyarrow as pa

from weft.store.files import Schema
from weft.store.pair_tally import BUCKETS
from weft.store.tables import TableOf

TEXT, INT, LONG, REAL = pa.string(), pa.int32(), pa.int64(), pa.float64()
FARTHEST = 100
"""The run's pairs that are farthest from their class, which are kept by name."""
PAIR_FACTOR = 1.5
"""Smallest factor of a slow pair over its class, from which the kernel measures it again."""
LEAST_TOLD_S = 20e-9
"""Pairs of ranks whose class is faster are not told apart: a clock's tick is 1 ns, and only a model is so fast."""


class Placement(TypedDict):
    """Nodes and ranks of the placement of a row."""

    nodes: int
    ranks: int


class Way(Placement):
    """A message size in bytes and the mode of measuring: ``isolated``, ``node`` or ``all``."""

    bytes: int
    mode: str


#: A hop class; its name is in a column called ``class``, which is a reserved word in Python.
Classed = TypedDict("Classed", {"nodes": int, "ranks": int, "bytes": int, "mode": str, "hops": int, "class": str})


class ClassRow(Classed):
    """Times over the pairs of a hop class.

    ``broken`` counts the inconsistent ones (METHOD 20), ``slow`` those of `PAIR_FACTOR` times what the class takes
    and at least `LEAST_TOLD_S` more.
    """

    pairs: int
    samples: int
    min_s: float
    mean_s: float
    median_s: float
    p99_s: float | None
    max_s: float
    least_s: float
    most_s: float
    broken: int
    slow: int


class ColdRow(Classed):
    """First contact of the pairs of a hop class; ``ratio`` is the median of cold over warm."""

    pairs: int
    median_s: float
    max_s: float
    ratio: float
    total_s: float


class ContentionRow(Classed):
    """Concurrent over isolated time of a hop class: of each launch the median over pairs; its median over launches.

    ``low`` to ``high`` is the interval of that median of the kind ``interval`` (`weft.analyse.statistics.interval`),
    ``p5`` to ``max`` are quantiles over pairs.
    """

    pairs: int
    launches: int
    factor: float
    low: float | None
    high: float | None
    coverage: float | None
    interval: str
    p5: float
    p95: float
    max: float


class HistogramRow(Classed):
    """Samples of a hop class in a bucket (`bucket_starts_s`)."""

    bucket: int
    count: int


class SpreadRow(Classed):
    """Spread of the samples of a hop class, from their histogram (within 1.1 %)."""

    samples: int
    median_s: float
    p99_s: float
    ratio: float


class NodeRow(Way):
    """How slow a node is with all others, with the worst of them, and between its own ranks."""

    node: int
    name: str
    factor: float | None
    worst: float | None
    worst_with: str | None
    within: float | None
    place: int | None


class MatrixRow(Way):
    """Two nodes: medians over their pairs of ranks, and the median factor of contention."""

    source_node: int
    target_node: int
    time_s: float
    forward_s: float | None
    slowest_s: float
    factor: float | None
    pairs: int


class MatrixMedianRow(Way):
    """The median over all pairs of nodes of their median factor of contention."""

    factor: float


class BlockRow(Way):
    """The slowest pair of every ``block`` x ``block`` ranks, in seconds."""

    block: int
    row: int
    column: int
    value: float


class WorstRow(Classed):
    """One of the slowest pairs relative to the time of their class, with its three measurements (METHOD 19)."""

    source: int
    target: int
    source_name: str
    target_name: str
    time_s: float
    base_s: float
    factor: float
    first_s: float
    again_1_s: float | None
    again_2_s: float | None
    checked: bool


class SightingRow(TypedDict):
    """An outlier at one size and mode."""

    bytes: int
    mode: str
    factor: float
    one_way: float | None
    share: float


class OutlierRow(Placement):
    """A cause of slow pairs, the strongest first; those last that CPU steal could have made."""

    kind: str
    name: str
    role: str
    statement: str
    pairs: int
    also: list[str]
    detail: str
    doubted: bool
    sightings: list[SightingRow]


class NameRow(Placement):
    """A node; ``unknown`` says why no link can be named, empty if routes are known."""

    node: int
    name: str
    on_node: int
    unknown: str


ExactRow = TypedDict(
    "ExactRow",
    {
        "bytes": int, "mode": str, "class": str, "samples": int,
        "min_s": float, "mean_s": float, "median_s": float, "p99_s": float, "max_s": float,
    },
)  # fmt: skip
"""Exact times over all samples of a hop class: computed on demand, not stored as a table."""


P = TypeVar("P", bound=Mapping[str, Any])


def largest(rows: Iterable[P], names: Sequence[NameRow]) -> list[P]:
    """Rows of the placement with most nodes and ranks, the first in the table of names."""
    return [row for row in rows if (row["nodes"], row["ranks"]) == (names[0]["nodes"], names[0]["ranks"])]


def bucket_starts_s(bucket: int) -> float:
    """Seconds at which a bucket of the histogram begins."""
    return 2.0 ** (bucket / BUCKETS) * 1e-9


def _schema(**columns: Any) -> Schema:
    return pa.schema([("nodes", INT), ("ranks", INT), *columns.items()])


def _reals(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, REAL)


_WAY = {"bytes": LONG, "mode": TEXT}
_CLASS = {**_WAY, "hops": INT, "class": TEXT}
_SIGHTING = pa.struct([("bytes", LONG), ("mode", TEXT), ("factor", REAL), ("one_way", REAL), ("share", REAL)])

CLASSES = TableOf("pair_classes", ClassRow, _schema(
    **_CLASS, pairs=LONG, samples=LONG,
    **_reals("min_s", "mean_s", "median_s", "p99_s", "max_s", "least_s", "most_s"), broken=LONG, slow=LONG,
))  # fmt: skip
COLD = TableOf("pair_cold", ColdRow, _schema(
    **_CLASS, pairs=LONG, **_reals("median_s", "max_s", "ratio", "total_s"),
))  # fmt: skip
CONTENTION = TableOf("pair_contention", ContentionRow, _schema(
    **_CLASS, pairs=LONG, launches=INT, **_reals("factor", "low", "high", "coverage"), interval=TEXT,
    **_reals("p5", "p95", "max"),
))  # fmt: skip
HISTOGRAM = TableOf("pair_class_histogram", HistogramRow, _schema(**_CLASS, bucket=INT, count=LONG))
SPREAD = TableOf("pair_class_spread", SpreadRow, _schema(
    **_CLASS, samples=LONG, **_reals("median_s", "p99_s", "ratio"),
))  # fmt: skip
NODES = TableOf("pair_nodes", NodeRow, _schema(
    **_WAY, node=INT, name=TEXT, **_reals("factor", "worst"), worst_with=TEXT, within=REAL, place=INT,
))  # fmt: skip
MATRIX = TableOf("pair_matrix", MatrixRow, _schema(
    **_WAY, source_node=INT, target_node=INT, **_reals("time_s", "forward_s", "slowest_s", "factor"), pairs=LONG,
))  # fmt: skip
MATRIX_MEDIANS = TableOf("pair_matrix_medians", MatrixMedianRow, _schema(**_WAY, factor=REAL))
BLOCKS = TableOf("pair_blocks", BlockRow, _schema(**_WAY, block=INT, row=INT, column=INT, value=REAL))
WORST = TableOf("pair_worst", WorstRow, _schema(
    **_WAY, source=INT, target=INT, source_name=TEXT, target_name=TEXT, hops=INT, **{"class": TEXT},
    **_reals("time_s", "base_s", "factor", "first_s", "again_1_s", "again_2_s"), checked=pa.bool_(),
))  # fmt: skip
OUTLIERS = TableOf("pair_blame", OutlierRow, _schema(
    kind=TEXT, name=TEXT, role=TEXT, statement=TEXT, pairs=LONG, also=pa.list_(TEXT), detail=TEXT,
    doubted=pa.bool_(), sightings=pa.list_(_SIGHTING),
))  # fmt: skip
NAMES = TableOf("pair_names", NameRow, _schema(node=INT, name=TEXT, on_node=INT, unknown=TEXT))
ALL: tuple[TableOf[Any], ...] = (
    CLASSES, COLD, CONTENTION, HISTOGRAM, SPREAD, NODES, MATRIX, MATRIX_MEDIANS, BLOCKS, WORST, OUTLIERS, NAMES,
)  # fmt: skip
