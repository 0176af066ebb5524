# SPDX-License-Identifier: BSD-3-Clause
"""What is made of the traces of a launch that ended badly."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.files.beneath import version
from weft.launch.launcher import Outcome, Slot, read_slots
from weft.plan.records import LaunchPlan
from weft.run.failure import CRASH, LAUNCH, TIMEOUT, ending, last_words, log_tail, phases, status_of, under_way


def outcome(returncode: int, timed_out: bool = False) -> Outcome:
    return Outcome("c000.l1", returncode, 3.0, timed_out, Path("x.log"))


def launch(*cells: str) -> LaunchPlan:
    return LaunchPlan(
        id="g000.l1", index=1, cells=cells, nodes=1, ranks_per_node=2, ranks=2, hosts=("here",), order="block",
        oversubscribed=False, limit_s=9.0, expected_s=1.0,
    )  # fmt: skip


def test_each_ranks_last_phase_is_read_from_its_slot(tmp_path: Path) -> None:
    path = tmp_path / "x.status"
    path.write_bytes(b"c003 C warm measuring".ljust(64, b"\0") + b"c003 C warm timeout".ljust(64, b"\0"))
    assert read_slots(path) == [Slot(0, "c003", "C", "warm", "measuring"), Slot(1, "c003", "C", "warm", "timeout")]


def test_ranks_that_never_wrote_have_no_slot(tmp_path: Path) -> None:
    path = tmp_path / "x.status"
    path.write_bytes(b"\0" * 64 + b"c003 A cold".ljust(64, b"\0") + b"\0" * 64)
    assert read_slots(path) == [Slot(1, "c003", "A", "cold", "")]


def test_a_status_file_of_an_earlier_start_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.status"
    path.write_bytes(b"c003 C warm measuring".ljust(64, b"\0"))
    os.utime(path, (1000, 1000))
    before = version(path)
    assert read_slots(path, before) == []
    os.utime(path, (5, 5))  # a clock that was set back in between
    assert len(read_slots(path, before)) == 1
    assert read_slots(tmp_path / "none") == []


@given(st.binary(max_size=400))
def test_no_status_file_is_too_odd_to_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("status") / "x.status"
    path.write_bytes(data)
    slots = read_slots(path)
    assert all(0 <= slot.rank <= len(data) // 64 for slot in slots)
    phases(slots)


@pytest.mark.parametrize(
    ("returncode", "timed_out", "state", "status"),
    [
        (143, True, "measuring", TIMEOUT),
        (124, False, "measuring", TIMEOUT),
        (1, False, "timeout", TIMEOUT),
        (137, False, "measuring", CRASH),
        (0, False, "measuring", CRASH),
        (1, False, None, LAUNCH),
        (124, False, None, TIMEOUT),
    ],
)
def test_an_ending_is_told_by_exit_code_and_slots(
    returncode: int, timed_out: bool, state: str | None, status: str
) -> None:
    slots = [Slot(0, "c000", "C", "warm", state)] if state else []
    assert status_of(outcome(returncode, timed_out), slots) == status


def test_the_cell_under_way_is_the_furthest_that_a_rank_was_at() -> None:
    slots = [Slot(0, "c001", "C", "warm", "x"), Slot(1, "c002", "A", "cold", "x")]
    assert under_way(launch("c001", "c002", "c003"), ["c001", "c002", "c003"], slots) == "c002"


def test_a_rank_that_was_at_a_finished_cell_does_not_count() -> None:
    assert under_way(launch("c001", "c002"), ["c002"], [Slot(0, "c001", "C", "warm", "x")]) == "c002"


@pytest.mark.parametrize(
    ("returncode", "words"),
    [(-9, "SIGKILL"), (137, "exit code 137 (SIGKILL)"), (139, "SIGSEGV"), (3, "exit code 3"), (-99, "signal 99")],
)
def test_endings_are_put_in_words(returncode: int, words: str) -> None:
    assert words in ending(outcome(returncode))


def test_the_tail_of_a_log_is_its_last_lines_however_long_it_is(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("begin\n" + "noise\n" * 100_000 + "\n\nlast but one\n  \nlast\n")
    assert log_tail(log, 2) == ["last but one", "last"]
    assert log_tail(tmp_path / "none") == []


def test_many_ranks_are_told_in_short() -> None:
    text = phases([Slot(rank, "c000", "C", "warm", "measuring") for rank in range(100)])
    assert "rank 3: C warm measuring and 96 more ranks" in text


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (["warning", "this host is broken", "----", "Primary job terminated, but", "a non-zero exit code.", "----"],
         "this host is broken"),
        (["this host is broken", "[node0:96] PMIX ERROR: PMIX_ERR_UNREACH in file x.c", "----", "a", "----"],
         "this host is broken"),
        (["[node0:96] PMIX ERROR: PMIX_ERR_UNREACH in file x.c at line 121"],
         "[node0:96] PMIX ERROR: PMIX_ERR_UNREACH in file x.c at line 121"),
        (["ssh: connect to host n5 port 22: No route to host", "-----", "ORTE was unable to start one or more daemons.",
          "-----"], "ssh: connect to host n5 port 22: No route to host"),
        (["----", "a warning of an adapter", "----", "----", "mpirun could not execute weft-measure", "----"],
         "mpirun could not execute weft-measure"),
        (["----", "cut off at its begin"], "cut off at its begin"),
        (["srun: error: n5: task 5: Exited with exit code 3"], "srun: error: n5: task 5: Exited with exit code 3"),
        ([], ""),
    ],
)  # fmt: skip
def test_why_ranks_did_not_start_is_no_line_of_dashes(log: list[str], words: str) -> None:
    assert last_words(log) == words
