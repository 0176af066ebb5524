# SPDX-License-Identifier: BSD-3-Clause
"""What a knob that was moved brings: close by, and farther away where that was measured."""

from typing import NamedTuple

from weft.analyse.tables.trials import TrialRow
from weft.format import exact_bytes, measured_factor


class Gain(NamedTuple):
    """Time with a knob set over that without, for sizes from `first` to `last` bytes, with its interval."""

    setting: str
    first: int
    last: int
    ratio: float
    low: float
    high: float


def gain_text(trial: TrialRow) -> str:
    """What moving a confirmed knob brings, with the line that sets it: far, if that is faster, else close by."""
    found = gains(trial)
    setting, first, last, ratio, low, high = next((each for each in found if each.high < 1), found[-1])
    span = f"{exact_bytes(first)} to {exact_bytes(last)}"
    factor = measured_factor(ratio, low, high)
    if high < 1:
        return f"with {setting} sizes from {span} take {factor} of the time: set it"
    if low > 1:
        return f"with {setting} sizes from {span} take {factor} times as long: leave it"
    return f"with {setting} no difference is shown from {span}"


def gains(trial: TrialRow) -> list[Gain]:
    """What a moved knob did to the times: far, where that was measured, and close by."""
    each = (
        (trial["far_setting"], trial["far_first"], trial["far_last"], trial["far_ratio"], trial["far_ratio_low"],
         trial["far_ratio_high"]),
        (trial["setting"], trial["first"], trial["last"], trial["ratio"], trial["ratio_low"], trial["ratio_high"]),
    )  # fmt: skip
    return [
        Gain(setting, first, last, ratio, low, high)
        for setting, first, last, ratio, low, high in each
        if first is not None and last is not None and ratio is not None and low is not None and high is not None
    ]
