# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of modelled times: what the model of a fabric leaves out, as intervals of rows and as findings.

Of a machine to which no number was fitted: a simulated time has a part of bytes, the largest term of bytes of its
bound, and a part of messages, the rest. Both are moved to the ends of the ranges of their numbers
(:func:`weft.fabric.numbers.doubtful`): rates move the terms of bytes, and the first part is the largest of them;
latency, overhead, gap and stall of a message of the call's own size move the second. Both ends are widened by
`LIBRARY`, for what the file of a machine cannot say: which algorithm its library takes, and what that makes of it.
"""

from collections.abc import Iterator, Mapping, Sequence

from weft.analyse.checks import make_finding
from weft.analyse.pairs.places import WORDS
from weft.analyse.statistics.interval import MODELLED, RANGE_OF_MODEL, RANGE_OF_PRESETS
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.pairs import ClassRow, class_text
from weft.analyse.tables.times import CallRow
from weft.bound.placed import CAUSES, FLOWS, INCAST, PORT_BUFFER
from weft.bound.placed import left_out as effects_left_out
from weft.bound.terms import COPY, INJECTION, LINK, PER_MESSAGE, BoundedCell, copy_rate, largest_s
from weft.fabric.hops import NODE
from weft.fabric.model import Fabric
from weft.fabric.network.sections import NetworkSection
from weft.fabric.numbers import LINK_RATES, Doubtful, doubtful, fitted_numbers, with_number
from weft.fabric.presets import presets
from weft.format import format_factor, measured_seconds
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import cell_place
from weft.plan.records import Cell
from weft.store.tables import grouped
from weft.units import parse_seconds

LATENCY_LOW, LATENCY_HIGH = 0.3, 3.0  # a latency between these shares of its preset's is plausible
SMALL_BYTES = 64  # messages of more bytes say more of a rate than of a latency
Cells = Mapping[str, Cell]
Span = tuple[float | None, float | None, str]  # the range of some times in seconds, and what is meant in words
LIBRARY = 1.15
"""Factor by which both ends are widened. Of 130 published cells 127 are inside the ranges of their machine's numbers
alone, and the others within this factor of them (`weft papers machines`)."""
Moved = tuple[float, float]  # factors of a number of seconds at the two ends of a range


def ranged(row: CallRow, cell: Cell, fabric: Fabric) -> CallRow:
    """A modelled row with the range of effects left out (:mod:`weft.bound.placed`) and of unfitted numbers."""
    seconds = row["median_s"]
    if seconds is None or row["interval"] != MODELLED:
        return row
    found, unfitted = effects_left_out(cell, row["call"], fabric, seconds), is_unfitted(fabric)
    if found or unfitted:
        low_s, high_s = range_of_effects(cell, row["call"], fabric, seconds)
        if unfitted:
            least_s, most_s = range_of(cell, row["call"], row["block_bytes"], fabric, seconds)
            low_s, high_s = low_s * least_s / seconds, high_s * most_s / seconds
        row["low_s"], row["high_s"] = low_s, high_s
        row["interval"] = RANGE_OF_MODEL if found else RANGE_OF_PRESETS
    return row


def range_of_effects(cell: Cell, call: str, fabric: Fabric, seconds: float) -> tuple[float, float]:
    """From the least to the most, in seconds, that effects left out leave open; the time twice where none is."""
    found, bound = effects_left_out(cell, call, fabric, seconds), cell.bounds.get(call)
    low_s = max(min(bound.seconds if bound else 0.0, seconds), seconds - sum(effect.less_s for effect in found))
    return low_s, seconds + sum(effect.more_s for effect in found)


def range_findings(
    rows: Sequence[CallRow], cells: Cells, fabric: Fabric, classes: Sequence[ClassRow] = ()
) -> list[FindingRow]:
    """A note for each effect that a model omits, with the hop class (of pairs side by side) or row it widens most."""
    of_pairs = [row for row in rows if row["status"] == "ok" and kernel_named(row["kernel"]).has_pair_samples]
    shapes = {(row["nodes"], row["ranks"]): cells[row["cell"]] for row in of_pairs}
    findings: list[FindingRow] = []
    for cause, _ in _by_cause(of_pairs, cells, fabric):
        spans = [span for row in classes for span in _spans(row, shapes, fabric, cause)]
        findings += _widest("range.pairs", cause, spans)
    for cause, own in _by_cause([row for row in rows if row["interval"] == RANGE_OF_MODEL], cells, fabric):
        where = ((row, cell_place(row["nodes"], row["ranks"], row["oversubscribed"])) for row in own)
        findings += _widest("range.calls", cause, [(r["low_s"], r["high_s"], f"{r['call']}, {at}") for r, at in where])
    return findings


def _by_cause(rows: Sequence[CallRow], cells: Cells, fabric: Fabric) -> list[tuple[str, list[CallRow]]]:
    known = ((row, effects_left_out(cells[row["cell"]], row["call"], fabric, row["median_s"] or 1.0)) for row in rows)
    each = grouped(((cause, row) for row, of in known for cause in {one.cause for one in of}), lambda pair: pair[0])
    return sorted((cause, [row for _, row in pairs]) for cause, pairs in each.items())


def _widest(id: str, cause: str, spans: Sequence[Span]) -> list[FindingRow]:
    if not spans:
        return []
    low_s, high_s, where = max(spans, key=lambda span: (span[1] or 0.0) / (span[0] or 1.0))
    words, ends = CAUSES[cause], {"low": measured_seconds(low_s), "high": measured_seconds(high_s)}
    more = f" (and {len(spans) - 1} more)" if len(spans) > 1 else ""
    return [make_finding(id, where + more, cause=cause, words=words.what, remedy=words.remedy, **ends)]


def _spans(row: ClassRow, of_pairs: Mapping[tuple[int, int], Cell], fabric: Fabric, cause: str) -> Iterator[Span]:
    """The range of a hop class by one effect; nothing if its pairs run alone, or inside a node. No routing beats the
    latency and the bytes over one adapter; adaptive routes spread a pair's own bytes too.
    """
    cell, network, seconds = of_pairs.get((row["nodes"], row["ranks"])), fabric.network, row["median_s"]
    if cell is None or network is None or row["mode"] == "isolated" or not row["hops"]:
        return
    flows = cell.ranks_per_node if row["mode"] == "all" else 1
    if (cause in (FLOWS, INCAST) and flows < 2) or (cause == INCAST and flows * row["bytes"] <= PORT_BUFFER):
        return
    wire_s = row["bytes"] / (network.adapter_rate * network.rails) if network.adapter_rate else 0.0
    least_s = min(seconds, (network.latency or 0.0) + wire_s)
    for effect in effects_left_out(cell, "pairs", fabric, seconds):
        if effect.cause == cause:
            yield max(least_s, seconds - effect.less_s), seconds + effect.more_s, class_text(row)


def latency_findings(classes: Sequence[ClassRow], fabric: Fabric) -> list[FindingRow]:
    """A warning where a model's smallest message between nodes takes no time that its network's latency explains. The
    nearest class alone beside its preset's latency, or the file's. A stall fitted to long calls is ``overhead_of``.
    """
    found, network = list[FindingRow](), fabric.network
    if network and classes and network.of_pairs is not network:  # the times of pairs are simulated without it
        stated = network.stated_costs(0).items()
        costs = [f"{key} = {measured_seconds(value)}" for key, value in stated if key.endswith(("overhead", "stall"))]
        found.append(make_finding("stall-left-out", "pairs", costs=", ".join(costs)))
    if beyond := latency_beyond(classes, fabric):
        row, ratio = beyond
        times = {"median": measured_seconds(row["median_s"]), "latency": measured_seconds(row["median_s"] / ratio)}
        found.append(make_finding("latency-beyond-preset", class_text(row), ratio=format_factor(ratio), **times))
    return found


def latency_beyond(classes: Sequence[ClassRow], fabric: Fabric) -> tuple[ClassRow, float] | None:
    """The nearest class of a model's smallest messages and its time over the latency known; None if plausible."""
    network = fabric.network
    between = [row for row in classes if WORDS[NODE] not in row["class"] and row["bytes"] <= SMALL_BYTES]
    # a single pair, both ways, is alone in every mode
    alone = [row for row in between if row["mode"] == "isolated" or row["pairs"] <= 2]
    expected_s = known_latency(network) if network else None
    if not alone or not expected_s:
        return None
    row = min(alone, key=lambda each: (each["bytes"], each["hops"]))
    ratio = row["median_s"] / expected_s
    return None if LATENCY_LOW <= ratio <= LATENCY_HIGH else (row, ratio)


def known_latency(network: NetworkSection) -> float | None:
    """Seconds of latency that a network's preset has, or that its own section states; None where neither does."""
    own = next((each.values.get("latency") for each in presets("network") if each.name == network.preset), None)
    return parse_seconds(own) if isinstance(own, str) else network.latency


def left_out(cells: Cells, call: str) -> dict[str, str]:
    """Names of the effects that the model of a run's fabric leaves out of a call, by cell that has some."""
    bounds = ((name, cell.bounds[call]) for name, cell in cells.items() if call in cell.bounds)
    return {name: ", ".join(each.cause for each in bound.effects) for name, bound in bounds if bound.effects}


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
    if name == COPY:  # the rate is the node's, or that of its ranks' cores if these are slower
        least = most = fabric
        for key in ("node.copy_rate", "node.core_copy_rate"):
            if key in known:
                least, most = with_number(least, key, known[key].low), with_number(most, key, known[key].high)
        slow, here, fast = (copy_rate(each, cell) or 1.0 for each in (least, fabric, most))
        return here / fast, here / slow
    keys = ("network.adapter_rate",) if name == INJECTION else LINK_RATES if name.startswith(LINK) else ()
    moved = [known[key] for key in keys if key in known]
    low = min((each.value / each.high for each in moved), default=1.0)
    return low, max((each.value / each.low for each in moved), default=1.0)


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
