# SPDX-License-Identifier: BSD-3-Clause
"""Tables of times in seconds: iterations, medians of launches, calls with their bounds, quartiles, the floor."""

from collections.abc import Iterable
from typing import TypedDict, cast

from weft.analyse.statistics.interval import RANGE_OF_PRESETS
from weft.analyse.tables.claims import Called, OfCall, Placement
from weft.store.tables import Long, Short, TableOf

RARE = 2  # a size measured in fewer launches than the most divided by this decides nothing
#: A rate behind a bound is measured until its median is known to 5 % (METHOD 8), so such a bound is known no better.
MEASURED_WITHIN = 0.05


class IterationRow(Called):
    """One timed operation over all its ranks; its undisturbed time lies in ``least_s`` .. ``time_s``."""

    launch: Short
    phase: str
    iteration: int
    time_s: float
    least_s: float
    disturbed: bool


class MixedRow(Called):
    """Quantiles of all samples of one call of a cell, each launch with the same weight. ``disturbed`` samples lost over
    1 % of their time to others, ``lost_s`` is the most that one of them can have lost.
    """

    phase: str
    samples: Long
    disturbed: Long
    lost_s: float
    min_s: float
    p5_s: float
    p95_s: float
    p99_s: float | None
    max_s: float
    mean_s: float


class SummaryRow(MixedRow):
    """One call of a cell over all its launches: medians with their intervals beside the quantiles."""

    launches: int
    median_s: float
    low_s: float | None
    high_s: float | None
    coverage: float | None
    interval: str
    launch_low_s: float
    launch_high_s: float


class MedianRow(MixedRow):
    """Order statistics of one call in one launch; ``least_s`` is the median without what was lost."""

    launch: Short
    least_s: float
    median_s: float
    low_s: float
    high_s: float
    coverage: float


def may_be_half(row: MedianRow) -> bool:
    """Whether the true median of a launch may be less than half of what was measured, for what others took."""
    return row["least_s"] < row["median_s"] / 2


class CallIdentity(OfCall):
    """Identity of a call of a cell, how it was measured, and its status."""

    kernel: str
    series: list[str]
    ranks_per_node: int
    n: Long | None
    m: Long | None
    phase: str
    status: str
    samples: Long
    discarded: Long
    disturbed: Long
    lost_s: float
    lost_by: str
    launches: int
    interval: str
    low_s: float | None
    high_s: float | None
    coverage: float | None
    definition: str
    peers_met: int | None
    cache: str
    algorithm: str
    p99_s: float | None
    bound_s: float | None
    bound: str
    bound_basis: str
    block_bytes: Long
    array_bytes: Long
    local_bytes: Long
    oversubscribed: bool
    ended_by: str
    reason: str


class CallRow(CallIdentity):
    """One call of a cell in one phase over all launches; without numbers, ``status`` and ``reason`` say why.
    ``median_s`` is the median of the launches' medians, ``low_s`` and ``high_s`` its interval of the kind ``interval``
    (`weft.analyse.statistics.interval`; null where that is ``none``), ``launch_low_s`` and ``launch_high_s`` the
    smallest and largest median of a launch, ``bound_s`` the nearest lower bound, ``bound_basis`` whether its rate was
    ``measured`` or is ``stated`` by the fabric file. ``cache``: whether its data was meant to be ``hot`` or ``cold``.
    ``algorithm`` is the one that a simulated collective ran by.
    """

    batch: int | None
    median_s: float | None
    min_s: float | None
    p5_s: float | None
    p95_s: float | None
    max_s: float | None
    mean_s: float | None
    launch_low_s: float | None
    launch_high_s: float | None


class TimedRow(CallIdentity, SummaryRow):
    """A `CallRow` with numbers."""

    batch: int


class StartupRow(Placement):
    """What starting the ranks of a shape took, over its launches, in s. ``init_s``: MPI_Init on the slowest rank.
    ``first_s``: the all-to-all ``call`` that opened the connections of all ranks, null where a launch began with other
    calls. ``waits``: the component that only waits in MPI_Init.
    """

    launches: int
    init_s: float | None
    init_low_s: float | None
    init_high_s: float | None
    call: str
    first_s: float | None
    first_low_s: float | None
    first_high_s: float | None
    waits: str


def timed(rows: Iterable[CallRow], call: str = "", phase: str = "") -> list[TimedRow]:
    """Rows with a time, of one call and phase if these are given."""
    return [
        cast(TimedRow, row)
        for row in rows
        if row["status"] == "ok" and row["median_s"] and call in ("", row["call"]) and phase in ("", row["phase"])
    ]


def reach(row: TimedRow) -> tuple[float, float]:
    """Smallest and largest value the median may have: its interval; a model's value is what it is."""
    low, high = row["low_s"], row["high_s"]
    return (row["median_s"], row["median_s"]) if low is None or high is None else (low, high)


def reach_within(row: TimedRow) -> tuple[float, float]:
    """The same between rows of one run: numbers that nobody fitted are the same in all of them."""
    return (row["median_s"], row["median_s"]) if row["interval"] == RANGE_OF_PRESETS else reach(row)


def is_beaten(row: CallRow | TimedRow) -> bool:
    """Whether a sample beat its bound, which is wrong then (METHOD 16); a simulation meets its bound exactly."""
    bound_s, fastest_s = row["bound_s"], row["min_s"]
    return bool(bound_s) and fastest_s is not None and fastest_s < bound_s * (1 - 1e-3) - 1e-9


def is_refuted(row: CallRow | TimedRow) -> bool:
    """Whether a sample beat the bound of its row by more than the bound's own error; a stated bound has none."""
    if not is_beaten(row):
        return False
    return row["bound_basis"] != "measured" or (row["min_s"] or 0.0) < (1 - MEASURED_WITHIN) * (row["bound_s"] or 0.0)


def holding_bound_s(row: CallRow | TimedRow) -> float | None:
    """The lower bound of a row in seconds; None where none is known, or where a sample beat it."""
    return None if is_beaten(row) else row["bound_s"] or None


class QuartileRow(Called):
    """Quartiles of one call in one launch, for box plots."""

    launch: Short
    phase: str
    q1_s: float
    median_s: float
    q3_s: float


class FloorRow(TypedDict):
    """Cost of an empty operation or a small message (seconds), or rate of a copy (bytes per second of a node). ``way``
    says how the fastest copy was made: ``whole``, ``pieces of 256 KiB``, ``backward``, ``streaming stores`` or ``string
    instruction``.
    """

    cell: str
    nodes: int
    ranks_per_node: int
    quantity: str
    bytes: Long
    value: float | None
    low: float | None
    high: float | None
    best: float | None
    unit: str
    samples: Long
    way: str


ITERATIONS = TableOf("iterations", IterationRow, "cell launch")
MEDIANS = TableOf(
    "medians", MedianRow, "cell launch call phase samples disturbed lost_s median_s low_s high_s coverage"
)
QUARTILES = TableOf("quartiles", QuartileRow, "cell launch")
STARTUP = TableOf("startup", StartupRow)
CALLS = TableOf(
    "calls",
    CallRow,
    "cell kernel series nodes ranks_per_node ranks n m call phase status samples discarded disturbed lost_s lost_by "
    "launches batch definition peers_met cache algorithm median_s low_s high_s coverage min_s p5_s p95_s p99_s max_s "
    "mean_s launch_low_s launch_high_s",
)
FLOOR = TableOf("floor", FloorRow)


def phase_in_words(row: CallRow) -> str:
    """The phase of a row; a first call is ``cold`` only if it met none of its peers before (METHOD 3)."""
    met = row["peers_met"]
    return row["phase"] if not met else f"first call, {met} of {row['ranks'] - 1} connections were already open"
