# SPDX-License-Identifier: BSD-3-Clause
"""What would help a call, by its breakdown, its bound and the knobs moved: the time that each could save at most.

A step of the breakdown that surely adds time can at most be taken away whole. Twice of a part of the machine lowers
the floor from H to H', the next nearest term; a call takes no less, nor less than half of its time t, so it saves at
most t - max(H', t / 2). Where half as many ranks run on each of twice the nodes, H' is the bound of that placement. A
confirmed knob saves what was measured with it, of the slowest call of the sweep among these sizes.

Where the nearest bound is of messages, fewer or cheaper ones help: of r ranks on each of N nodes a rank sends r (N -
1) blocks to other nodes. If those for one node go as one message, it sends N - 1, and each byte that leaves is copied
once more.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from weft.analyse.tables.answers import WinnerRow
from weft.analyse.tables.breakdown import Basis, BreakdownRow, RemedyRow
from weft.analyse.tables.sweeps import TrialRow
from weft.analyse.tables.times import CallRow, TimedRow, holding_bound_s, timed
from weft.analyse.thresholds.trials import gains
from weft.bound.placed import spread_terms
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, MESSAGE_GAP, OVERHEAD
from weft.fabric.model import Fabric
from weft.format import format_seconds
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import op_name, split_op
from weft.mpi.algorithms import DEFAULT
from weft.plan.records import Cell

Terms = Mapping[str, float]
Cells = Mapping[str, Cell]
Machine = Fabric | None  # None: no machine whose costs its file states
Calls = Iterable[CallRow]
Steps = Sequence[BreakdownRow]
Wins = Sequence[WinnerRow]
Named = tuple[str, str]  # id and subject of a remedy
LEAST = 0.01  # a remedy that saves less than this share of the time is none
LEAST_FLOOR = 0.1  # a part of the machine whose bound is less than this share of the time is not what to buy
ALLTOALLS = frozenset({"alltoall", "alltoallv"})
CHEAPER: Mapping[str, str] = {OVERHEAD: "half-overhead", MESSAGE_GAP: "half-gap", LATENCY: "half-latency"}
KEYS: Mapping[str, tuple[str, ...]] = {
    OVERHEAD: ("overhead", "stall"), MESSAGE_GAP: ("message_gap",), LATENCY: ("latency",),
}  # fmt: skip


def of_messages(name: str, terms: Terms, cell: Cell, call: str, fabric: Machine) -> Iterable[tuple[Named, Terms, int]]:
    """Remedies of a bound of messages between nodes, their terms in s, and by which factor at most all else shrinks."""
    each, nodes = cell.ranks_per_node, cell.nodes
    if name not in CHEAPER or name not in terms or nodes == 1:
        return
    called = kernel_named(cell.kernel).collectives(cell.parameters)
    if name != LATENCY and called and called <= ALLTOALLS and each > 1:
        joined = {**terms, **{one: terms[one] / each for one in (OVERHEAD, MESSAGE_GAP) if one in terms}}
        copied = {COPY: terms[COPY] * nodes} if COPY in terms else {}
        yield ("node-messages", f"node.multi{{nl={each}}}"), {**joined, **copied}, each
    network = fabric.network if fabric and fabric.is_model else None  # nobody states the cost of a machine
    costs = network.stated_costs(split_op(call)[1] or cell.block_bytes).items() if network else ()
    stated = "; ".join(f"{key} = {format_seconds(value)}" for key, value in costs if key.endswith(KEYS[name]))
    yield (CHEAPER[name], stated), {**terms, name: terms[name] / 2}, 2


class Whole(NamedTuple):
    """A call as a whole: a row of it, and its seconds."""

    row: TimedRow | BreakdownRow
    seconds: float


def remedies(breakdown: Steps, winners: Wins, cells: Cells, modelled: bool, fabric: Machine = None) -> list[RemedyRow]:
    """The remedies of every call that has a breakdown, the one that saves most first."""
    seen: Basis = "simulated" if modelled else "measured"
    found: list[RemedyRow] = []
    for (cell, _), group in groupby(breakdown, key=lambda row: (row["cell"], row["call"])):
        steps: dict[str, BreakdownRow] = {row["step"]: row for row in group}
        top, floor = steps["arrival"], steps.get("hardware")
        whole = Whole(top, top["seconds"])
        own = [*_of_steps(steps, whole, seen), *_of_winners(whole, winners, seen)]
        if floor is not None:
            own += _of_hardware(whole, floor["name"], floor["seconds"], cells[cell], fabric)
        found += _best_first(own)
    return found


def bound_remedies(
    calls: Calls, breakdown: Steps, cells: Cells, winners: Wins = (), *, modelled: bool = False, fabric: Machine = None
) -> list[RemedyRow]:
    """What an algorithm, or (by bounds alone) a faster part, could save of calls without a breakdown. Of one call by
    several algorithms the fastest is advised: whoever wants a better time begins there.
    """
    seen: Basis = "simulated" if modelled else "measured"
    broken_down = {(row["cell"], row["call"]) for row in breakdown}
    found: list[RemedyRow] = []
    fastest: dict[tuple[object, ...], TimedRow] = {}
    for row in timed(calls, phase="warm"):
        # cells that differ in more than the algorithm are no rivals: between nodes of one leaf, and of two
        own = {name: value for name, value in cells[row["cell"]].parameters.items() if name != "algorithm"}
        key = (row["call"], row["nodes"], row["ranks"], row["block_bytes"], row["array_bytes"], repr(own))
        fastest[key] = min(fastest.get(key, row), row, key=lambda each: each["median_s"])
        if (row["cell"], row["call"]) not in broken_down and cells[row["cell"]].parameters.get("algorithm") == DEFAULT:
            found += _best_first(_of_winners(Whole(row, row["median_s"]), winners, seen))
    for row in fastest.values():
        floor_s, whole = holding_bound_s(row), Whole(row, row["median_s"])
        if (row["cell"], row["call"]) not in broken_down and floor_s is not None:
            found += _best_first(_of_hardware(whole, row["bound"], floor_s, cells[row["cell"]], fabric))
    return found


def knob_remedies(trials: Iterable[TrialRow], calls: Calls, modelled: bool) -> list[RemedyRow]:
    """Confirmed knobs that make calls of the run faster, each at the value that saves most."""
    warm, seen = timed(calls, phase="warm"), "simulated" if modelled else "measured"
    found: dict[tuple[str, str, str], RemedyRow] = {}
    for trial in (row for row in trials if row["outcome"] == "confirmed"):
        for gain in gains(trial):
            named = ((row, *split_op(row["call"])) for row in warm if row["cell"] == trial["cell"])
            own = ((row, size or 0) for row, name, size in named if name == trial["call"])
            among = (row for row, size in own if gain.first <= size <= gain.last)
            slowest = max(among, key=lambda row: row["median_s"], default=None)
            if slowest is None or gain.high >= 1:
                continue
            whole = Whole(slowest, slowest["median_s"])
            row = _row(whole, "knob", gain.setting, whole.seconds * (1 - gain.ratio), seen, ratio=gain.ratio)
            row["setting"] = gain.setting
            key = (trial["cell"], trial["call"], trial["knob"])
            found[key] = max(found.get(key, row), row, key=lambda each: each["saves_s"])
    return list(found.values())


def _row(whole: Whole, id: str, subject: str, saves_s: float, basis: Basis, ratio: float | None = None) -> RemedyRow:
    row = whole.row
    return RemedyRow(
        cell=row["cell"], call=row["call"], nodes=row["nodes"], ranks=row["ranks"], seconds=whole.seconds, id=id,
        subject=subject, saves_s=saves_s, basis=basis, floor_s=None, floor="", ratio=ratio, setting="",
    )  # fmt: skip


def _best_first(rows: Iterable[RemedyRow]) -> list[RemedyRow]:
    return sorted((row for row in rows if row["saves_s"] > LEAST * row["seconds"]), key=lambda row: -row["saves_s"])


def _of_steps(found: Mapping[str, BreakdownRow], whole: Whole, seen: Basis) -> Iterable[RemedyRow]:
    floor = found.get("hardware")
    # alone, messages may take longer than the whole call, which cannot save more than what stands above its floor
    above_s = whole.seconds - (floor["seconds"] if floor else 0.0)
    steps: list[tuple[str, str, str, Basis]] = [
        ("messages", "cheaper-messages", found["messages"]["mover"], "only bounded"),
        ("contention", "placement" if whole.row["nodes"] > 1 else "rank-order", "", "only bounded"),
        ("algorithm", "plain-rounds", found["contention"]["name"], seen),
        ("arrival", "late-ranks", "", seen),
    ]
    for step, id, subject, basis in steps:
        row = found.get(step)
        if row and row["factor"] and row["effect"] == "adds":
            yield _row(whole, id, subject, min(row["seconds"] * (1 - 1 / row["factor"]), above_s), basis)


def _of_winners(whole: Whole, winners: Wins, seen: Basis) -> Iterable[RemedyRow]:
    for winner in winners:
        same = all(winner[key] == whole.row[key] for key in ("nodes", "ranks"))
        named = op_name(winner["call"], winner["bytes"]) == whole.row["call"]
        if same and named and winner["high"] and winner["high"] < 1:
            saved = winner["default_s"] - winner["median_s"]
            yield _row(whole, "algorithm", winner["algorithm"], saved, seen, ratio=winner["ratio"])


def _of_hardware(whole: Whole, name: str, floor_s: float, cell: Cell, fabric: Machine) -> Iterable[RemedyRow]:
    planned, call = cell.bounds.get(whole.row["call"]), whole.row["call"]
    if planned is None or floor_s < LEAST_FLOOR * whole.seconds:
        return
    terms = {**planned.terms, name: floor_s}
    twice = ((*each, 2) for each in _twice(name, terms, planned.terms, call, cell, fabric))
    for (id, subject), better, times in chain(twice, of_messages(name, terms, cell, call, fabric)):
        lower = max(better.values())
        if lower < floor_s:
            row = _row(whole, id, subject, whole.seconds - max(lower, whole.seconds / times), "only bounded")
            row["floor_s"], row["floor"] = lower, max(better, key=lambda name: better[name])
            yield row


def _twice(
    name: str, terms: Terms, planned: Terms, call: str, cell: Cell, fabric: Machine
) -> Iterable[tuple[Named, Terms]]:
    """Twice of what sets the nearest bound, or half the ranks on each of twice the nodes, with the terms of that."""
    if name.startswith(LINK):
        halved = {each: seconds / 2 if each.startswith(LINK) else seconds for each, seconds in terms.items()}
        yield ("second-cable", name.removeprefix(LINK)), halved
    if name == INJECTION:
        yield ("faster-adapter", ""), {**terms, INJECTION: terms[INJECTION] / 2}
    if fabric is None or name not in (INJECTION, COPY):
        return
    wide = spread_terms(cell, call, fabric)
    if wide and max(wide.values()) < max(planned.values()):
        scaled = {
            each: seconds * terms[each] / planned[each] if each in planned else seconds
            for each, seconds in wide.items()
        }
        yield ("spread-ranks", ""), scaled
