# SPDX-License-Identifier: BSD-3-Clause
"""What causes a change-over: a variable of the library with its value there, which may be an eager limit, or memory.

A library changes its protocol at a size, whatever memory the messages lie in. So where one pair was measured both hot
and cold, a change-over that one of the two series has and the other surely has not is the memory's: a cache that
overflows, a prefetcher that starts. No knob of the library is named for it. That none was found in the other series is
not enough, since noise hides a change, and so does a larger latency: what the other one does at that place, with its
error, must exclude the same change, whether a protocol costs the same time in both or the same share.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import NamedTuple

from weft.analyse.tables.answers import ChangeRow
from weft.analyse.thresholds.changes import ChangeOver
from weft.analyse.thresholds.series import LEAST, SizeSeries
from weft.mpi.knobs import Knobs, NamedKnob, Where, all_values
from weft.plan.records import Cell
from weft.store.rows import LaunchRow, MeasuredRow
from weft.store.tables import grouped

Cells = Mapping[str, Cell]
#: Change-overs of two series are one where their sizes are no further apart than this: each was refined by itself.
NEAR = 2.0
REACH = 8.0  # what a series does at a change-over is fitted to its sizes from there to this factor on either side
SURELY = 3.290527  # standard errors by which the two must differ: 99.9 % of a normal distribution
OF_MEMORY = frozenset({"cache", "footprint", "bytes"})  # what differs between the hot cell of a pair and its cold one
#: Words in a knob's name that mean an eager limit: the size above which a library no longer sends at once.
EAGER_WORDS = ("eager", "rndv_thresh", "p2p_threshold", "cell_size", "cell_fwd")


def mark_memory_effects(changes: Sequence[ChangeRow], series: Sequence[SizeSeries], cells: Cells) -> list[ChangeRow]:
    """The change-overs, those of memory with the kind ``cache`` and without a knob."""
    by_name = {(each.cell, each.name): each for each in series}
    found: list[ChangeRow] = []
    for change in changes:
        call, mine = change["call"], by_name[change["cell"], change["call"]]
        others = [by_name[cell, call] for cell in _twins(change["cell"], cells) if (cell, call) in by_name]
        alone = any(
            not any(each["cell"] == other.cell and _same(change, each) for each in changes)
            and _surely_not(change, mine, other)
            for other in others
        )
        unnamed: ChangeRow = {
            **change, "kind": "cache", "knobs": [], "knob_values": [], "knob_value": None, "knob_meaning": "",
            "usual_knob": "", "eager_limit": False,
        }  # fmt: skip
        found.append(unnamed if alone else change)
    return found


def _twins(name: str, cells: Cells) -> list[str]:
    """Cells that measure the same as one, in another memory."""

    def rest(cell: Cell) -> tuple[object, ...]:
        values = {key: value for key, value in cell.parameters.items() if key not in OF_MEMORY}
        return cell.kernel, cell.nodes, cell.ranks, values

    mine = cells[name]
    if not (cache := mine.parameters.get("cache")):
        return []
    others = {other: cell for other, cell in cells.items() if cell.parameters.get("cache") not in (None, cache)}
    return [other for other, cell in others.items() if rest(cell) == rest(mine)]


def _surely_not(change: ChangeRow, mine: SizeSeries, other: SizeSeries) -> bool:
    own, twin = _at(change, mine), _at(change, other)
    asked = ("slope",) if change["kind"] == "bend" else ("seconds", "share")
    pairs = [(own[key], twin[key]) for key in asked] if own and twin else []
    return bool(pairs) and all(abs(a[0] - b[0]) > SURELY * math.hypot(a[1], b[1]) for a, b in pairs)


def _at(change: ChangeRow, series: SizeSeries) -> dict[str, tuple[float, float]] | None:
    """What a series does between two sizes, with standard errors, by a line on either side; None if too few are known.
    ``seconds``: the step; ``share``: its logarithm as a factor; ``slope``: change of the seconds per byte.
    """
    lower, upper = change["lower"], change["upper"]
    known = [place for place, error in enumerate(series.errors) if math.isfinite(error)]
    before = [place for place in known if lower <= series.sizes[place] * REACH and series.sizes[place] <= lower]
    after = [place for place in known if upper <= series.sizes[place] <= upper * REACH]
    cut = len(before)
    if min(cut, len(after)) < LEAST:
        return None
    fit = series.pieces(before + after)
    sides = fit.piece(0, cut - 1), fit.piece(cut, len(fit.sizes) - 1)
    middle = math.sqrt(max(lower, 0.5) * upper)
    left, right = (side.at(middle) for side in sides)
    if left <= 0 or right <= 0:
        return None
    worse = math.sqrt(max(1.0, fit.cost((cut,)) / max(1, len(fit.sizes) - 4)))
    errors = [worse * side.error_at(middle) for side in sides]
    slopes = [worse * math.sqrt(max(side.covariance[1][1], 0.0)) for side in sides]
    return {
        "seconds": (right - left, math.hypot(*errors)),
        "share": (math.log(right / left), math.hypot(errors[0] / left, errors[1] / right)),
        "slope": (sides[1].per_byte_s - sides[0].per_byte_s, math.hypot(*slopes)),
    }


def _same(change: ChangeRow, other: ChangeRow) -> bool:
    """Whether a change-over of the other series lies where one lies, and goes the same way."""
    near = other["lower"] <= NEAR * change["upper"] and change["lower"] <= NEAR * other["upper"]
    rises, also_rises = ((each["factor"] or 0) > 1 for each in (change, other))
    alike = not change["kind"] == other["kind"] == "jump" or rises == also_rises
    return change["call"] == other["call"] and near and alike


class Settings(NamedTuple):
    """What the MPI library of a cell is, in its own words, and how its variables stood in all launches."""

    library: str
    values: Mapping[str, str]


def launch_settings(
    measured: Iterable[MeasuredRow], launches: Iterable[LaunchRow], stated: Mapping[str, str]
) -> dict[str, Settings]:
    """The library of each cell and its settings: what its launches agree on, and what a fabric file states."""
    known = {row["launch_id"]: row for row in launches}
    cells = grouped((row for row in measured if row["launch_id"] in known), lambda row: row["cell"])
    of_cell = {cell: [known[row["launch_id"]] for row in rows] for cell, rows in cells.items()}
    return {
        cell: Settings(rows[0]["mpi_library"] or "", {**agreed_settings(rows), **stated})
        for cell, rows in of_cell.items()
    }


def agreed_settings(launches: Iterable[LaunchRow]) -> dict[str, str]:
    """The settings that launches agree on, by name."""
    return all_values([texts(row["named_settings"]) | texts(row["settings"]) for row in launches])


def name_knob(change: ChangeOver, series: SizeSeries, cell: Cell, knobs: Knobs) -> ChangeRow:
    """A change-over with the knob that explains it. Not of a bend, as a cache may make it at some knob's size; of a
    recorded switch, its cause; of puts and gets.
    """
    where, collective = reached(cell, change.call)
    one_sided = cell.parameters.get("transfer") in ("put", "get")
    likely: list[NamedKnob] = []
    if change.kind != "bend" and not change.algorithm_after and not one_sided:
        # those in the gap come before those elsewhere among the places that the times allow (95 %)
        likely = knobs.within(change.lower, change.upper, where, collective)
        allowed = knobs.within(change.surely_lower, change.surely_upper, where, collective)
        likely += [knob for knob in allowed if knob not in likely]
    seconds = {size: row["median_s"] for size, row in zip(series.sizes, series.rows, strict=True)}
    usual = "" if likely or change.algorithm_after or one_sided else knobs.usual(where, collective)
    names, value, meaning = (likely[0].names, likely[0].value, likely[0].what) if likely else ((), None, "")
    return ChangeRow(
        **asdict(change), nodes=cell.nodes, ranks=cell.ranks, lower_s=seconds[change.lower],
        upper_s=seconds[change.upper], knobs=[name for knob in likely for name in knob.names],
        knob_values=[knob.value for knob in likely for _ in knob.names], knob_value=value, knob_meaning=meaning,
        usual_knob=usual, eager_limit=is_eager_limit(*names), confirmed="", refuted=[],
    )  # fmt: skip


def reached(cell: Cell, call: str) -> tuple[Where, str]:
    """Whether a call of a cell sends within nodes or between them, and its collective, if it is one."""
    collective = call.partition("-")[0] if "collective" in cell.parameters else ""
    # with one rank a node, no message stays inside
    return "node" if cell.nodes == 1 else "both" if collective and cell.ranks_per_node > 1 else "network", collective


def is_eager_limit(*names: str) -> bool:
    """Whether the names of a knob say that it is an eager limit."""
    return any(word in name.lower() for word in EAGER_WORDS for name in names)


@lru_cache(maxsize=64)  # the launches of a run mostly have the same settings
def texts(settings: str) -> dict[str, str]:
    """A launch's settings by name, of the JSON object in a row of the table of launches; not to be changed."""
    return {name: str(value) for name, value in json.loads(settings or "{}").items()}
