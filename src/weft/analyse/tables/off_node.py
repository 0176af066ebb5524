# SPDX-License-Identifier: BSD-3-Clause
"""Columns of a verdict for the step off the first node, apart from what comes beyond it, and their words."""

from typing import TypedDict

from weft.format import measured_factor


class OffNode(TypedDict):
    """The step from one node to the next point of a series, apart from what comes beyond it.

    ``off_end`` is the first point on several nodes; ``off_factor`` its time over that on one node, where shared memory
    gives way to the network. ``beyond_factor`` is t(end) / t(off_end), null where that is the end. Each has a
    conservative interval, null for a model. All are null where the series does not step off a node.
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


def off_node_in_words(row: OffNode, end: int | None) -> str:
    """The step off the node and what comes beyond, as part of a sentence; empty where there is no such step.

    ``leaving the node costs 139 times (shared memory against the network); from 2 to 4 nodes the time grows 2.15
    (1.90–2.43) times``. Of a step to more nodes than two, as where two have no time, it says that more than leaving the
    node is in it.
    """
    if row["off_factor"] is None:
        return ""
    told = _off(row, row["off_factor"])
    if row["beyond_factor"] is None:
        return told
    span, low, high = f"from {row['off_end']} to {end} nodes", row["beyond_low"], row["beyond_high"]
    if (row["beyond_factor"] == 1) if low is None or high is None else low <= 1 <= high:
        factor = measured_factor(row["beyond_factor"], low, high)
        return f"{told}; {span} no change is shown (factor {factor})"
    if row["beyond_factor"] > 1:
        return f"{told}; {span} the time grows {measured_factor(row['beyond_factor'], low, high, 'times')}"
    turned = (1 / high if high else None, 1 / low if low else None)
    return f"{told}; {span} the time falls {measured_factor(1 / row['beyond_factor'], *turned, 'times')}"


def _off(row: OffNode, factor: float) -> str:
    low, high, end = row["off_low"], row["off_high"], row["off_end"]
    if (factor == 1) if low is None or high is None else low <= 1 <= high:
        return f"from one node to {end} no change is shown (factor {measured_factor(factor, low, high)})"
    if factor > 1:
        times = measured_factor(factor, low, high, "times")
        if end == 2:
            return f"leaving the node costs {times} (shared memory against the network)"
        return f"leaving one node for {end} costs {times} (the network and {end} nodes in place of 2, not told apart)"
    turned = (1 / high if high else None, 1 / low if low else None)
    return f"on {end} nodes it is {measured_factor(1 / factor, *turned, 'times')} as fast as on one"
