# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose names begin alike, folders of runs, and paths that are no run."""

import json
from pathlib import Path

import pytest

from weft.cli.app import main

NAME = "contention-on-a-cluster-with-a-long-name-and-a-partition-measured-in-november-{}"


@pytest.fixture
def several(tmp_path: Path) -> Path:
    for number in (1, 2):
        run = tmp_path / "all" / NAME.format(number)
        run.mkdir(parents=True)
        (run / "weft.json").write_text(json.dumps({"study": "contention", "fabric": "a-cluster", "created": "2026"}))
    return tmp_path / "all"


@pytest.mark.parametrize("words", [["list", "runs"], ["show"]])
def test_two_runs_that_begin_alike_are_told_apart_in_a_narrow_terminal(
    several: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.chdir(several.parent)
    assert main([*words, "all"]) == 0
    printed = "".join(line.split("  ")[0].strip() for line in capsys.readouterr().out.splitlines())
    assert all(NAME.format(number) in printed.replace(" ", "") for number in (1, 2))


def test_a_file_in_place_of_a_run_folder_is_refused_before_anything_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.run.many.launcher_for", lambda *_, **__: pytest.fail("a launcher was made"))
    (tmp_path / "file").write_text("mine")
    assert main(["run", "contention", "--on", "local", "--into", str(tmp_path / "file"), "--anyway"]) == 2
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_is_no_trace(several: Path) -> None:
    run = next(several.iterdir())
    (run / "weft.json").write_text(json.dumps({"schema": "weft-run/1"}))
    assert main(["trace", "show", str(run)]) == 2
