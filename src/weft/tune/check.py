# SPDX-License-Identifier: BSD-3-Clause
"""A table held against everything else: ``auto`` beside all algorithms of a run, and where it is the slowest choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.analyse.tables.times import TimedRow
from weft.format import format_bytes, format_seconds
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AUTO
from weft.report.tabular import Table, Words
from weft.report.view import RunView
from weft.tune.rows import rows_by_algorithm


@dataclass(frozen=True)
class Checked:
    """``auto`` at one size of one call at one shape.

    Attributes
    ----------
    op, nodes, ranks, block_bytes
        Where.
    auto_s, default_s
        Medians of ``auto`` and of the library's own choice.
    best, best_s
        The fastest of all others, and its median.
    shown
        Whether its interval and that of the library's choice stand apart; a model's times have none and repeat exactly.
    """

    op: str
    nodes: int
    ranks: int
    block_bytes: int
    auto_s: float
    default_s: float
    best: str
    best_s: float
    shown: bool

    @property
    def ratio(self) -> float:
        """Time of ``auto`` divided by that of the best other."""
        return self.auto_s / self.best_s

    @property
    def to_default(self) -> float:
        """Time of ``auto`` divided by that of the library's own choice."""
        return self.auto_s / self.default_s


def checked(view: RunView) -> list[Checked]:
    """Each call, shape and size of a run that has ``auto``, in order."""
    return [
        _checked(place, rows)
        for place, rows in sorted(rows_by_algorithm(view).items())
        if AUTO in rows and DEFAULT in rows and len(rows) > 1
    ]


def _checked(place: tuple[str, int, int, int], rows: Mapping[str, TimedRow]) -> Checked:
    op, nodes, ranks, size = place
    best = min((name for name in rows if name != AUTO), key=lambda name: rows[name]["median_s"])
    auto, own = rows[AUTO], rows[DEFAULT]
    return Checked(
        op, nodes, ranks, size, auto["median_s"], own["median_s"], best, rows[best]["median_s"], _apart(auto, own)
    )


def _apart(one: TimedRow, other: TimedRow) -> bool:
    if one["low_s"] is None or one["high_s"] is None or other["low_s"] is None or other["high_s"] is None:
        return True
    return one["low_s"] > other["high_s"] or one["high_s"] < other["low_s"]


def check_table(title: str, found: Sequence[Checked]) -> Table:
    """One row for each call, shape and size."""
    rows = tuple(
        (
            each.op,
            f"N = {each.nodes}, p = {each.ranks}",
            format_bytes(each.block_bytes),
            format_seconds(each.auto_s),
            each.best,
            format_seconds(each.best_s),
            f"{each.ratio:.2f}",
            format_seconds(each.default_s),
            f"{each.to_default:.2f}" + ("" if each.shown else " ~"),
        )
        for each in found
    )
    columns = (
        Words("call"),
        Words("shape"),
        "block",
        "auto",
        Words("best other"),
        "its time",
        "ratio",
        "library",
        "ratio",
    )
    return Table(title, columns, rows)


def worst(found: Sequence[Checked]) -> str:
    """The largest ratios, in two sentences."""
    to_best = max(found, key=lambda each: each.ratio)
    to_default = max((each for each in found if each.shown), key=lambda each: each.to_default, default=None)
    lines = [f"auto against the best of all others: at most {to_best.ratio:.3f} of its time, {_where(to_best)}."]
    if to_default is None:
        lines.append("Against the library's own choice no difference is shown at any size.")
    else:
        lines.append(f"Against the library's own choice: at most {to_default.to_default:.3f}, {_where(to_default)}.")
    return "\n".join(lines) + "\n"


def _where(each: Checked) -> str:
    return f"at {format_bytes(each.block_bytes)} of {each.op}, p = {each.ranks}"
