# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs, for one placement or several: ``tables/pair_<name>.parquet``. Times in s, one way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from weft.analyse.tables.claims import Placement
from weft.format import format_bytes
from weft.store.pair_scan import BUCKETS
from weft.store.tables import Long, TableOf

FARTHEST = 100  # the run's pairs that are farthest from their class, which are kept by name
PAIR_FACTOR = 1.5  # smallest factor of a slow pair over its class, from which the kernel measures it again
LEAST_SHOWN_S = 20e-9
"""Pairs of ranks whose class is faster are not distinguished: a clock's tick is 1 ns, and only a model is so fast."""
#: A hop class; its name is in a column called ``class``, which is a reserved word in Python.
Classed = TypedDict("Classed", {"nodes": int, "ranks": int, "bytes": Long, "mode": str, "hops": int, "class": str})
ExactRow = TypedDict(
    "ExactRow",
    {
        "bytes": int, "mode": str, "class": str, "samples": int,
        "min_s": float, "mean_s": float, "median_s": float, "p99_s": float, "max_s": float,
    },
)  # fmt: skip
"""Exact times over all samples of a hop class: computed on demand, not stored as a table."""
P = TypeVar("P", bound=Mapping[str, Any])


class Way(Placement):
    """A message size in bytes and the mode of measuring: ``isolated``, ``node`` or ``all``."""

    bytes: Long
    mode: str


class ClassRow(Classed):
    """Times over the pairs of a hop class. ``broken`` counts the inconsistent ones (METHOD 20), ``slow`` those of
    `PAIR_FACTOR` times what the class takes and at least `LEAST_SHOWN_S` more: null of pairs that are analysed by
    nodes.
    """

    pairs: Long
    samples: Long
    min_s: float
    mean_s: float
    median_s: float
    p99_s: float | None
    max_s: float
    least_s: float
    most_s: float
    broken: Long
    slow: Long | None


class ColdRow(Classed):
    """First contact of the pairs of a hop class; ``ratio`` is the median of cold over warm."""

    pairs: Long
    median_s: float
    max_s: float
    ratio: float
    total_s: float


class ContentionRow(Classed):
    """Concurrent over isolated time of a hop class: of each launch the median over pairs; its median over launches.
    ``low`` to ``high`` is the interval of that median of the kind ``interval`` (`weft.analyse.statistics.interval`),
    ``p5`` to ``max`` are quantiles over pairs, null of pairs that are analysed by nodes.
    """

    pairs: Long
    launches: int
    factor: float
    low: float | None
    high: float | None
    coverage: float | None
    interval: str
    p5: float | None
    p95: float | None
    max: float | None


class HistogramRow(Classed):
    """Samples of a hop class in a bucket (`bucket_starts_s`)."""

    bucket: int
    count: Long


class SpreadRow(Classed):
    """Spread of the samples of a hop class, from their histogram (within 1.1 %)."""

    samples: Long
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
    pairs: Long


class MatrixMedianRow(Way):
    """The median over all pairs of nodes of their median factor of contention."""

    factor: float


class BlockRow(Way):
    """The slowest pair of every ``block`` x ``block`` ranks (nodes, where pairs are analysed by nodes), in seconds."""

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

    bytes: Long
    mode: str
    factor: float
    one_way: float | None
    share: float
    low: float | None
    high: float | None


class OutlierRow(Placement):
    """A cause of slow pairs, the strongest first; those last that CPU steal could have made."""

    kind: str
    name: str
    role: str
    statement: str
    pairs: Long
    also: list[str]
    detail: str
    doubted: bool
    sightings: list[SightingRow]


class NameRow(Placement):
    """A node; ``unknown`` says why no link can be named, empty if routes are known; ``leaf`` as its times tell."""

    node: int
    name: str
    on_node: int
    unknown: str
    leaf: str


class RankOfPairs(TypedDict):
    """A rank of two nodes in its pairs with the ranks of the other: see `weft.analyse.pairs.hop_tables.rank_rows`."""

    bytes: int
    mode: str
    rank: int
    node: str
    pairs: int
    median_s: float
    factor: float  # over the median of all pairs of the two nodes
    slowest_s: float
    slowest_with: int


def largest(rows: Iterable[P], names: Sequence[NameRow]) -> list[P]:
    """Rows of the placement with most nodes and ranks, the first in the table of names."""
    return [row for row in rows if (row["nodes"], row["ranks"]) == (names[0]["nodes"], names[0]["ranks"])]


def class_text(row: ClassRow) -> str:
    """A hop class at a size and mode: ``1 KiB, isolated, 2 hops``."""
    return f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}"


def bucket_starts_s(bucket: int) -> float:
    """Seconds at which a bucket of the histogram begins."""
    return 2.0 ** (bucket / BUCKETS) * 1e-9


CLASSES = TableOf("pair_classes", ClassRow)
COLD = TableOf("pair_cold", ColdRow)
CONTENTION = TableOf("pair_contention", ContentionRow)
HISTOGRAM = TableOf("pair_class_histogram", HistogramRow)
SPREAD = TableOf("pair_class_spread", SpreadRow)
NODES = TableOf("pair_nodes", NodeRow)
MATRIX = TableOf("pair_matrix", MatrixRow)
MATRIX_MEDIANS = TableOf("pair_matrix_medians", MatrixMedianRow)
BLOCKS = TableOf("pair_blocks", BlockRow)
WORST = TableOf("pair_worst", WorstRow, "nodes ranks bytes mode source target source_name target_name")
OUTLIERS = TableOf("pair_outliers", OutlierRow)
NAMES = TableOf("pair_names", NameRow)
ALL: tuple[TableOf[Any], ...] = (
    CLASSES, COLD, CONTENTION, HISTOGRAM, SPREAD, NODES, MATRIX, MATRIX_MEDIANS, BLOCKS, WORST, OUTLIERS, NAMES,
)  # fmt: skip
