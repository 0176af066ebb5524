# SPDX-License-Identifier: BSD-3-Clause
"""The table of sensitivities: how far a simulated verdict hangs on numbers that nobody measured."""

from typing import Literal, TypedDict

from weft.store.tables import TableOf


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
