# SPDX-License-Identifier: BSD-3-Clause
"""Tables of where the time of a call goes, and what would help: breakdown, links, causes, remedies, sensitivity."""

from typing import Literal, TypedDict

from weft.analyse.tables.claims import Called, OfCall, Placement
from weft.store.tables import Long, Short, TableOf

Basis = Literal["measured", "simulated", "only bounded"]
CauseKind = Literal["link", "hardware", "messages", "contention", "algorithm", "arrival", "bound", "unknown"]
HOSTS = "the hosts' own links"
Step = Literal["hardware", "messages", "contention", "algorithm", "arrival"]
Effect = Literal["floor", "adds", "saves", "none", "unsure"]
STEPS: tuple[Step, ...] = ("hardware", "messages", "contention", "algorithm", "arrival")


class RemedyRow(OfCall):
    """Something that would make a call faster; `weft.words.breakdown` says it. ``id`` names its kind
    (``second-cable``), ``subject`` what of it: an algorithm, a setting, a knob, a link. ``seconds`` is the call's time,
    ``saves_s`` what the remedy could save of it at most. ``basis``: the faster way was ``measured`` (or ``simulated``)
    in this run, or its gain is ``only bounded``: nobody has tried it. ``floor_s`` is the lower bound that remains, by
    ``floor``; ``ratio`` the measured time over today's. ``setting`` is the environment variable that does it
    (``NAME=VALUE``; may be empty).
    """

    seconds: float
    id: str
    subject: str
    saves_s: float
    basis: Basis
    floor_s: float | None
    floor: str
    ratio: float | None
    setting: str


REMEDIES = TableOf("remedies", RemedyRow)


class CauseRow(OfCall):
    """What most of the time of a cell's main call goes to. ``kind``: a ``link`` that was counted as busy, a step of the
    breakdown, the nearest ``bound`` where no breakdown was measured, or ``unknown``. ``name`` is that of the link or
    bound. ``share`` is of the time for a step or a bound, of the link's rate for a link, null if unknown.
    """

    kind: CauseKind
    name: str
    share: float | None


CAUSES = TableOf("causes", CauseRow)


class SensitivityRow(TypedDict):
    """What one assumed or fitted number of the fabric does to the prediction of a series. ``value`` is the number in
    the fabric file, ``low`` and ``high`` its plausible range (:mod:`weft.fabric.numbers`), in ``unit``. ``verdict`` is
    what the series says with ``value``. ``flips`` tells whether it says something else somewhere in the range,
    ``flips_at`` the nearest value where it does (null if nowhere), ``becomes`` what it says there. ``seconds`` is the
    predicted time at the last point, ``at`` nodes; ``least_s`` and ``most_s`` are the shortest and the longest time
    there over the range. ``given_key`` is empty, or another such number that has ``given_value`` meanwhile: neither
    turns the verdict alone, and both together do. ``basis``: the time there was ``simulated``, or comes from the
    ``closed form``.
    """

    series: str
    kind: Literal["strong", "weak"]
    call: str
    key: str
    given_key: str
    given_unit: str
    given_value: float | None
    standing: Literal["stated", "fitted", "assumed"]
    unit: str
    value: float
    low: float
    high: float
    verdict: str
    flips: bool
    flips_at: float | None
    becomes: str
    at: int
    seconds: float
    least_s: float
    most_s: float
    basis: Literal["simulated", "closed form"]


SENSITIVITY = TableOf("sensitivity", SensitivityRow)


class LinkRow(Placement):
    """One direction of a link in one launch of a cell (or batch of cells). ``rate`` is in bytes per second; ``share``
    is bytes / (rate x seconds).
    """

    cell: str
    launch: Short
    launch_id: str
    link: str
    cable: str
    source: str
    target: str
    direction: str
    host_link: bool
    bytes: Long
    packets: Long
    drops: Long
    rate: float | None
    seconds: float | None
    basis: str
    share: float | None
    method: str


class Load(TypedDict):
    """The load of one direction of a link in a cell, over all its launches. ``bytes`` is the mean over launches;
    ``share`` is the share of the link's rate while the operations ran, None if the rate or the time is unknown;
    ``drops`` counts packets of all launches.
    """

    link: str
    cable: str
    source: str
    target: str
    host_link: bool
    rate: float | None
    bytes: float
    drops: Long
    share: float | None


class LoadRow(Load, Placement):
    """A load with its cell (or batch of cells), the busiest link first; ``moved_bytes`` is the sum over its links."""

    cell: str
    moved_bytes: float


class BottleneckRow(Placement):
    """The bottleneck of one point. ``name`` is ``injection`` (the hosts' own links), ``link leaf0 up``, ``memory
    copy``, ...; empty if links were counted and none was busy. ``bound_ratio`` is the measured time over the nearest
    lower bound. ``busiest`` is the busiest link, ``other`` the busiest one of the other class (hosts' links, or links
    between switches).
    """

    cell: str
    name: str
    bound: str
    bound_ratio: float | None
    busiest: Load | None
    other: Load | None


LINKS = TableOf("links", LinkRow, "cell launch launch_id")
LOADS = TableOf("link_loads", LoadRow, "cell nodes ranks")
BOTTLENECKS = TableOf("bottlenecks", BottleneckRow, "cell")


class TurnRow(Called):
    """An operation of a breakdown in one launch (:mod:`weft.kernel.steps`), medians over its samples. ``step`` is
    ``whole`` for the call itself. ``seconds`` are from the last start of a rank to the last end, ``total_s`` from the
    first start, both the longest duration of a rank where the clocks cannot tell; ``mean_s`` is the mean of the total.
    ``place`` is the round of ``rounds``, 0 for all others.
    """

    launch: Short
    step: str
    place: int
    seconds: float
    total_s: float
    mean_s: float
    samples: Long


class BreakdownRow(OfCall):
    """A step of the breakdown of a call, from the floor up. ``seconds`` is the time with this step and all below it,
    ``low`` and ``high`` its interval over the launches, null for one launch; those of the last step are the call's of
    the table of calls. ``factor`` is that over the step below, with its own interval; null for the lowest. ``effect``:
    what the factor shows; ``saves`` only of an algorithm that is faster than plain rounds, ``none`` also of messages
    and contention that are not slower than the step below. ``mover`` is what would move it.
    """

    block_bytes: Long
    step: Step
    name: str
    seconds: float
    low: float | None
    high: float | None
    factor: float | None
    factor_low: float | None
    factor_high: float | None
    launches: int
    effect: Effect
    mover: str


class RoundRow(OfCall):
    """A round of the plain exchange: each rank sends to the one ``distance`` behind it. ``seconds`` is the median over
    the launches of the slowest rank's median. ``link`` is the one that the round's blocks fill longest by the routes
    that are known, for ``link_s``; empty and null where none are.
    """

    distance: int
    seconds: float
    link: str
    link_s: float | None


TURNS = TableOf("breakdown_turns", TurnRow, "cell launch")
BREAKDOWN = TableOf("breakdown", BreakdownRow)
ROUND_TIMES = TableOf("breakdown_rounds", RoundRow)
