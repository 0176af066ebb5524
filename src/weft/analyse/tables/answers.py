# SPDX-License-Identifier: BSD-3-Clause
"""Tables of answers: verdicts on scaling, change-overs, sizes slower than their double, winners, findings."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from weft.analyse.tables.claims import Called, Doubt, OfCall, Placement
from weft.format import measured_factor
from weft.store.tables import Long, TableOf

#: METHOD 15: two sides of so many launches can differ beyond chance; fewer cannot, and get no verdict.
FEWEST_LAUNCHES = 4
GUIDELINE_LAUNCHES = 6  # fewer have no test of a guideline that finds a factor of two among so many
OF_MEMORY = "the memory, no protocol"
#: A verdict of "no" needs an interval that leaves out a change by more than this factor: one that merely holds 1 may
#: hold a doubling, too. A rise that surely stays below it hardly limits anything.
MATTERS = 1.1
Outcome = Literal["falls", "rises", "no change shown", "undecided", "no verdict"]
Answer = Literal["falls", "rises", "hardly rises", "none", "undecided", "no verdict"]


class OffNode(TypedDict):
    """The step from one node to the next point of a series, apart from what comes beyond it. ``off_end`` is the first
    point on several nodes; ``off_factor`` its time over that on one node, where shared memory gives way to the network.
    ``beyond_factor`` is t(end) / t(off_end), null where that is the end. Each has a conservative interval, null for a
    model. All are null where the series does not step off a node.
    """

    off_end: int | None
    off_factor: float | None
    off_low: float | None
    off_high: float | None
    beyond_factor: float | None
    beyond_low: float | None
    beyond_high: float | None


#: Of a series that stays on one node, starts on several, or has no verdict.
NO_STEP = OffNode(
    off_end=None, off_factor=None, off_low=None, off_high=None, beyond_factor=None, beyond_low=None, beyond_high=None
)


class VerdictRow(OffNode, Called):
    """The scaling verdict on a series. ``kind``: the same global array at all points (strong), or the same local array
    (weak). ``start`` and ``end`` are the smallest and largest usable points on the ``axis``, null without a verdict.
    ``factor`` is t(end) / t(start), ``low`` and ``high`` its conservative interval, null for a model; ``left_out``
    names what a model leaves out, whose range the interval then is, and ``undecided`` is what that range does not
    decide. ``fastest`` is the point with the smallest time, if it is neither start nor end and significantly faster
    than the end. ``bound_ratio`` is the time at the end over its nearest lower bound, null where a sample beat that.
    ``doubts`` are those of the run's own about start or end that could turn the answer, and ``doubt`` is what they say
    (METHOD 20): both empty where it stands whatever they did; ``allowed_low`` to ``allowed_high`` is how far doubts
    could move the factor, null where they could not. ``cell`` is that of the end, empty without one.
    """

    series: str
    kind: Literal["strong", "weak"]
    axis: Literal["nodes", "ranks"]
    start: int | None
    end: int | None
    factor: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    fastest: int | None
    bound: str
    bound_ratio: float | None
    left_out: str
    doubts: list[Doubt]
    doubt: str
    allowed_low: float | None
    allowed_high: float | None


class ChangeRow(OfCall):
    """A size at which a library switches protocol or algorithm (`weft.analyse.thresholds.changes.ChangeOver`).

    ``lower`` and ``upper`` are bytes, ``before_rate`` and ``after_rate`` bytes per second. ``knobs`` are all of the
    library's variables whose value lies where the change may be, most likely first, ``knob_values`` their values,
    ``knob_value`` that of the first; ``usual_knob`` is the one to try if there is none. ``eager_limit``: whether
    the knob is an eager limit by its name. ``confirmed``: the knob that was moved and took the point along, empty if
    none did or none was tried; ``refuted``: those that were moved without it (`weft.analyse.thresholds.trials`). Kind
    ``cache``: the memory causes it, because the same pair does not show it both hot and cold
    (`weft.analyse.thresholds.knob`). ``lower_s`` and ``upper_s`` are the times at both sizes. ``algorithm_before``
    and ``algorithm_after`` are those that the run recorded there, empty where it recorded none or the same: then the
    switch is the cause, for certain, and no knob is named. Kind ``switch``: the algorithm changes, and the time hardly,
    or it cannot be judged: then ``factor`` is null, as that of a bend, which has no step.
    """

    lower: Long
    upper: Long
    surely_lower: Long
    surely_upper: Long
    lower_s: float
    upper_s: float
    algorithm_before: str
    algorithm_after: str
    kind: Literal["jump", "bend", "cache", "switch"]
    factor: float | None
    low: float | None
    high: float | None
    before_rate: float | None
    after_rate: float | None
    confidence: float
    knobs: list[str]
    knob_values: list[Long]
    knob_value: Long | None
    knob_meaning: str
    usual_knob: str
    eager_limit: bool
    confirmed: str
    refuted: list[str]


class SlowerRow(OfCall):
    """A size (bytes) that takes longer than twice the size, by more than the errors of both (METHOD 18).
    ``double_cell`` differs from ``cell`` if each size is a cell of its own.
    """

    size: Long
    double: Long
    seconds: float
    double_seconds: float
    double_cell: str


class WinnerRow(Placement):
    """The fastest algorithm of a call at one size and process count. ``algorithm`` is ``default`` if no other is
    significantly faster than the library's own choice; ``ratio`` is its time over that of the library's own choice,
    ``low`` and ``high`` its interval, null if the default won; of a model, which has none, both are the ratio.
    """

    call: str
    bytes: Long
    algorithm: str
    median_s: float
    default_s: float
    ratio: float
    low: float | None
    high: float | None


class GuidelineRow(Placement):
    """A performance guideline of a collective at one size (:mod:`weft.mpi.algorithms`). ``seconds`` is the time of what
    must not be slower, ``rival_s`` that of what it is held against, ``factor`` the first over the second, with its 95 %
    interval over ``launches``. ``chance``: Holm's p of all guidelines of the run that the factor is at most `MATTERS`.
    """

    cell: str
    collective: str
    guideline: str
    bytes: Long
    launches: int
    seconds: float
    rival_s: float
    factor: float
    low: float
    high: float
    chance: float
    violated: bool


class OverlapRow(Placement):
    """How much of a non-blocking call hides behind a computation as long as the call, at one size. ``way``: ``wait``
    (the computation as a whole), ``test`` (MPI_Test between its sixteenths), or ``persistent``. ``share`` is (alone +
    computation - both) / alone, of ``persistent`` the share of ``alone`` that MPI_Start and MPI_Wait save; with its 95
    % interval over ``launches``. ``alone_s`` is the time of the non-blocking call alone.
    """

    cell: str
    collective: str
    way: Literal["wait", "test", "persistent"]
    thread: bool  # with the library's progress thread
    bytes: Long
    launches: int
    alone_s: float
    share: float
    low: float
    high: float


class ImpactRow(OfCall):
    """How much slower a call of one job is beside traffic of another, in turns of the same launches. ``factor`` is the
    median over launches of t(beside) / t(alone) at the median, ``low`` to ``high`` its interval of the given
    ``coverage``; the same at ``p95`` and ``p99``, null of a model and of too few samples. ``chance``: Holm's p of all
    rows of the run that the factor is at most `MATTERS`, null of a model and of a single launch. ``percent``: share of
    the time with a burst of traffic under way. ``link``: the fullest link that both use by their routes or, of hashed
    ones, by counters; empty where they share none, null where neither is known. ``predicted``: the factor of the model
    of shares; null without routes, where latency decides, and for more flows than the model follows.
    """

    victim: str
    aggressor: str
    percent: int
    place: str
    bytes: Long
    beside_nodes: int
    launches: int
    alone_s: float
    beside_s: float
    factor: float
    low: float | None
    high: float | None
    coverage: float | None
    chance: float | None
    p95: float | None
    p95_low: float | None
    p95_high: float | None
    p99: float | None
    p99_low: float | None
    p99_high: float | None
    link: str | None
    predicted: float | None


class FindingRow(TypedDict):
    """A finding about the numbers of a run. ``level``: ``error``, do not use the number; ``warning``, read it with
    care; ``note``, worth knowing. ``rule`` is the short name of the check, ``where`` the cells, call and phase in
    words.
    """

    level: Literal["error", "warning", "note"]
    rule: str
    where: str
    what: str
    remedy: str


def factor_text(row: ChangeRow) -> str:
    """The factor of a step with its interval; that of a model has none, and a bend has no step."""
    factor, low, high = row["factor"], row["low"], row["high"]
    if factor is None or low is None or high is None:
        return "cannot be judged" if row["kind"] == "switch" else "–"
    ends = "" if low == high else f" ({measured_factor(low)}–{measured_factor(high)})"
    return f"{measured_factor(factor)}{ends}"


def cause_text(row: ChangeRow) -> str:
    """What made a change-over: the memory, a recorded switch, or knobs, a confirmed one alone, refuted ones last."""
    if row["kind"] == "cache":
        return OF_MEMORY
    if row["algorithm_after"]:
        return f"the algorithm changes from {row['algorithm_before']} to {row['algorithm_after']}"
    found: dict[int, list[str]] = {}
    for name, value in zip(row["knobs"], row["knob_values"], strict=True):
        if name == row["confirmed"] or not (row["confirmed"] or name in row["refuted"]):
            found.setdefault(value, []).append(name)
    known = ", or ".join(f"{' or '.join(names)} ({value:,} B)" for value, names in found.items())
    if row["confirmed"]:
        return f"{known}, confirmed"
    cause = f"perhaps {known}" if known else "no knob that Weft knows has this value"
    return f"{cause}; not confirmed: {', '.join(row['refuted'])}" if row["refuted"] else cause


VERDICTS = TableOf(
    "verdicts", VerdictRow, "series kind call cell axis start end factor low high outcome fastest bound bound_ratio"
)
CHANGES = TableOf("change_overs", ChangeRow)
SLOWER = TableOf("slower_than_double", SlowerRow)
WINNERS = TableOf("winners", WinnerRow, "call")
GUIDELINES = TableOf("guidelines", GuidelineRow, "cell collective guideline")
OVERLAPS = TableOf("overlaps", OverlapRow, "cell collective way thread")
IMPACTS = TableOf("impacts", ImpactRow, "cell call victim aggressor percent place bytes")
FINDINGS = TableOf("findings", FindingRow)


def answer_of(row: VerdictRow, low: float | None = None, high: float | None = None) -> Answer:
    """What a verdict answers by its interval, or by another one of the same factor. A rise limits weak scaling, a fall
    does not limit strong: where nothing is shown, that end counts.
    """
    least = low if low is not None else row["low"] or row["factor"] or 0.0
    most = high if high is not None else row["high"] or row["factor"] or 0.0
    if row["outcome"] in ("undecided", "no verdict"):
        return row["outcome"]
    if row["outcome"] == "falls" and most < 1:
        return "falls"
    if row["outcome"] == "rises" and least > 1:
        return "hardly rises" if most <= MATTERS else "rises"
    open_end = most > MATTERS if row["kind"] == "weak" else least < 1 / MATTERS
    return "undecided" if open_end else "none"


def main_verdict(found: Sequence[VerdictRow]) -> VerdictRow | None:
    """The verdict that answers: on weak scaling where there is one; None where none could be given."""
    reached = [each for each in found if each["outcome"] != "no verdict"]
    return next((each for each in reached if each["kind"] == "weak"), reached[0] if reached else None)


def by_weight(found: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Verdicts of a run without an answer, in its card's order: those with a factor, weak scaling before strong."""
    return sorted(found, key=lambda row: (row["factor"] is None, row["kind"] != "weak"))
