# SPDX-License-Identifier: BSD-3-Clause
"""What `weft tune` says of its own predictions, and what it does not advise."""

from dataclasses import replace

import pytest

from weft.fabric import load_fabric
from weft.tune.model import Machine
from weft.tune.rules import Choice, is_used, prediction_errors
from weft.tune.study import candidates


def measured(factor: float) -> Choice:
    """Times of all candidates that the model predicts, so many times as long as measured."""
    shape, machine = (4, 8, 512), Machine.of(load_fabric("tara"))
    times = {name: machine.seconds(name, *shape) / factor for name in candidates(8)}
    best = min(times, key=lambda name: times[name])
    return Choice("alltoall", 4, 8, 32, 512, best, times[best], times[best], times[best], 1.0, 1, times)


@pytest.mark.parametrize(("factor", "lines"), [(1.0, 0), (1.9, 0), (0.6, 0), (2.1, 1), (0.17, 1)])
def test_a_prediction_twice_as_long_or_half_as_long_as_measured_is_remarked(factor: float, lines: int) -> None:
    """166 us were predicted of what had just been simulated at 991 us."""
    assert len(prediction_errors([measured(factor)], load_fabric("tara"))) == lines


def test_the_worst_prediction_is_named() -> None:
    one = measured(1.0)
    off = replace(one, measured={**one.measured, "flat.pairwise": 6 * one.measured["flat.pairwise"]})
    (line,) = prediction_errors([one, off], load_fabric("tara"))
    assert "flat.pairwise" in line and f"1 of {2 * len(one.measured)} times" in line


@pytest.mark.parametrize(
    ("op", "algorithm", "recorded", "used"),
    [
        ("alltoall", "flat.pairwise", "ompi_pairwise", True),
        ("alltoallv", "flat.pairwise", "pairwise", True),
        ("alltoall", "flat.pairwise", "ring", True),
        ("alltoall", "bruck{r=2}", "ompi_bruck", True),
        ("alltoall", "bruck{r=4}", "ompi_bruck", False),
        ("alltoallv", "bruck{r=2}", "bruck", False),
        ("alltoall", "node.direct", "pairwise", False),
        ("alltoall", "flat.pairwise", "", False),
    ],
)
def test_the_algorithm_that_a_call_already_takes_is_not_advised(
    op: str, algorithm: str, recorded: str, used: bool
) -> None:
    assert is_used(op, algorithm, recorded) is used
