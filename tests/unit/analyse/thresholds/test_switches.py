# SPDX-License-Identifier: BSD-3-Clause
"""Where a model records the algorithm of each size, its switches are change-overs for certain, none of them missed."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from weft.analyse.tables.answers import ChangeRow
from weft.analyse.thresholds.changes import ChangeOver, find_steps_and_bends
from weft.analyse.thresholds.knob import name_knob
from weft.analyse.thresholds.series import SizeSeries, make_series
from weft.analyse.thresholds.switches import find_change_overs, slower_than_double
from weft.analyse.thresholds.trials import protocol_findings
from weft.fabric.simulation import SimulationSection
from weft.mpi.knobs import Knobs

#: MPI_Scatter of 32 processes on a simulated fabric: 4 KiB to 8 KiB and 8 KiB to 16 KiB change the algorithm.
SIZES = [2**k for k in range(21)]
CELL: Any = SimpleNamespace(
    parameters={"collective": "scatter"}, nodes=4, ranks=32, ranks_per_node=8, oversubscribed=False
)


def algorithm(size: int) -> str:
    return "ompi_binomial" if size < 512 or size == 8192 else "ompi_linear_nb"


def seconds(size: int) -> float:
    return 22.7e-6 + size / 26e6 if algorithm(size) == "ompi_binomial" else 13e-6 + size / 41.7e6


def series(recorded: bool = True) -> SizeSeries:
    rows: list[Any] = [
        {
            "cell": "c000", "call": f"scatter@{size}", "nodes": 4, "ranks": 32,
            "algorithm": algorithm(size) if recorded else "",
            "median_s": seconds(size), "low_s": None, "high_s": None, "block_bytes": 0, "launches": 1,
            "interval": "none",
        }
        for size in SIZES
    ]  # fmt: skip
    return make_series("c000", "scatter", rows, {1: {size: seconds(size) for size in SIZES}})


def rows_of(found: list[ChangeOver]) -> list[ChangeRow]:
    return [name_knob(change, series(), CELL, Knobs("SMPI", {})) for change in found]


def test_every_switch_is_found_in_its_place_with_both_algorithms() -> None:
    found = find_change_overs(series(), modelled=True)
    told = [(each.lower, each.upper, each.kind, each.algorithm_before, each.algorithm_after) for each in found]
    assert told == [
        (256, 512, "jump", "ompi_binomial", "ompi_linear_nb"),
        (4096, 8192, "switch", "ompi_linear_nb", "ompi_binomial"),
        (8192, 16384, "switch", "ompi_binomial", "ompi_linear_nb"),
    ]
    assert found[0].factor == pytest.approx((13e-6 + 362 / 41.7e6) / (22.7e-6 + 362 / 26e6), rel=1e-3)
    assert [each.factor for each in found[1:]] == [None, None], "no line fits a single size (METHOD 18)"
    assert {(each.low == each.high == each.factor, each.confidence) for each in found} == {(True, 1.0)}


Drawn = tuple[np.ndarray, list[str], dict[int, float]]


def drawn_case(rng: np.random.Generator, kind: str) -> Drawn:
    """Times, algorithms and planted steps (place of the first size beyond: factor) of a piecewise-linear curve.

    ``long``: each algorithm holds three sizes or more; ``tied``: three that cost the same take turns; ``lone``: single
    sizes have an algorithm that costs the same; ``excursion``: one that takes 0.5 to 3 times as long.
    """
    count, cuts = len(SIZES), list[int]()
    wanted = int(rng.integers(0, 4))
    for place in rng.integers(3, count - 2, 50).tolist():
        if len(cuts) < wanted and all(abs(place - cut) >= 3 for cut in cuts):
            cuts.append(place)
    factors = {cut: float(rng.choice([1, 1, 1.3, 1.6, 3, 1 / 1.3, 0.5])) for cut in sorted(cuts)}
    steps = {cut: factor for cut, factor in factors.items() if factor != 1}
    latency, per_byte, times = 10 ** rng.uniform(-6.3, -4), 10 ** rng.uniform(-10.3, -8), list[float]()
    for place, size in enumerate(SIZES):
        other = per_byte * float(rng.choice([0.5, 2.0]))
        bent = latency + (per_byte - other) * SIZES[place - 1]
        if factors.get(place) == 1 and bent > 0 and kind != "excursion":
            latency, per_byte = bent, other
        latency, per_byte = latency * steps.get(place, 1), per_byte * steps.get(place, 1)
        times.append(latency + per_byte * size)
    names = [sum(place >= cut for cut in factors) for place in range(count)]
    if kind == "tied":
        names = [int(rng.integers(0, 3)) for _ in range(count)]
    for place in (int(rng.integers(1, count - 1)) for _ in range(2 if kind in ("lone", "excursion") else 0)):
        inside = names[place - 1] == names[place] == names[place + 1] and all(abs(place - cut) > 3 for cut in factors)
        if kind == "lone" or inside:
            names[place] = 9
            times[place] *= float(rng.choice([0.5, 1.5, 3])) if kind == "excursion" else 1.0
    return np.array(times), [f"algorithm{name}" for name in names], steps


@pytest.mark.parametrize("kind", ["long", "tied", "lone", "excursion"])
def test_no_step_is_invented_and_none_of_thirty_per_cent_is_missed(kind: str) -> None:
    """All Bcast times of a simulated Ethernet were one line, and six change-overs were told between single sizes."""
    rng, planted = np.random.default_rng(28), 0
    for _ in range(50):
        times, names, steps = drawn_case(rng, kind)
        rows = tuple(
            cast(Any, {**row, "median_s": time, "algorithm": name})
            for row, time, name in zip(series().rows, times, names, strict=True)
        )
        found = find_change_overs(replace(series(), seconds=times, rows=rows), modelled=True)
        jumps = {SIZES.index(each.upper): each.factor for each in found if each.kind == "jump"}
        assert jumps == pytest.approx(steps, rel=0.05), names
        recorded = {(SIZES[k - 1], SIZES[k]) for k in range(1, len(SIZES)) if names[k] != names[k - 1]}
        assert recorded <= {(each.lower, each.upper) for each in found}
        planted += len(steps)
    assert planted > 25


@pytest.mark.parametrize("lone", [1, 2])
def test_a_stretch_too_short_for_a_fit_is_never_a_step(lone: int) -> None:
    """At either end and in the midst: whatever it costs, no rate is told of it."""
    for start in (0, 9, len(SIZES) - lone):
        names = ["b" if start <= k < start + lone else "a" for k in range(len(SIZES))]
        times = np.array([50e-6 + 8e-9 * size for size in SIZES]) * [2.0 if name == "b" else 1.0 for name in names]
        rows = tuple(
            cast(Any, {**row, "median_s": time, "algorithm": name})
            for row, time, name in zip(series().rows, times, names, strict=True)
        )
        found = find_change_overs(replace(series(), seconds=times, rows=rows), modelled=True)
        assert {(each.kind, each.factor) for each in found} == {("switch", None)}


def test_a_switch_that_costs_nothing_is_listed_and_no_step() -> None:
    plain = series()
    rows = tuple(cast(Any, {**row, "median_s": 1e-6 + size / 1e9}) for size, row in zip(SIZES, plain.rows, strict=True))
    smooth = replace(plain, seconds=np.array([row["median_s"] for row in rows]), rows=rows)
    assert {each.kind for each in find_change_overs(smooth, modelled=True)} == {"switch"}


def test_the_switch_is_the_cause_and_the_remedy_a_key_that_the_model_has() -> None:
    found = rows_of(find_change_overs(series(), modelled=True))
    notes = protocol_findings(found, slower_than_double(series(), modelled=True), {"c000": CELL}, modelled=True)
    assert [note["rule"] for note in notes] == ["change-over", "slower-than-double"]
    for note in notes:
        assert "perhaps" not in note["what"]
        assert "knob" not in note["what"] + note["remedy"]
        assert "library" not in note["remedy"]
        assert "simulation.collectives" in note["remedy"]
    assert notes[0]["what"].endswith("the algorithm changes from ompi_binomial to ompi_linear_nb")
    assert 'simulation.algorithms = { scatter = "ompi_linear_nb" }' in notes[1]["remedy"], "8 KiB are slower than 16"
    SimulationSection.model_validate({"algorithms": {"scatter": "ompi_linear_nb"}})
    assert not [row for row in found if row["knobs"] or row["usual_knob"]]


def test_without_a_recorded_algorithm_the_fit_decides_alone() -> None:
    unknown = series(recorded=False)
    assert [each.lower for each in find_change_overs(unknown, modelled=False)] == [
        each.lower for each in find_steps_and_bends(unknown)
    ]


def test_a_step_is_told_against_the_smaller_sizes_and_with_both_times() -> None:
    """154 us to 249 us is a rise: "down by a factor of 0.861" compared with a line of which no word spoke."""
    change = rows_of(find_change_overs(series(), modelled=True))[0]
    rise = cast(
        ChangeRow, {**change, "factor": 0.861, "low": 0.852, "high": 0.870, "lower_s": 154e-6, "upper_s": 249e-6}
    )
    (note,) = protocol_findings([rise], [], {"c000": CELL})
    assert note["what"].startswith(
        "between 256 B and 512 B the time goes from 154 us to 249 us: 0.861 (0.852–0.870) times what the smaller "
        "sizes lead to expect there: "
    )
    assert "down" not in note["what"]
    assert "(" not in protocol_findings([change], [], {"c000": CELL})[0]["what"], "a model has no interval"


def test_of_a_model_every_size_slower_than_its_double_is_told_however_close() -> None:
    (told,) = slower_than_double(series(), modelled=True)
    assert told["size"] == 256 or told["size"] == 8192
    rows = list(series().rows)
    for place, value in ((13, 3.2768395e-3), (14, 3.275094e-3)):
        rows[place] = cast(Any, {**rows[place], "median_s": value})
    close = replace(series(), rows=tuple(rows))
    assert 8192 in [row["size"] for row in slower_than_double(close, modelled=True)]
    (note,) = [
        note
        for note in protocol_findings([], slower_than_double(close, modelled=True), {"c000": CELL}, modelled=True)
        if "8 KiB take" in note["what"]
    ]
    assert note["what"] == "8 KiB take 3.277 ms, 16 KiB only 3.275 ms"
