# SPDX-License-Identifier: BSD-3-Clause
"""Looking at the load before a run: what disturbs is named, --wait waits, and nobody waits unasked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import DataError
from weft.run import load
from weft.run.load import disturbs, in_words, look, look_first
from weft.store.folder import Look, RunFolder, add_look, read_looks


def seen(busy: float) -> Look:
    return Look(when="2026-11-22T21:00:00+00:00", busy=busy, cores=2, by=(("python", busy),))


def test_a_program_that_spins_is_seen_and_named() -> None:
    spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        found = [look(seconds=0.5) for _ in range(4)]
    finally:
        spin.kill()
        spin.wait()
    assert any(disturbs(each) for each in found)
    assert any(name.startswith("python") for each in found for name, _ in each.by)


def test_ticks_of_other_cores_are_not_counted(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(f"cpu 1 1 1 1 1 1 1 1\ncpu{core} 5 0 5 90 0 0 0 2\ncpu9999 70 0 0 0 0 0 0 0\n")
    assert load._ticks(tmp_path, {core}) == (12, {})  # pyright: ignore[reportPrivateUsage]


def test_what_disturbs_is_said_and_the_run_goes_on_where_nobody_is_asked() -> None:
    said: list[str] = []
    assert look_first(said.append, wait=False, anyway=False, looks=lambda: seen(1.5)) == seen(1.5)
    assert "1.5 of 2 cores are busy with other work (python 1.5)" in said[0]
    assert "--wait" in said[-1]


def test_a_quiet_host_is_not_talked_about() -> None:
    said: list[str] = []
    look_first(said.append, wait=True, anyway=False, looks=lambda: seen(0.1))
    assert said == []


def test_wait_waits_until_the_host_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "AGAIN_S", 0.0)
    coming, said = iter([1.5, 1.2, 0.9, 0.05, 0.03]), list[str]()
    assert look_first(said.append, wait=True, anyway=False, looks=lambda: seen(next(coming))).busy == 0.03
    assert said[-1] == "this host is quiet now, after 0 s: going on"


def test_work_that_pauses_for_a_moment_is_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "AGAIN_S", 0.0)
    coming = iter([1.5, 0.05, 1.2, 0.05, 0.04])
    assert look_first(lambda _: None, wait=True, anyway=False, looks=lambda: seen(next(coming))).busy == 0.04


def test_a_long_wait_says_every_minute_what_it_waits_for_and_ends_after_half_an_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, said = [0.0], list[str]()

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(load.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(load.time, "sleep", sleep)
    look_first(said.append, wait=True, anyway=False, looks=lambda: seen(1.5))
    busy = "1.5 of 2 cores are busy with other work (python 1.5) still"
    assert said[1:3] == ["waiting until this host is quiet, 30 min at most; Ctrl-C stops", f"{busy}: waiting"]
    assert said.count(f"{busy}: waiting") == 30
    assert said[-1] == f"{busy}, after 30 min 5 s: going on"
    assert now[0] == 1805.0


def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "AGAIN_S", 0.0)
    monkeypatch.setattr(load, "PATIENCE_S", 0.0)
    said: list[str] = []
    assert look_first(said.append, wait=True, anyway=False, looks=lambda: seen(1.5)).busy == 1.5
    assert said[-1].endswith("still, after 0 s: going on")


def test_looks_are_kept_in_the_run_and_a_torn_file_is_told(tmp_path: Path) -> None:
    assert read_looks(tmp_path) == ()
    add_look(tmp_path, seen(1.0))
    add_look(tmp_path, seen(0.5))
    assert read_looks(tmp_path) == (seen(1.0), seen(0.5))
    RunFolder(tmp_path).load.write_text('{"schema": "weft-load/1", "looks": [{"busy": -1}]}')
    with pytest.raises(DataError, match="torn"):
        read_looks(tmp_path)


def test_words_without_a_culprit() -> None:
    assert in_words(Look(when="", busy=0.4, cores=2)) == "0.4 of 2 cores are busy with other work"
