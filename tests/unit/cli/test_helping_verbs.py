# SPDX-License-Identifier: BSD-3-Clause
"""Verbs that help with the others: list, help, completion, -V; show and report take the latest run."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from made.kept import copy_of
from weft import __version__
from weft.cli.app import VERBS, main
from weft.cli.fabric import app as fabric_app
from weft.errors import DataError
from weft.files.shipped import shipped
from weft.run.folder import latest_run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands are typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(what: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert main(["list", what, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("what", "key"), [("studies", "kernel"), ("fabrics", "kind")])
def test_every_shipped_file_is_listed_and_those_of_this_folder(
    what: str, key: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text(f'name = "m"\n{key} = "x"\ntitle = "Mine \\u001b[2J"\n')
    (here / "pyproject.toml").write_text("[project]\n")
    (here / "torn.toml").write_text("[[[")
    rows = listed(what, capsys)
    assert [row["name"] for row in rows] == [*sorted(path.stem for path in shipped(what).glob("*.toml")), "mine.toml"]
    assert rows[-1]["title"].startswith("Mine")
    assert "\x1b" not in rows[-1]["title"]
    assert main(["list", what]) == 0
    assert "mine.toml" in capsys.readouterr().out


def test_another_folder_is_listed_by_the_names_that_a_command_takes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "other").mkdir()
    (here / "other" / "mine.toml").write_text('kernel = "exchange"\ntitle = "Mine"\n')
    assert main(["list", "studies", "other", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1]["name"] == "other/mine.toml"
    run_at("first", 60).rename(here / "other" / "first")
    assert listed("runs", capsys) == []
    assert main(["list", "runs", "other", "--format", "json"]) == 0
    assert [row["run"] for row in json.loads(capsys.readouterr().out)] == ["other/first"]
    assert main(["list", "runs", "none"]) == 1
    assert "none is no folder" in capsys.readouterr().err


def run_at(name: str, age_s: float) -> Path:
    """A kept run under runs/, last written so many seconds ago."""
    path = Path("runs") / name
    path.parent.mkdir(exist_ok=True)
    copy_of("exchange", Path.cwd()).rename(path)
    now = (path / "weft.json").stat().st_mtime
    for each in (path / "weft.json", path / "cells"):
        os.utime(each, (now - age_s, now - age_s))
    return path


def test_runs_are_listed_latest_first_and_show_takes_the_latest(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed("runs", capsys) == []
    old, new = run_at("old", 7200), run_at("new", 60)
    rows = listed("runs", capsys)
    assert [row["run"] for row in rows] == [str(new), str(old)]
    assert rows[0]["study"]
    assert latest_run() == new
    assert main(["show", "--format", "json"]) == 0
    taken = capsys.readouterr()
    assert main(["show", str(new), "--format", "json"]) == 0
    assert taken.out == capsys.readouterr().out
    assert f"the latest run: {new}" in taken.err


def test_report_takes_the_latest_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_at("old", 7200)
    new = run_at("new", 60)
    assert main(["report", "-o", "page.html"]) == 0
    assert f"the latest run: {new}" in capsys.readouterr().err
    assert "<article" in (here / "page.html").read_text()


def test_a_run_in_which_knobs_were_moved_is_a_part_of_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_at("one", 7200)
    moved = run / "knobs"
    moved.mkdir()
    (moved / "weft.json").write_text((run / "weft.json").read_text())  # written last
    assert latest_run() == run
    assert [row["run"] for row in listed("runs", capsys)] == [str(run)]


def test_without_a_run_show_and_report_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("show", "report"):
        assert main([verb]) == 1
        assert "there is no run below" in capsys.readouterr().err
    with pytest.raises(DataError, match="there is no run"):
        latest_run()


def test_help_names_a_verb_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    for words, same in (
        (["help"], ["--help"]),
        (["help", "plan"], ["plan", "--help"]),
        (["help", "fabric", "check"], ["fabric", "check", "--help"]),
    ):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert main(same) == 0
        assert said == capsys.readouterr().out
    assert main(["help", "pln"]) == 2
    assert "did you mean plan?" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_told(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_bash_completes_verbs_and_options(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    (here / "weft.bash").write_text(capsys.readouterr().out)
    ask = 'source weft.bash; COMP_WORDS=(weft {}); COMP_CWORD={}; _weft 2>/dev/null; printf "%s\\n" "${{COMPREPLY[@]}}"'
    for words, at, wanted in (("whati", 1, "whatif"), ("plan --o", 2, "--on")):
        done = subprocess.run(["bash", "-c", ask.format(words, at)], capture_output=True, text=True, check=False)
        assert wanted in done.stdout.split(), done
    for shell in ("zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert "whatif" in capsys.readouterr().out


def test_fabric_alone_lists_all_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fabric"])
    shown = capsys.readouterr().out
    verbs = [name for name in fabric_app if not name.startswith("-")]
    assert {"init", "list", "help", "completion"} <= set(VERBS)
    assert len(verbs) >= 8
    assert [name for name in verbs if f" {name} " not in shown] == []
