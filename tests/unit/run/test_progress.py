# SPDX-License-Identifier: BSD-3-Clause
"""How a run tells of itself."""

import io

import pytest

from weft.run.progress import Left, Lines, Live, Progress, in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (45.4, "45 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (0.25, "250 ms")],
)
def test_durations_are_told_as_people_do(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_plain_lines_tell_the_start_failures_and_the_end_only() -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.start(3, 1, 90.0)
    lines.current("c001")
    lines.settled("c001", "ok", 2, 40.0)
    lines.settled("c002: hung", "timeout", 3, 0.0)
    lines.stop()
    told = out.getvalue().splitlines()
    assert told[0] == "3 cells to measure, 1 of them already finished; about 1 min 30 s"
    assert told[1] == "timeout: c002: hung"
    assert told[2].startswith("3/3 cells in ")
    assert len(told) == 3


def test_plain_lines_come_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = io.StringIO()
    lines = Lines(out)
    lines.start(100, 0, 200.0)
    for done in range(1, 31):
        now[0] += 1.0
        lines.settled(f"c{done:03}", "ok", done, 200.0 - done)
    told = out.getvalue().splitlines()
    assert told[1:] == [
        "10/100 cells in 10 s, about 3 min 10 s left; last: c010",
        "20/100 cells in 20 s, about 3 min 0 s left; last: c020",
        "30/100 cells in 30 s, about 2 min 50 s left; last: c030",
    ]


def test_the_bar_ends_where_the_run_does() -> None:
    live = Live()
    live.start(2, 0, 5.0)
    live.current("exchange [not markup]")
    live.settled("c000 [red]: why", "crash", 1, 2.0)
    live.settled("c001", "ok", 2, 0.0)
    assert live.bar.tasks[0].finished
    live.stop()
    Progress().say("nothing")


def test_the_time_left_runs_down_while_a_launch_runs_and_promises_no_least(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    live = Live()
    live.start(2, 0, 16.0)
    told: list[str] = []
    for now[0] in (4.0, 10.0, 16.0, 25.5, 40.0):
        told += [str(live.bar.tasks[0].fields["left"])]
        live.glimpse("C: 43.3 ms", "") if now[0] >= 10 else None
    live.settled("c000", "ok", 1, 0.0)
    live.stop()
    # its job began to run after 10 s
    assert told == ["about 16 s left", "about 16 s left", "about 10 s left", "soon done", "longer than expected"]
    assert str(Left(90.0)) == "about 1 min 30 s left"


def test_an_unknown_time_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = io.StringIO()
    lines = Lines(out)
    lines.start(32, 0, None)
    now[0] += 60
    lines.settled("c000", "ok", 1, None)
    assert out.getvalue().splitlines() == ["32 cells to measure", "1/32 cells in 1 min 0 s; last: c000"]
    assert str(Left(None)) == ""
