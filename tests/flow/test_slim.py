# SPDX-License-Identifier: BSD-3-Clause
"""What measures needs nothing of what makes tables and pages; and says so where somebody asks for them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from made.kept import copy_of
from made.quick_study import quick_study
from weft.cli.app import main
from weft.extras import REPORT, is_of_report, missing_report, pip_install

ROOT = Path(__file__).resolve().parents[2]
SLIM = """
import sys
BLOCKED = {blocked!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
from made.fake_kernel import FakeLauncher
import weft.run.many as many
from weft.cli.app import main
many.launcher_for = lambda *_, **__: FakeLauncher()
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.toml"
    path.write_text(quick_study("slim", 2))
    return path


def slim(*words: str, blocked: tuple[str, ...] = REPORT) -> subprocess.CompletedProcess[str]:
    """Weft with fake ranks, where some modules cannot be imported."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    return subprocess.run(
        [sys.executable, "-c", SLIM.format(blocked=blocked), *words],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def test_a_study_is_planned_and_measured_without_them_and_reported_elsewhere(study: Path) -> None:
    planned = slim("plan", str(study))
    assert planned.returncode == 0, planned.stderr
    ran = slim("run", str(study), "--into", "run", "--anyway")
    assert ran.returncode == 0, ran.stderr
    assert "report: none: tables and pages need altair, duckdb, ibis, pyarrow, pyarrow_hotfix" in ran.stdout
    assert f"-> {pip_install('report')}, or copy the run folder" in ran.stdout
    assert f"then: weft report {study.parent}/run\n" in ran.stdout
    assert not Path("run/tables").exists()
    assert main(["report", "run"]) == 0  # the test's own Weft has all parts
    assert Path("run/report.html").stat().st_size > 10_000


def test_a_verb_that_needs_them_says_what_is_missing(study: Path) -> None:
    assert slim("run", str(study), "--into", "run", "--anyway").returncode == 0
    for words in (["show", "run"], ["report", "run"], ["compare", "run", "run"], ["why", "run"]):
        asked = slim(*words)
        assert asked.returncode == 2
        assert asked.stderr.startswith("error: tables and pages need altair, duckdb,")
        assert f"-> {pip_install('report')}" in asked.stderr
        assert "Traceback" not in asked.stderr


def test_knobs_are_not_moved_where_no_tables_can_be_made(study: Path) -> None:
    asked = slim("run", str(study), "--into", "run", "--confirm")
    assert asked.returncode == 1
    assert "--confirm judges by the tables of the run" in asked.stderr
    assert not Path("run").exists(), "it was refused before anything was measured"


def test_one_missing_module_is_enough_and_is_named_alone(study: Path) -> None:
    ran = slim("run", str(study), "--into", "run", "--anyway", blocked=("altair",))
    assert ran.returncode == 0, ran.stderr
    assert "tables and pages need altair: not installed here" in ran.stdout


def test_a_page_needs_no_drawer_of_files_and_files_name_it(study: Path, tmp_path: Path) -> None:
    kept = copy_of("exchange", tmp_path)
    assert slim("report", str(kept), blocked=("vl_convert",)).returncode == 0
    assert "vegaEmbed" in (kept / "report.html").read_text()
    (kept / "report.html").unlink()
    for words in (
        ("report", str(kept), "--figures", "svg", "pdf"),
        ("compare", str(kept), str(kept), "-o", "both.html", "--figures", "pdf"),  # 1 is a gate that failed
        ("fabric", "show", "tara", "-o", "tara.html", "-o", "tara.PNG"),
        ("route", "show", "tara", "-o", "tara.svg"),
    ):
        asked = slim(*words, blocked=("vl_convert",))
        assert (asked.returncode, asked.stdout, asked.stderr.splitlines()[0]) == (
            2, "", "error: figures as SVG, PDF or PNG need vl-convert: not installed here"
        )  # fmt: skip
        assert pip_install("figures") in asked.stderr
    assert [*Path().glob("*.html"), *kept.glob("report.html")] == [], "refused before any work"
    assert slim("fabric", "show", "tara", "-o", "tara.html", blocked=("vl_convert",)).returncode == 0


def test_other_missing_modules_are_not_taken_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ModuleNotFoundError("No module named 'weft.repotr'", name="weft.repotr")

    monkeypatch.setattr("weft.run.refresh.refresh", broken)
    with pytest.raises(ModuleNotFoundError, match="repotr"):
        main(["show", "run"])


def test_here_nothing_is_missing_and_a_part_of_a_module_is_known() -> None:
    assert missing_report() == ()
    assert is_of_report("pyarrow.parquet")
    assert not is_of_report("weft.report")
    assert not is_of_report(None)
