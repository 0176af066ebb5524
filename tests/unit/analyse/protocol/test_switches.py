# SPDX-License-Identifier: BSD-3-Clause
"""Where a model records the algorithm of each size, its switches are change-overs for certain, none of them missed."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from weft.analyse.protocol.changes import ChangeOver, changes_of
from weft.analyse.protocol.findings import protocol_findings
from weft.analyse.protocol.knob import named
from weft.analyse.protocol.series import SizeSeries, make_series
from weft.analyse.protocol.slower import slower_than_double
from weft.analyse.protocol.switches import change_overs
from weft.analyse.tables.answers import ChangeRow
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
    return [named(change, series(), CELL, Knobs("SMPI", {})) for change in found]


def test_every_switch_is_found_in_its_place_with_both_algorithms() -> None:
    found = change_overs(series(), modelled=True)
    told = [(each.lower, each.upper, each.kind, each.algorithm_before, each.algorithm_after) for each in found]
    assert told == [
        (256, 512, "jump", "ompi_binomial", "ompi_linear_nb"),
        (4096, 8192, "jump", "ompi_linear_nb", "ompi_binomial"),
        (8192, 16384, "jump", "ompi_binomial", "ompi_linear_nb"),
    ]
    assert found[1].factor == pytest.approx(seconds(8192) / (13e-6 + 8192 / 41.7e6), rel=1e-6)
    assert found[2].factor == pytest.approx((13e-6 + 8192 / 41.7e6) / seconds(8192), rel=1e-6)
    assert {(each.low == each.high == each.factor, each.confidence) for each in found} == {(True, 1.0)}
    # the fit alone misses the size that has an algorithm of its own
    assert [(each.lower, each.upper) for each in changes_of(series())] != [each[:2] for each in told]


def test_a_switch_that_costs_nothing_is_listed_and_no_step() -> None:
    plain = series()
    rows = tuple(cast(Any, {**row, "median_s": 1e-6 + size / 1e9}) for size, row in zip(SIZES, plain.rows, strict=True))
    smooth = replace(plain, seconds=np.array([row["median_s"] for row in rows]), rows=rows)
    assert {each.kind for each in change_overs(smooth, modelled=True)} == {"switch"}


def test_the_switch_is_the_cause_and_the_remedy_a_key_that_the_model_has() -> None:
    found = rows_of(change_overs(series(), modelled=True))
    notes = protocol_findings(found, slower_than_double(series(), modelled=True), {"c000": CELL}, modelled=True)
    assert [note["rule"] for note in notes] == ["change-over"] * 3 + ["slower-than-double"]
    for note in notes:
        assert "perhaps" not in note["what"]
        assert "knob" not in note["what"] + note["remedy"]
        assert "library" not in note["remedy"]
        assert "simulation.collectives" in note["remedy"]
    assert notes[0]["what"].endswith("the algorithm changes from ompi_binomial to ompi_linear_nb")
    assert 'simulation.algorithms = { scatter = "ompi_linear_nb" }' in notes[1]["remedy"]
    SimulationSection.model_validate({"algorithms": {"scatter": "ompi_linear_nb"}})
    assert not [row for row in found if row["knobs"] or row["usual_knob"]]


def test_without_a_recorded_algorithm_the_fit_decides_alone() -> None:
    unknown = series(recorded=False)
    assert [each.lower for each in change_overs(unknown, modelled=False)] == [
        each.lower for each in changes_of(unknown)
    ]


def test_a_step_is_told_against_the_smaller_sizes_and_with_both_times() -> None:
    """154 us to 249 us is a rise: "down by a factor of 0.861" compared with a line of which no word spoke."""
    change = rows_of(change_overs(series(), modelled=True))[0]
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
