# SPDX-License-Identifier: BSD-3-Clause
"""The quality of a run: clean runs are A, each doubt lowers it by name, and a further one never raises it."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.analyse.doubts import RULES, quality
from weft.analyse.floor import Floor
from weft.analyse.tables.claims import Doubt, QualityRow, grade_of
from weft.fabric import load_fabric
from weft.store.folder import Look

Row = dict[str, Any]
FLOOR = Floor(
    [
        {
            "cell": "f0", "nodes": 1, "ranks_per_node": 2, "quantity": "empty", "bytes": 0, "value": 1e-6, "low": 1e-6,
            "high": 1e-6, "best": 1e-6, "unit": "s", "samples": 20,
        }
    ]
)  # fmt: skip


def row(**changes: Any) -> Row:
    """A clean warm row of a call."""
    clean: Row = {
        "cell": "c0", "call": "C", "phase": "warm", "status": "ok", "reason": "", "nodes": 1, "ranks_per_node": 2,
        "ranks": 2, "m": None, "oversubscribed": False, "samples": 100, "disturbed": 1, "lost_s": 5e-4,
        "lost_by": "delay", "discarded": 0, "launches": 4, "batch": 1,
        "median_s": 1e-3, "low_s": 0.99e-3, "high_s": 1.01e-3, "min_s": 0.98e-3, "p5_s": 0.98e-3,
        "p95_s": 1.02e-3, "p99_s": 1.03e-3, "max_s": 1.04e-3, "mean_s": 1e-3, "launch_low_s": 0.99e-3,
        "launch_high_s": 1.01e-3, "interval": "range of launches", "bound_s": 0.5e-3, "bound": "injection",
        "bound_basis": "stated",
    }  # fmt: skip
    return clean | changes


def cell(**changes: Any) -> Row:
    """A clean cell of one launch."""
    clean: Row = {
        "cell": "c0",
        "swap_in_pages": 0,
        "swap_out_pages": 0,
        "steal_ns": 0,
        "wall_ns": 10**9,
        "warnings": [],
    }
    return clean | changes


def look(busy: float) -> Look:
    return Look(when="2026-11-22T21:00:00+00:00", busy=busy, cores=2)


def of(rows: list[Row], cells: list[Row] | None = None, looks: tuple[Look, ...] = (), **how: Any) -> list[QualityRow]:
    clean: list[Any] = [cell()] * 9
    measured: Any = cells or clean
    given_rows: Any = rows
    return quality(given_rows, measured, FLOOR, 0.05, looks, crowded=frozenset({"crowded"}), **how)


#: One doubt each, as a change of a row, of a cell, or of the load.
ROWS: dict[Doubt, Row] = {
    "wrong": {"p5_s": 2e-3},
    "failed": {"status": "crash", "median_s": None},
    "bound": {"bound_s": 0.99e-3},
    "launches": {"launch_high_s": 1.3e-3},
    "floor": {"median_s": 0.9e-6, "low_s": 0.9e-6, "high_s": 0.9e-6, "bound_s": None, "min_s": 1e-7, "p5_s": 2e-7},
    "lost": {"disturbed": 11},
    "oversubscribed": {"cell": "crowded"},
    "precision": {"high_s": 1.2e-3},
}
CELLS: dict[Doubt, Row] = {
    "steal": {"steal_ns": 3 * 10**7},
    "swap": {"swap_in_pages": 1},
    "core": {"warnings": ["two ranks on one core: 0 and 1"]},
    "host": {"warnings": ["nodes share a host: 2 nodes ran on 1 host, vm"]},
    "kernel": {"warnings": ["something odd"]},
}


def test_a_clean_run_is_a() -> None:
    assert of([row()] * 20, [cell()] * 20, (look(0.1),)) == []
    assert grade_of([]) == "A"


@pytest.mark.parametrize("doubt", ROWS)
def test_one_doubtful_row_lowers_the_quality_and_is_named(doubt: Doubt) -> None:
    found = of([row()] * 19 + [row(**ROWS[doubt])])
    assert [each["doubt"] for each in found] == [doubt]
    assert grade_of(found) > "A"


@pytest.mark.parametrize("doubt", CELLS)
def test_one_doubtful_cell_lowers_the_quality_and_is_named(doubt: Doubt) -> None:
    found = of([row()], [cell()] * 19 + [cell(**CELLS[doubt])])
    assert [(each["doubt"], each["grade"]) for each in found] == [(doubt, "B")]


@pytest.mark.parametrize(("busy", "grade"), [(0.2, "A"), (0.3, "B"), (1.9, "B")])
def test_other_work_at_the_start_lowers_the_quality_by_its_share_of_the_cores(busy: float, grade: str) -> None:
    assert grade_of(of([row()], looks=(look(0.0), look(busy), look(0.1)))) == grade


def test_every_doubt_has_a_rule_and_is_planted_here() -> None:
    assert set(ROWS) | set(CELLS) | {"load", "model", "latency", "fitted", "trace"} == set(RULES)


def test_a_model_with_a_stall_for_a_latency_is_no_better_than_c() -> None:
    """A simulated tara, 166 us for 0 B on QDR InfiniBand, was of quality A, then B."""
    assert grade_of(of([row()], modelled=True, fabric=load_fabric("tara"))) == "B"
    found = of([row()], modelled=True, fabric=load_fabric("tara"), latency=138.0)
    assert (grade_of(found), found[0]["doubt"], found[0]["worst"]) == ("C", "latency", 138.0)


def test_a_replay_is_no_better_than_its_trace() -> None:
    found = of([row()], inherited=[("B", "another machine"), ("C", "ranks waited for a core: 9.0 %")])
    assert [(each["doubt"], each["grade"]) for each in found] == [("trace", "C")]


def test_launches_that_differ_by_730339_per_cent_leave_nothing_to_claim() -> None:
    """Issue 16: a bandwidth run named its eager limit while its own warning said that."""
    found = of([row()] * 40 + [row(launch_high_s=0.99e-3 * 7304.39)])
    assert grade_of(found) == "D"


@pytest.mark.parametrize(("rows", "grade"), [(900, "D"), (5000, "C")])
def test_33_rows_below_their_bound_and_649_below_the_noise_floor_are_no_basis(rows: int, grade: str) -> None:
    """Issue 16: a page of collectives said nothing of them in its headline."""
    below = [row(**ROWS["bound"])] * 33 + [row(**ROWS["floor"])] * 649
    found = of([*below, *[row()] * (rows - len(below))])
    assert grade_of(found) == grade


def test_half_of_the_rows_with_launches_apart_twice_is_d_and_by_a_third_c() -> None:
    half = [row()] * 5
    assert grade_of(of([*half, *[row(launch_high_s=1.35e-3)] * 5])) == "C"
    assert grade_of(of([*half, *[row(launch_high_s=2.5e-3)] * 5])) == "D"
    assert grade_of(of([*[row()] * 19, row(launch_high_s=11e-3)])) == "C"


def test_nothing_disturbs_a_model() -> None:
    wild = row(**ROWS["launches"], disturbed=99, interval="none", low_s=None, high_s=None)
    assert of([wild], [cell(**CELLS["steal"])], (look(2.0),), modelled=True) == []
    assert grade_of(of([row(**ROWS["bound"])], modelled=True)) == "D"


@given(
    st.lists(st.sampled_from([None, *ROWS]), min_size=1, max_size=30),
    st.sampled_from(list(ROWS)),
    st.integers(0, 29),
)
def test_a_further_doubt_never_raises_the_quality(planted: list[Doubt | None], more: Doubt, at: int) -> None:
    rows = [row(**ROWS[doubt]) if doubt else row() for doubt in planted]
    before = grade_of(of(rows))
    place = at % len(rows)
    if planted[place] is None:
        rows[place] = row(**ROWS[more])
    assert grade_of(of(rows)) >= before


@given(st.floats(1.0, 1e5), st.floats(1.0, 1e5))
def test_launches_further_apart_are_never_better(one: float, two: float) -> None:
    def graded(factor: float) -> str:
        return grade_of(of([*[row()] * 9, row(launch_high_s=0.99e-3 * factor)]))

    low, high = sorted((one, two))
    assert graded(low) <= graded(high)
    assert math.isfinite(low)


def test_more_ranks_than_cores_is_one_doubt_and_not_held_against_a_run_again() -> None:
    crowded = row(cell="crowded", launch_high_s=5e-3, disturbed=99, high_s=5e-3)
    found = of([row()] * 9 + [crowded], [cell()] * 9 + [cell(cell="crowded", **CELLS["core"])])
    assert [(each["doubt"], each["grade"]) for each in found] == [("oversubscribed", "B")]


def test_the_page_of_the_docs_has_the_shares_as_they_are() -> None:
    def share(limit: float) -> str:
        return "never" if limit == math.inf else f"{limit:.0%}".replace("%", " %") if limit else "any"

    text = (Path(__file__).parents[3] / "docs" / "dev" / "quality-rules.md").read_text()
    for doubt, rule in RULES.items():
        least = f"over {share(rule.b)}" if rule.b else "any"
        row = next(line for line in text.splitlines() if line.startswith(f"| `{doubt}` |"))
        assert row.endswith(f"| {least} | {share(rule.c)} | {share(rule.d)} |")


def test_a_model_is_no_better_than_what_was_fitted_to_its_machine() -> None:
    """Issue 28.11: simulations to which nothing was fitted were quality A."""
    for name, doubt, grade, worst in (("yellowstone", "model", "C", None), ("tara", "fitted", "B", 0.022)):
        [found] = of([row(interval="none")], modelled=True, fabric=load_fabric(name))
        assert (found["doubt"], found["grade"], found["worst"]) == (
            doubt,
            grade,
            pytest.approx(worst) if worst else None,
        )
