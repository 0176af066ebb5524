# SPDX-License-Identifier: BSD-3-Clause
"""Which variable of the MPI library has its value where a change-over was found, and whether it is an eager limit."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from weft.analyse.tables.answers import ChangeRow
from weft.analyse.thresholds.changes import ChangeOver
from weft.analyse.thresholds.series import SizeSeries
from weft.mpi.knobs import Knobs, NamedKnob, Where, all_values
from weft.plan.records import Cell
from weft.store.rows import LaunchRow, MeasuredRow

#: Words in a knob's name that mean an eager limit: the size above which a library no longer sends at once.
EAGER_WORDS = ("eager", "rndv_thresh", "p2p_threshold", "cell_size", "cell_fwd")


@dataclass(frozen=True)
class Settings:
    """What the MPI library of a cell is, in its own words, and how its variables stood in all launches."""

    library: str
    values: Mapping[str, str]


def launch_knobs(
    measured: Iterable[MeasuredRow], launches: Iterable[LaunchRow], stated: Mapping[str, str]
) -> dict[str, Knobs]:
    """The knobs of each cell; parameters as of `launch_settings`."""
    found = launch_settings(measured, launches, stated)
    return {cell: Knobs(each.library, each.values) for cell, each in found.items()}


def launch_settings(
    measured: Iterable[MeasuredRow], launches: Iterable[LaunchRow], stated: Mapping[str, str]
) -> dict[str, Settings]:
    """The library of each cell and its settings: what its launches agree on."""
    known = {row["launch_id"]: row for row in launches}
    of_cell: dict[str, list[LaunchRow]] = {}
    for row in measured:
        if row["launch_id"] in known:
            of_cell.setdefault(row["cell"], []).append(known[row["launch_id"]])
    return {cell: _settings(rows, stated) for cell, rows in of_cell.items()}


def name_knob(change: ChangeOver, series: SizeSeries, cell: Cell, knobs: Knobs) -> ChangeRow:
    """A change-over with the knob that explains it.

    No knob is named for a bend: a cache overflow also bends a curve, at a size that some knob may have by chance. None
    is where the run recorded that the algorithm changes: that is the cause.
    """
    where, collective = reached(cell, change.name)
    known = change.kind == "bend" or bool(change.algorithm_after)
    likely = [] if known else possible(change, knobs, where, collective)
    seconds = {size: row["median_s"] for size, row in zip(series.sizes, series.rows, strict=True)}
    usual = "" if likely or change.algorithm_after else knobs.usual(where, collective)
    first = likely[0] if likely else None
    return ChangeRow(
        cell=change.cell, call=change.name, nodes=cell.nodes, ranks=cell.ranks, lower=change.lower,
        upper=change.upper, surely_lower=change.surely_lower, surely_upper=change.surely_upper,
        lower_s=seconds[change.lower], upper_s=seconds[change.upper], algorithm_before=change.algorithm_before,
        algorithm_after=change.algorithm_after, kind=change.kind,
        factor=change.factor, low=change.low, high=change.high, before_rate=change.before_rate,
        after_rate=change.after_rate, confidence=change.confidence,
        knobs=[name for knob in likely for name in knob.names],
        knob_values=[knob.value for knob in likely for _ in knob.names], knob_value=first.value if first else None,
        knob_meaning=first.what if first else "", usual_knob=usual,
        eager_limit=is_eager_limit(*(first.names if first else ())), confirmed="", refuted=[],
    )  # fmt: skip


def possible(change: ChangeOver, knobs: Knobs, where: Where, collective: str) -> list[NamedKnob]:
    """Every knob that may have made a change-over, the most likely first: none that the times rule out.

    Those in the gap come before those elsewhere among the places that the times allow (95 %).
    """
    inside = knobs.within(change.lower, change.upper, where, collective)
    allowed = knobs.within(change.surely_lower, change.surely_upper, where, collective)
    return inside + [knob for knob in allowed if knob not in inside]


def reached(cell: Cell, call: str) -> tuple[Where, str]:
    """Whether a call of a cell sends within nodes or between them, and its collective, if it is one."""
    collective = call.partition("-")[0] if "collective" in cell.parameters else ""
    mixed = collective and cell.ranks_per_node > 1  # with one rank a node, no message stays inside
    where: Where = "node" if cell.nodes == 1 else "both" if mixed else "network"
    return where, collective


def is_eager_limit(*names: str) -> bool:
    """Whether the names of a knob say that it is an eager limit."""
    return any(word in name.lower() for word in EAGER_WORDS for name in names)


def _settings(launches: Sequence[LaunchRow], stated: Mapping[str, str]) -> Settings:
    values = all_values([texts(row["named_settings"]) | texts(row["settings"]) for row in launches])
    return Settings(launches[0]["mpi_library"] or "", {**values, **stated})


@lru_cache(maxsize=64)  # the launches of a run mostly have the same settings
def texts(settings: str) -> dict[str, str]:
    """A launch's settings by name, of the JSON object in a row of the table of launches; not to be changed."""
    found: dict[str, Any] = json.loads(settings or "{}")
    return {name: str(value) for name, value in found.items()}
