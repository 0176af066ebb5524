# SPDX-License-Identifier: BSD-3-Clause
"""The table of knobs that were moved to see whether a change-over moves with them."""

from typing import Literal, TypedDict

from weft.store.tables import Long, TableOf

Judgement = Literal["confirmed", "not confirmed", "not measured"]


class TrialRow(TypedDict):
    """A knob that was moved because of one change-over (``cell``, ``call``, ``lower``, ``upper`` in bytes).

    ``value`` and ``moved`` are bytes, ``setting`` the environment variable that moves it, ``rounds`` the number of
    launches of each kind. ``old`` is the factor by which moving it changed the step at ``value``, ``new`` that at
    ``moved``, ``ratio`` the time of sizes from ``first`` to ``last`` (bytes) between the two values with the knob
    moved over that without; each with its interval over launches, null where too little was measured. ``why`` gives
    the judgement in words. ``far`` is a value farther away, at which the gain of the likeliest knob was measured, with
    its own ``far_setting``, sizes and ratio of times; null and empty where it was not.
    """

    cell: str
    call: str
    nodes: int
    ranks: int
    lower: Long
    upper: Long
    knob: str
    value: Long
    moved: Long
    setting: str
    outcome: Judgement
    rounds: int
    old: float | None
    old_low: float | None
    old_high: float | None
    new: float | None
    new_low: float | None
    new_high: float | None
    first: Long
    last: Long
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    why: str
    far: Long | None
    far_setting: str
    far_first: Long | None
    far_last: Long | None
    far_ratio: float | None
    far_ratio_low: float | None
    far_ratio_high: float | None


TRIALS = TableOf("knob_trials", TrialRow)
