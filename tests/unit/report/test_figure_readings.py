# SPDX-License-Identifier: BSD-3-Clause
"""Captions single out no doubted row, spreads are told by their half, and strokes of a model are its range."""

from types import SimpleNamespace
from typing import Any

import pytest

from made.run import make_run
from made.view import load_view
from weft.analyse.compare.sides import Key, Point
from weft.report.compare.figures import Sheet, time_points
from weft.report.figures.scaling import calls_reading
from weft.report.figures.spread import spread_figure


def row(call: str, phase: str, seconds: float, **changes: Any) -> Any:
    found = {"cell": "c1", "call": call, "phase": phase, "nodes": 1, "ranks": 2, "ranks_per_node": 2, "batch": 1}
    found |= {"median_s": seconds, "low_s": seconds * 0.9, "high_s": seconds * 1.1, "min_s": seconds * 0.8}
    return found | {"bound_s": None, "oversubscribed": False, "status": "ok"} | changes


FLOOR: Any = [{"quantity": "empty", "nodes": 1, "ranks_per_node": 2, "value": 2e-8}]
SOUND = (row("C", "cold", 3e-3), row("C", "warm", 1e-3))


def test_the_first_call_that_stands_out_has_an_interval() -> None:
    said = calls_reading(SOUND, FLOOR)
    assert "MPI_Alltoallv(m-vector) at N = 1, p = 2" in said
    assert "3.00 ms, 3.00 times (2.45–3.67) the 1.00 ms" in said


@pytest.mark.parametrize(
    ("changes", "fast_s"),
    [({}, 16.7e-9), ({"bound_s": 1e-6}, 1e-7), ({"ranks": 1}, 1e-6)],
    ids=["below the floor", "below its bound", "one rank"],
)
def test_no_doubted_row_is_singled_out(changes: Any, fast_s: float) -> None:
    """It named 460 times 16.7 ns at p = 1, below the floor of 20 ns; elsewhere the row of the page's only error."""
    lost = (row("A", "cold", 7.69e-6, **changes), row("A", "warm", fast_s, **changes))
    assert calls_reading([*lost, *SOUND], FLOOR) == calls_reading(SOUND, FLOOR)
    assert calls_reading(lost, FLOOR).startswith("No call of several ranks has both")


def test_a_spread_of_launches_is_told_by_its_half_on_axes_from_zero(tmp_path: Any) -> None:
    """The caption said "by 188.3%" where the warning of the same row said ±94 %."""
    view = load_view(make_run(tmp_path / "run"))
    vars(view)["rows"] = [{**row, "launch_low_s": 1.0, "launch_high_s": 1.5, "median_s": 1.25} for row in view.rows]
    found = spread_figure(view)
    assert found is not None
    assert ": ±20 %. " in found.reading
    scales = [layer["encoding"]["y"]["scale"] for panel in found.specifications() for layer in panel["layer"]]
    assert all(scale["zero"] for scale in scales)


def side(name: str, *points: Point) -> Any:
    return SimpleNamespace(name=name, points=dict(zip(KEYS, points, strict=True)))


KEYS = [Key("collective", f"bcast@{size}", "warm", 4, 16, None, None, "") for size in (1, 1024)]


def test_strokes_of_a_simulated_run_are_the_range_of_its_model() -> None:
    """All 340 points had low = high, where the table beside them had 353 us to 200 ms."""
    open_ended = [Point((), "ok", "", {1: 1e-3}, None, False, (353e-6, 200e-3)) for _ in KEYS]
    measured = [Point((), "ok", "", {1: 1e-3, 2: 2e-3}, None, False) for _ in KEYS]
    exact = [Point((), "ok", "", {1: 1e-3}, None, False) for _ in KEYS]
    sheet = Sheet("warm", "warm, by size", "bytes", ("bcast",), frozenset(KEYS))

    sides = [side("a", *open_ended), side("b", *measured), side("c", *exact)]
    found: Any = SimpleNamespace(sides=sides)
    points = time_points(found, sheet, "bcast")
    assert [(point["low"], point["high"], point["stroke"]) for point in points[::2]] == [
        (353e-6, 200e-3, "model"), (1e-3, 2e-3, "launches"), (1e-3, 1e-3, ""),
    ]  # fmt: skip
    assert points[0]["time"] == "1.00 ms (0.35–200.00)"
