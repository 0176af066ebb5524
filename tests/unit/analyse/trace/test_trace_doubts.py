# SPDX-License-Identifier: BSD-3-Clause
"""What disturbed a traced run is weighed, and lowers its confidence and that of its replays."""

from pathlib import Path
from typing import Any

import pytest

from made.traces import MadeRank
from weft.analyse.tables.claims import grade_of
from weft.analyse.trace.claims import trace_doubts
from weft.fabric import load_fabric
from weft.host import parse_cpus
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, TraceRankRow
from weft.trace.replay import inherited_confidence, is_traced_machine

S = 1_000_000_000


def rank(number: int, **changes: Any) -> TraceRankRow:
    """A rank on a core of its own that nobody else used for 10 s."""
    given: dict[str, Any] = {
        "rank": number, "node": 0, "host": "n0", "library": "", "events": 1000, "summarised": 0, "begin_ns": 0,
        "end_ns": 10 * S, "clock_error_ns": 0, "clock_shared": True, "cost_ns": 100.0, "closed": True, "missing": "",
        "cpus": str(number), "host_cpus": 8, "load": 0.0, "looked_ns": 10 * S, "lost_ns": 0, "own_ns": 10 * S,
        "busy_ns": 10 * S, "steal_ns": 0, **changes,
    }  # fmt: skip
    return given  # type: ignore[return-value]


def found(*rows: TraceRankRow) -> list[tuple[str, str]]:
    return [(row["doubt"], row["grade"]) for row in trace_doubts(rows)]


def test_ranks_on_cores_of_their_own_that_lost_nothing_leave_no_doubt() -> None:
    assert found(*map(rank, range(4))) == []
    assert grade_of([]) == "A"


def test_ranks_that_share_cores_by_plan_are_one_doubt_and_their_own_turns_are_none() -> None:
    """They yield to each other: half of their time each is runnable without a core."""
    shared = {"cpus": "0-1", "host_cpus": 2, "lost_ns": 5 * S, "own_ns": 5 * S, "busy_ns": 20 * S}
    assert found(*(rank(each, **shared) for each in range(4))) == [("oversubscribed", "D")]
    (row,) = trace_doubts([rank(each, **shared) for each in range(4)])
    assert row["where"] == "4 ranks on 2 cores of n0"


def test_others_on_shared_cores_are_weighed_by_their_processor_time() -> None:
    shared = {"cpus": "0-1", "host_cpus": 2, "lost_ns": 6 * S, "own_ns": 3 * S, "busy_ns": 20 * S}
    assert found(*(rank(each, **shared) for each in range(4))) == [("oversubscribed", "D"), ("load", "C")]  # 40 %


@pytest.mark.parametrize(("share", "grade"), [(0.009, ""), (0.02, "B"), (0.1, "C"), (0.3, "D")])
def test_time_without_a_core_is_weighed_by_its_share(share: float, grade: str) -> None:
    rows = [rank(each, lost_ns=round(share * 10 * S)) for each in range(4)]
    assert found(*rows) == ([("lost", grade)] if grade else [])


def test_two_ranks_bound_to_one_core_of_many_are_told_from_a_full_host() -> None:
    assert found(rank(0, cpus="0"), rank(1, cpus="0", busy_ns=20 * S), rank(2)) == [("core", "D")]


def test_a_rank_on_another_host_shares_no_core() -> None:
    assert found(rank(0, cpus="0"), rank(1, cpus="0", host="n1")) == []


def test_what_was_not_measured_is_said_and_costs_a_grade() -> None:
    unknown = dict.fromkeys(("looked_ns", "lost_ns", "own_ns", "busy_ns", "steal_ns"))
    assert found(*(rank(each, cpus="", **unknown) for each in range(2))) == [("unmeasured", "B")]


def test_processors_are_read_from_their_list() -> None:
    assert parse_cpus("0-2,8") == {0, 1, 2, 8}
    assert parse_cpus("4") == {4}
    assert not any(map(parse_cpus, ("", "x-3", "7-2")))


def replayed_on(tmp_path: Path, name: str, **head: Any) -> tuple[bool, str, str]:
    """Whether that is the traced machine, and the best confidence of a replay there."""
    folder = TraceFolder(tmp_path)
    for each in range(2):
        made = MadeRank(each, 2, cpus=str(each).encode(), host_cpus=8, opened_ns=1, looked_ns=10 * S + 1, **head)
        made.call("MPI_Barrier", 1, 10 * S).write(folder.raw)
    convert_trace(folder)
    assert TRACE_RANKS.read(tmp_path)[1]["cpus"] == "1"
    fabric = load_fabric(name)
    return (is_traced_machine(folder, fabric), *inherited_confidence(folder, [fabric]))


def test_a_replay_on_another_machine_is_never_a(tmp_path: Path) -> None:
    there, grade, because = replayed_on(tmp_path, "tara", own_ns=10 * S, busy_ns=10 * S, host=b"elsewhere")
    assert (there, grade) == (False, "B")
    assert "another machine" in because


def test_a_replay_on_the_traced_machine_may_be_a(tmp_path: Path) -> None:
    assert replayed_on(tmp_path, "tara", own_ns=10 * S, busy_ns=10 * S, host=b"n37")[:2] == (True, "A")


def test_a_replay_of_a_disturbed_trace_has_its_confidence(tmp_path: Path) -> None:
    _, grade, because = replayed_on(tmp_path, "tara", lost_ns=2 * S, own_ns=8 * S, busy_ns=10 * S, host=b"n37")
    assert grade == "C"
    assert "20 %" in because
