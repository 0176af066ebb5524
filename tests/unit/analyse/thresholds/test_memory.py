# SPDX-License-Identifier: BSD-3-Clause
"""Memory told apart from protocol: only where the other series surely lacks the change, not where it hides there."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from made.sizes import Curve, made_series, sizes_of, with_jump
from weft.analyse.thresholds.changes import find_steps_and_bends
from weft.analyse.thresholds.knob import mark_memory_effects, name_knob
from weft.mpi.knobs import Knobs

SEEDS = range(20)
LIMIT = 4096


def hot(size: float) -> float:
    return 1e-6 + size / 8e9


def cold(size: float) -> float:
    return 1.2e-6 + size / 4e9


def later(curve: Curve, seconds: float) -> Curve:
    """The curve with messages beyond the limit delayed: a handshake costs the same time whatever else they take."""
    return lambda size: curve(size) + (seconds if size > LIMIT else 0.0)


def slower(curve: Curve, size: int, rate: float) -> Curve:
    """The curve with the bytes beyond a size at another rate: it bends."""
    return lambda here: curve(min(here, size)) + max(0.0, here - size) / rate


def kinds(of_hot: Curve, of_cold: Curve, seed: int, noise: float = 0.01) -> set[tuple[str, str]]:
    """Cell and kind of every change-over of a pair that is measured hot and cold; the cold one with that noise."""
    rng = np.random.default_rng(seed)
    sizes = sizes_of("refined", LIMIT)
    series = [
        replace(made_series(rng, of_hot, sizes, 0.01, 5), cell="c000"),
        replace(made_series(rng, of_cold, sizes, noise, 5), cell="c001"),
    ]
    cells: Any = {
        cell: SimpleNamespace(kernel="bandwidth", nodes=2, ranks=2, ranks_per_node=1, parameters={"cache": cache})
        for cell, cache in (("c000", "hot"), ("c001", "cold"))
    }
    changes = [
        name_knob(change, each, cells[each.cell], Knobs("", {}))
        for each in series
        for change in find_steps_and_bends(each)
    ]
    return {(change["cell"], change["kind"]) for change in mark_memory_effects(changes, series, cells)}


@pytest.mark.parametrize("turned", [False, True])
def test_a_step_that_the_other_series_surely_lacks_is_the_memorys(turned: bool) -> None:
    both = (with_jump(hot, LIMIT, 1.6), cold) if not turned else (hot, with_jump(cold, LIMIT, 1.6))
    where = "c001" if turned else "c000"
    assert sum((where, "cache") in kinds(*both, seed) for seed in SEEDS) >= 19


def test_a_bend_that_the_other_series_surely_lacks_is_the_memorys() -> None:
    bent = slower(hot, 2**15, 2e9)
    assert sum(("c000", "cache") in kinds(bent, cold, seed) for seed in SEEDS) >= 19


@pytest.mark.parametrize(
    ("curves", "noise"),
    [
        pytest.param(lambda: (with_jump(hot, LIMIT, 1.3), with_jump(cold, LIMIT, 1.3)), 0.25, id="the noise hides it"),
        pytest.param(lambda: (later(hot, 1e-6), later(lambda size: 40e-6 + cold(size), 1e-6)), 0.02, id="a latency"),
        pytest.param(lambda: (later(hot, 1e-6), later(lambda size: 9 * cold(size), 1e-6)), 0.05, id="slow copies"),
        pytest.param(lambda: (with_jump(hot, LIMIT, 1.12), with_jump(cold, LIMIT, 1.09)), 0.03, id="a small step"),
    ],
)
def test_a_step_that_the_other_series_may_have_too_is_left_to_the_library(
    curves: Callable[[], tuple[Curve, Curve]], noise: float
) -> None:
    found = [kinds(*curves(), seed, noise) for seed in SEEDS]
    assert sum(("c000", "jump") in each for each in found) >= 15
    assert sum(any(kind == "cache" for _, kind in each) for each in found) <= 1
