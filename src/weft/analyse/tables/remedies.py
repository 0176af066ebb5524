# SPDX-License-Identifier: BSD-3-Clause
"""Tables of causes, remedies (what would help, and how much at most) and sensitivity."""

from typing import Literal, TypedDict

from weft.analyse.tables.quality import OfCall
from weft.store.tables import TableOf

Basis = Literal["measured", "simulated", "only bounded"]


class RemedyRow(OfCall):
    """Something that would make a call faster; `weft.words.remedies` says it.

    ``id`` names its kind (``second-cable``), ``subject`` what of it: an algorithm, a setting, a knob, a link.
    ``seconds`` is the call's time, ``saves_s`` what the remedy could save of it at most. ``basis``: the faster way was
    ``measured`` (or ``simulated``) in this run, or its gain is ``only bounded``: nobody has tried it. ``floor_s`` is
    the lower bound that remains, by ``floor``; ``ratio`` the measured time over today's. ``setting`` is the environment
    variable that does it (``NAME=VALUE``; may be empty).
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


CauseKind = Literal["link", "hardware", "messages", "contention", "algorithm", "arrival", "bound", "unknown"]


class CauseRow(OfCall):
    """What most of the time of a cell's main call goes to.

    ``kind``: a ``link`` that was counted as busy, a step of the breakdown, the nearest ``bound`` where no breakdown was
    measured, or ``unknown``. ``name`` is that of the link or bound. ``share`` is of the time for a step or a bound, of
    the link's rate for a link, null if unknown.
    """

    kind: CauseKind
    name: str
    share: float | None


CAUSES = TableOf("causes", CauseRow)


class SensitivityRow(TypedDict):
    """What one assumed or fitted number of the fabric does to the prediction of a series.

    ``value`` is the number in the fabric file, ``low`` and ``high`` its plausible range (:mod:`weft.fabric.numbers`),
    in ``unit``. ``verdict`` is what the series says with ``value``. ``flips`` tells whether it says something else
    somewhere in the range, ``flips_at`` the nearest value where it does (null if nowhere), ``becomes`` what it says
    there. ``seconds`` is the predicted time at the last point, ``at`` nodes; ``least_s`` and ``most_s`` are the
    shortest and the longest time there over the range. ``given_key`` is empty, or another such number that has
    ``given_value`` meanwhile: neither turns the verdict alone, and both together do. ``basis``: the time there was
    ``simulated``, or comes from the ``closed form``.
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
