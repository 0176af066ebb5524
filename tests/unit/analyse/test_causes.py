# SPDX-License-Identifier: BSD-3-Clause
"""What most of a call's time goes to: counters before the breakdown, the breakdown before the bound."""

from typing import Any

import pytest

from weft.analyse.links import find_causes

Row = dict[str, Any]


def call(**changes: Any) -> Row:
    """A warm row of the main call."""
    clean: Row = {
        "cell": "c0", "call": "C", "phase": "warm", "status": "ok", "nodes": 1, "ranks": 2, "m": None,
        "median_s": 1.0, "min_s": 1.0, "bound_s": 0.004, "bound": "memory copy",
    }  # fmt: skip
    return clean | changes


def breakdown(*steps: tuple[str, float, float | None], cell: str = "c0") -> list[Row]:
    """Steps with their seconds and the lower end of their factor."""
    return [
        {"cell": cell, "call": "C", "step": step, "name": "memory copy" if step == "hardware" else "",
         "seconds": seconds, "effect": "floor" if low is None else "adds" if low > 1 else "none"}
        for step, seconds, low in steps
    ]  # fmt: skip


def cause(row: Row, steps: list[Row] | None = None, counted: list[Row] | None = None) -> Row:
    given: Any = ([row], steps or [], counted or [])
    (found,) = find_causes(*given, "C")
    return dict(found)


def test_a_bound_that_explains_little_leaves_the_cause_unknown() -> None:
    found = cause(call())
    assert (found["kind"], found["name"]) == ("unknown", "memory copy")


def test_a_bound_that_explains_most_is_the_cause() -> None:
    found = cause(call(bound_s=0.8))
    assert (found["kind"], found["name"], found["share"]) == ("bound", "memory copy", 0.8)


def test_the_largest_step_of_the_breakdown_is_the_cause() -> None:
    steps = breakdown(
        ("hardware", 0.1, None), ("messages", 0.2, 1.9), ("contention", 0.9, 4.0), ("algorithm", 1.0, 1.05)
    )
    found = cause(call(), steps)
    assert found["kind"] == "contention"
    assert found["share"] == pytest.approx(0.7)


def test_a_step_that_may_add_nothing_is_no_cause() -> None:
    steps = breakdown(("hardware", 0.2, None), ("messages", 0.3, 1.2), ("contention", 1.0, 0.7))
    assert cause(call(), steps)["kind"] == "hardware"


def test_messages_that_take_longer_alone_than_the_whole_call_are_not_most_of_it() -> None:
    steps = breakdown(
        ("hardware", 0.8, None), ("messages", 1.8, 2.0), ("contention", 0.95, 0.5), ("algorithm", 1.0, 0.9)
    )
    found = cause(call(), steps)
    assert (found["kind"], found["share"]) == ("hardware", pytest.approx(0.8))


def test_a_breakdown_of_another_cell_explains_nothing() -> None:
    steps = breakdown(("hardware", 0.1, None), ("contention", 0.9, 4.0), cell="c1")
    assert cause(call(), steps)["kind"] == "unknown"


def test_a_link_that_was_counted_as_busy_comes_first_and_an_idle_one_does_not() -> None:
    steps = breakdown(("hardware", 0.1, None), ("contention", 0.9, 4.0))
    counted: Row = {"cell": "c0", "name": "link leaf0 up", "busiest": {"share": 0.85}}
    found = cause(call(), steps, [counted])
    assert (found["kind"], found["name"], found["share"]) == ("link", "link leaf0 up", 0.85)
    assert cause(call(), steps, [counted | {"name": ""}])["kind"] == "contention"


def test_a_link_that_was_busy_for_a_third_of_the_time_is_not_the_cause_where_late_ranks_took_the_rest() -> None:
    steps = breakdown(("hardware", 0.25, None), ("messages", 0.3, 1.1), ("algorithm", 0.35, 1.1), ("arrival", 1.0, 2.5))
    counted: Row = {"cell": "c0", "name": "link leaf0 up", "busiest": {"share": 0.3}}
    assert cause(call(), steps, [counted])["kind"] == "arrival"
    # the hardware is that very link, a step that took less, and a link that was busy for most of the time
    assert cause(call(), breakdown(("hardware", 0.6, None), ("messages", 1.0, 1.5)), [counted])["kind"] == "link"
    less = breakdown(
        ("hardware", 0.2, None), ("messages", 0.4, 1.9), ("contention", 0.65, 1.5), ("algorithm", 1.0, 0.9)
    )
    assert cause(call(), less, [counted])["kind"] == "link"
    assert cause(call(), steps, [counted | {"busiest": {"share": 0.55}}])["kind"] == "link"
