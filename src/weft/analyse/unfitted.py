# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of the times of a machine to which no number was fitted: what its numbers may be, and what no model has.

A simulated time has a part of bytes, the largest term of bytes of its bound, and a part of messages, the rest. Both are
moved to the ends of the ranges of their numbers (:func:`weft.fabric.numbers.doubtful`): rates move the terms of bytes,
and the first part is the largest of them; latency, overhead, gap and stall of a message of the call's own size move the
second. Both ends are widened by `LIBRARY`, for what the file of a machine cannot say: which algorithm its library
takes, and what that makes of it.
"""

from collections.abc import Mapping

from weft.bound.terms import COPY, INJECTION, LINK, PER_MESSAGE, BoundedCell, copy_rate, largest_s
from weft.fabric.model import Fabric
from weft.fabric.numbers import LINK_RATES, Doubtful, doubtful, fitted_numbers, with_number
from weft.kernel.registry import kernel_named

LIBRARY = 1.15
"""Factor by which both ends are widened. Of 130 published cells 127 are inside the ranges of their machine's numbers
alone, and the others within this factor of them (`weft papers machines`)."""


Moved = tuple[float, float]
"""Factors of a number of seconds at the two ends of a range."""


def is_unfitted(fabric: Fabric) -> bool:
    """Whether times come from a model, and none of its numbers was fitted to the machine."""
    return fabric.is_model and not fitted_numbers(fabric)


def range_of(cell: BoundedCell, call: str, block_bytes: int, fabric: Fabric, seconds: float) -> tuple[float, float]:
    """Seconds between which a simulated time of an unfitted machine lies; ``block_bytes`` 0 where it is not known."""
    known = {each.key: each for each in doubtful(fabric)}
    own_s, terms = bytes_s(cell, call, seconds), _bytes_terms(cell, call)
    # under 1 where a time is below its bound: the range still holds it
    within = own_s / (largest_s(terms) or 1.0)
    rates = {name: _moved_rate(name, cell, fabric, known) for name in terms}
    least_s, most_s = (
        within * largest_s({name: value * rates[name][end] for name, value in terms.items()}) for end in (0, 1)
    )
    messages = _moved_message(cell, block_bytes, fabric, known)
    kernel, calls_s = kernel_named(cell.kernel), seconds
    if call not in cell.bounds and not kernel.collective_of(call):  # nobody knows which part of a replay is bytes
        calls_s = kernel.calls_s(cell.parameters, seconds)
        low, high = _moved_rate(INJECTION, cell, fabric, known)
        messages = min(messages[0], low), max(messages[1], high)
    low_s, high_s = ((calls_s - own_s) * factor for factor in messages)
    computed_s = seconds - calls_s
    return computed_s + (least_s + low_s) / LIBRARY, computed_s + (most_s + high_s) * LIBRARY


def bytes_s(cell: BoundedCell, call: str, seconds: float) -> float:
    """Seconds of a simulated time that its bytes take: the largest term of bytes of its bound."""
    return min(seconds, largest_s(_bytes_terms(cell, call)))


def _bytes_terms(cell: BoundedCell, call: str) -> dict[str, float]:
    bound = cell.bounds.get(call)
    return {name: value for name, value in (bound.terms if bound else {}).items() if name not in PER_MESSAGE}


def _moved_rate(name: str, cell: BoundedCell, fabric: Fabric, known: Mapping[str, Doubtful]) -> Moved:
    """What the range of its rate does to a term of bytes."""
    if name == COPY:
        return _moved_copies(cell, fabric, known)
    keys = ("network.adapter_rate",) if name == INJECTION else LINK_RATES if name.startswith(LINK) else ()
    moved = [known[key] for key in keys if key in known]
    low = min((each.value / each.high for each in moved), default=1.0)
    return low, max((each.value / each.low for each in moved), default=1.0)


def _moved_copies(cell: BoundedCell, fabric: Fabric, known: Mapping[str, Doubtful]) -> Moved:
    """The same of copies, whose rate is the node's, or that of its ranks' cores if these are slower."""
    least = most = fabric
    for key in ("node.copy_rate", "node.core_copy_rate"):
        if key in known:
            least, most = with_number(least, key, known[key].low), with_number(most, key, known[key].high)
    slow, here, fast = (copy_rate(each, cell) or 1.0 for each in (least, fabric, most))
    return here / fast, here / slow


def _moved_message(cell: BoundedCell, block_bytes: int, fabric: Fabric, known: Mapping[str, Doubtful]) -> Moved:
    """What the ranges of its costs do to the time of one message."""
    network = fabric.network if cell.nodes > 1 else None
    costs = network.stated_costs(block_bytes) if network else {"node.latency": fabric.node.latency or 0.0}
    here = sum(costs.values())
    if not here:
        return 1.0, 1.0
    low = sum(known[key].low if key in known else value for key, value in costs.items())
    high = sum(known[key].high if key in known else value for key, value in costs.items())
    limit, stall = known.get("network.eager_limit"), known.get("network.rendezvous_stall")
    if network and limit and stall and limit.low < block_bytes and stall.key not in costs:
        high += stall.high
    return low / here, high / here
