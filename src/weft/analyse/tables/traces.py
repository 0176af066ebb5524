# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a trace: time by call, size and communicator, who sent how much to whom, who waited for whom."""

from typing import Literal, TypedDict

from weft.analyse.tables.claims import CLAIMS, Grade
from weft.analyse.tables.manifest import MADE_BY, MANIFEST, analysis_digest
from weft.errors import DataError
from weft.files.atomic import file_checksum, read_json
from weft.store.tables import Long, Single, TableOf
from weft.store.trace.folder import STAMP, TraceFolder

#: Kinds of calls in a timeline, and their letters; the last is none of them.
LETTERS = {
    "all-to-all": "A", "barrier": "B", "other collective": "C", "wait or test": "w", "receive": "r", "send": "s",
    "file": "f", "other call": "o", "computing": ".",
}  # fmt: skip
Spent = Literal["waiting", "moving", "file", "unknown", "computing"]
TraceDoubt = Literal["oversubscribed", "core", "lost", "load", "steal", "tracer", "partial", "unmeasured"]
BoundedRemedy = Literal["network", "memory", "balance", "all-to-all", "placement"]


class CallTimeRow(TypedDict):
    """A call: how often, its time over all ranks, and how much of it ranks waited for others who came late.
    ``seconds``, ``waiting_s`` are sums over ranks; ``share`` is that of the time of all ranks. ``waiting_s`` is null
    where nobody can know it (tests, one-sided calls), and ``known_s`` is the time of those calls of which it is known;
    ``bytes`` and ``received`` are of the arguments.
    """

    call: str
    calls: Long
    seconds: float
    waiting_s: float | None
    known_s: float
    share: float
    bytes: Long
    received: Long
    longest_s: float


class SizeRow(TypedDict):
    """A call and a class of sizes: its bytes (given, or got if it gives none) are at most ``size``, a power of two."""

    call: str
    size: Long
    calls: Long
    seconds: float
    bytes: Long


class CommunicatorTimeRow(TypedDict):
    """The calls on a communicator: time over all ranks in s, of which ``all_to_all_s`` in all-to-alls; their bytes."""

    comm: int
    name: str
    size: int
    calls: Long
    seconds: float
    all_to_all_s: float
    bytes: Long


class MatrixRow(TypedDict):
    """What a rank sent to another in messages of a kind: point-to-point, all-to-all, scatterv or one-sided."""

    rank: int
    peer: int
    kind: str
    messages: Long
    bytes: Long


class LateRow(TypedDict):
    """A rank: time in MPI and outside of it, how long it waited for others and others for it (in s). ``imbalance_s`` is
    the part of ``caused_s`` in which this rank computed longer than those that waited for it; in the rest it was late
    because it waited for others, or for the network, itself. ``file_s`` are file calls, ``lost_s`` the time for which
    it was runnable without a processor (null: unknown).
    """

    rank: int
    node: int
    seconds: float
    mpi_s: float
    compute_s: float
    waited_s: float
    caused_s: float
    imbalance_s: float
    last: Long
    file_s: float
    lost_s: float | None


class PhaseRow(TypedDict):
    """A stretch of rank 0's calls that repeats: from which event, how many calls, how often; in s. ``text`` names its
    longest call sites.
    """

    first_event: Long
    calls: Long
    times: Long
    begin_s: float
    seconds: float
    mpi_s: float
    text: str


class ShareRow(TypedDict):
    """What the ranks' time went to, the largest share first; ``unknown`` are calls of which nobody can say."""

    what: Spent
    seconds: float
    share: float


class NodePairRow(TypedDict):
    """Messages between two nodes whose whole way was seen: bytes over time, and against other pairs of nodes. ``ratio``
    is the median time for a byte over the median of all pairs, in the class of sizes with most bytes; null where there
    are fewer than three pairs or too few messages. ``slow``: it is `SLOW` or more.
    """

    node: int
    other: int
    messages: Long
    bytes: Long
    seconds: float
    ratio: float | None
    slow: bool


class TraceDoubtRow(TypedDict):
    """What the trace's own records doubt, and the best grade that leaves it. ``count`` of ``of`` ranks, or ns, are
    touched; ``where`` names the worst case.
    """

    doubt: TraceDoubt
    grade: Grade
    count: Long
    of: Long
    share: float
    where: str


class VerdictRow(TypedDict):
    """What could be better, and how much of ``seconds`` that saves at most. What is left is ``computing_s``, of the
    busiest rank or of the mean, and ``moving_s`` of transfers, in s.
    """

    remedy: BoundedRemedy
    saves_s: float
    seconds: float
    computing_s: float
    moving_s: float


class ActivityRow(TypedDict):
    """What some ranks did in a stretch of time: shares of it from 0 to 1; the rest is computing, or no trace. ``lane``
    counts groups of ranks from 0, of which ``rank`` is the first; begin and end in s since the first call.
    """

    lane: int
    rank: int
    begin_s: float
    end_s: float
    waiting: Single
    moving: Single
    file: Single
    unknown: Single
    computing: Single


CALL_TIMES = TableOf("trace_calls", CallTimeRow)
CALL_SIZES = TableOf("trace_sizes", SizeRow)
COMM_TIMES = TableOf("trace_communicator_times", CommunicatorTimeRow)
MATRIX = TableOf("trace_matrix", MatrixRow)
LATE = TableOf("trace_late", LateRow)
PHASES = TableOf("trace_phases", PhaseRow)
VERDICT = TableOf("trace_verdict", VerdictRow)
ACTIVITY = TableOf("trace_activity", ActivityRow)
SHARES = TableOf("trace_shares", ShareRow)
NODE_PAIRS = TableOf("trace_node_pairs", NodePairRow)
TRACE_DOUBTS = TableOf("trace_doubts", TraceDoubtRow)
WRITTEN = (
    CALL_TIMES, CALL_SIZES, COMM_TIMES, MATRIX, LATE, PHASES, SHARES, NODE_PAIRS, TRACE_DOUBTS, VERDICT, ACTIVITY,
    CLAIMS,
)  # fmt: skip


def has_trace_tables(folder: TraceFolder) -> bool:
    """Whether every table of answers is, byte for byte, what this analysis wrote of the events that there are."""
    try:
        return read_json(folder.tables / MANIFEST) == trace_manifest(folder)
    except (DataError, OSError):
        return False


def trace_manifest(folder: TraceFolder) -> dict[str, str]:
    """Checksum of each table of answers and of what it was made of, and the analysis; OSError if one is missing."""
    paths = [*(table.path(folder.path) for table in WRITTEN), *folder.tables.glob(STAMP)]
    return {MADE_BY: analysis_digest(), **{path.name: file_checksum(path) for path in paths}}
