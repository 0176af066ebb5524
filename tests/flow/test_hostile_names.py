# SPDX-License-Identifier: BSD-3-Clause
"""Hostile names and words, from a run folder or a dump to every medium, by the verbs a user types."""

import csv
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from made.kept import copy_of, kept_runs
from weft.cli.app import main

EVIL = (
    "=cmd|' /C calc'!A1 [bold red]x[/] \x1b[31mred\x1b]0;owned\x07 \x9b2J \u202e <script>alert(1)</script> "
    "\\input{/etc/passwd}%$ | `id` \n+1"
)
OBEYED = re.compile("\x1b\\[31m|\x1b\\]|\x9b|\x07|\u202e|\r")


class Scripts(HTMLParser):
    """Collects what a browser would run."""

    def __init__(self) -> None:
        super().__init__()
        self.run: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside = tag == "script" and dict(attrs).get("type", "text/javascript") in ("text/javascript", "module")
        self.run += [value for name, value in attrs if name.startswith("on") or str(value).startswith("javascript:")]

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.run.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def scripts_of(page: str) -> list[str]:
    """What a browser would run of a page."""
    found = Scripts()
    found.feed(page)
    return found.run


def spoiled(value: Any, keys: frozenset[str]) -> Any:
    """A tree of JSON with every text under the keys replaced by the hostile one."""
    if isinstance(value, list):
        return [spoiled(part, keys) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: (EVIL if isinstance(part, str) else [EVIL] if isinstance(part, list) else spoiled(part, keys))
        if key in keys
        else spoiled(part, keys)
        for key, part in value.items()
    }


@pytest.fixture(params=kept_runs())
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A kept run with hostile words wherever its maker had a free hand."""
    path = copy_of(request.param, tmp_path)
    words = {
        "plan.json": {"title", "notes", "reason", "formula", "limited_by"},
        "launches/*.l?.json": {"host", "mpi_library", "processor", "cpus", "cache", "settings"},
        "cells/*.json": {"reason", "warnings", "detail", "method"},
        "weft.json": {"mpi", "mpi_library", "mpicxx", "commit", "created", "study", "fabric"},
    }
    for pattern, keys in words.items():
        for file in path.glob(pattern):
            file.write_text(json.dumps(spoiled(json.loads(file.read_text()), frozenset(keys))))
    return path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(words) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    return said.out + said.err


def test_hostile_words_of_a_run_are_plain_text_everywhere(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = printed(capsys, "show", str(run))
    assert "\x1b[" in text, "a terminal in colours"
    assert "[bold red]x[/]" in text
    assert not OBEYED.search(text)
    for form in ("md", "latex", "json", "csv"):
        out = printed(capsys, "show", str(run), "--format", form)
        assert not OBEYED.search(out), form
        if form == "md":
            assert "<script" not in out
        elif form == "latex":
            assert "\\input{" not in out
            assert all(line[0] in "%\\" or "&" in line or not line for line in out.split("\n") if line), "one line each"
        elif form == "csv":
            fields = [field for row in csv.reader(io.StringIO(out)) for field in row]
            assert not [field for field in fields if field[:1] in "=@\t\r" and field]
    printed(capsys, "report", str(run))
    page = (run / "report.html").read_text()
    assert not OBEYED.search(page)
    assert not [script for script in scripts_of(page) if "alert(1)" in script]
    assert "alert(1)" in page, "it stands there as text"


def test_hostile_words_of_two_runs_compared_are_plain_text(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    for form in ("text", "md", "csv"):
        assert not OBEYED.search(printed(capsys, "compare", str(run), str(other), "--format", form)), form
    page = tmp_path / "page.html"
    printed(capsys, "compare", str(run), str(other), "-o", str(page))
    assert not [script for script in scripts_of(page.read_text()) if "alert(1)" in script]


LEAF = "[red]a[/] \x1b[31m=1 <b>\x07</script><script>alert(1)</script>"
CABLES = f"a,b,rate\n{LEAF},n1,4xEDR\n{LEAF},n2,4xEDR\n{LEAF},=spine,4xEDR\nleaf1,n3,4xEDR\nleaf1,=spine,4xEDR\n"


def test_names_of_switches_in_a_dump_are_plain_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    dump, fabric = tmp_path / "cables.csv", str(tmp_path / "f.toml")
    dump.write_text(CABLES)
    assert not OBEYED.search(printed(capsys, "fabric", "import", str(dump), "-o", fabric))
    shown = printed(capsys, "fabric", "show", fabric)
    assert not OBEYED.search(shown)
    assert "[red]a[/]" in shown
    for verb in (["fabric", "check", fabric], ["fabric", "show", fabric, "--format", "json"]):
        main(verb)
        said = capsys.readouterr()
        assert not OBEYED.search(said.out + said.err)
    printed(capsys, "fabric", "show", fabric, "-o", str(tmp_path / "f.svg"), "-o", str(tmp_path / "f.html"))
    assert not OBEYED.search((tmp_path / "f.svg").read_text() + (tmp_path / "f.html").read_text())
    assert "<b>" not in (tmp_path / "f.svg").read_text()
    assert not [script for script in scripts_of((tmp_path / "f.html").read_text()) if script.startswith("alert(1)")]
    assert "alert(1)" in (tmp_path / "f.html").read_text()


def test_an_error_with_a_hostile_path_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "/tmp/\x1b]0;owned\x07[red]x"]) == 2
    said = capsys.readouterr().err
    assert not OBEYED.search(said)
    assert "[red]x" in said
