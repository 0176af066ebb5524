# SPDX-License-Identifier: BSD-3-Clause
"""Where a run's own warnings contradict a time, nothing is advised for it (METHOD 20)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from made.answers import found_in
from made.kept import copy_of, make_tables_of
from weft.analyse.make import Found, write_answers
from weft.analyse.tables.answers import FINDINGS
from weft.analyse.tables.breakdown import REMEDIES, TurnRow
from weft.analyse.tables.times import CallRow
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found, CallRow]:
    """A kept run with a breakdown at one call: the library's algorithm takes twice the time of plain rounds."""
    root = copy_of("exchange", tmp_path_factory.mktemp("runs"))
    make_tables_of(root)
    found = found_in(root, plan_of(RunFolder(root)))
    call = next(row for row in found.calls if (row["call"], row["phase"], row["ranks"]) == ("C", "warm", 2))
    seconds = call["median_s"] or 0.0
    turns = [
        TurnRow(
            cell=call["cell"], launch=launch, call="C", step=step, place=0, seconds=share * seconds,
            total_s=share * seconds, mean_s=seconds, samples=9,
        )
        for launch in (1, 2, 3, 4)
        for step, share in {"within": 0.4, "shift": 0.5, "whole": 1.0}.items()
    ]  # fmt: skip
    return root, replace(found, turns=turns), call


def advised(explained: tuple[Path, Found, CallRow], plant: Callable[[CallRow], None]) -> tuple[set[str], set[str]]:
    """What would help the call once something is planted in its row, and which rules warn of it."""
    root, found, call = explained
    planted = call.copy()
    plant(planted)
    calls = [planted if row is call else row for row in found.calls]
    write_answers(root, replace(found, calls=calls))
    rules = {row["rule"] for row in FINDINGS.read(root) if row["where"].startswith("C warm, N = 1, p = 2,")}
    return {row["id"] for row in REMEDIES.read(root) if row["call"] == "C"}, rules


def test_a_time_that_nothing_contradicts_is_advised_on(explained: tuple[Path, Found, CallRow]) -> None:
    remedies, rules = advised(explained, lambda row: None)
    assert "plain-rounds" in remedies
    assert not rules & {"self-check", "below-floor"}


def out_of_order(row: CallRow) -> None:
    row["p95_s"] = 0.1 * (row["p95_s"] or 0.0)


def faster_than_its_bound(row: CallRow) -> None:
    row["bound_s"], row["bound"] = 1e3 * (row["median_s"] or 0.0), "memory copy"


def below_the_noise_floor(row: CallRow) -> None:
    row["median_s"] = row["low_s"] = row["p5_s"] = row["min_s"] = 1e-12


@pytest.mark.parametrize(
    ("plant", "rule"),
    [(out_of_order, "self-check"), (faster_than_its_bound, "self-check"), (below_the_noise_floor, "below-floor")],
)
def test_nothing_is_advised_for_a_time_that_the_runs_own_warnings_contradict(
    explained: tuple[Path, Found, CallRow], plant: Callable[[CallRow], None], rule: str
) -> None:
    """Three runs that contradict themselves: each said what to do about the time that it doubted."""
    remedies, rules = advised(explained, plant)
    assert rule in rules
    assert remedies == set()
