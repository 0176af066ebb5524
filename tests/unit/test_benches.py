# SPDX-License-Identifier: BSD-3-Clause
"""Each command of bench/ that docs name finds what it imports, in an interpreter that has nothing of the tests."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.py")]
NAMED = sorted({name for text in TEXTS for name in re.findall(r"python (bench/\w+\.py)", text.read_text())})
IMPORT_ALL = """
import runpy, sys, traceback
sys.path[0] = "bench"
for bench in sys.argv[1:]:
    try:
        runpy.run_path(bench, run_name="imported")
    except BaseException:
        print(bench, traceback.format_exc())
"""


def imported(*benches: str) -> str:
    """What went wrong when one fresh interpreter imported them, one after the other."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", IMPORT_ALL, *benches]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_benches_that_docs_name_find_what_they_import(tmp_path: Path) -> None:
    assert len(NAMED) > 10
    (tmp_path / "lost.py").write_text("import nobody_has_this\n")
    said = imported(*NAMED, str(tmp_path / "lost.py"))
    assert said.startswith(f"{tmp_path}/lost.py Traceback"), said


def test_an_analysis_of_some_files_has_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An eighth of the data was within the goal for all of it."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    bench = importlib.import_module("pairs_analysis")
    (tmp_path / "samples").mkdir()
    for name in ("a", "b"):
        (tmp_path / "samples" / f"{name}.parquet").touch()
    for files, seconds, said, code in (("1", 1.0, "no verdict", 0), ("2", 1.0, "within", 0), ("2", 9.0, "OUTSIDE", 1)):
        monkeypatch.setattr(bench, "measured", lambda *_, seconds=seconds: (seconds, 0))
        monkeypatch.setattr(sys, "argv", ["bench", "--folder", str(tmp_path), "--files", files])
        assert bench.main() == code
        assert capsys.readouterr().out.splitlines()[-1].startswith(said)
