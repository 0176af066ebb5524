# SPDX-License-Identifier: BSD-3-Clause
"""``make test``: every part runs, whatever became of the others; each says how long it took; nothing passes unseen."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAMPS = ("installed", "tested")


def make_test(tmp_path: Path, python: str, docs: str = "true") -> subprocess.CompletedProcess[str]:
    """Run the recipe with a made environment whose Python tells what it was asked to run."""
    for name in ("venv", "venv-mpich"):
        (tmp_path / name / "bin").mkdir(parents=True)
        for stamp in STAMPS:
            (tmp_path / name / stamp).touch()
    for name, text in (("python", python), ("pip", "true"), ("sphinx-build", docs)):
        program = tmp_path / "venv" / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    return subprocess.run(
        ["make", "--no-print-directory", "test", f"VENV={tmp_path}/venv", "PYTHON=true"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here: apt install make")


@needs_make
def test_a_native_suite_that_fails_keeps_nobody_from_running_and_fails_the_whole(tmp_path: Path) -> None:
    done = make_test(tmp_path, 'echo "asked for $*"; test "$1" != tests/native.py')
    assert "asked for -m pytest" in done.stdout
    assert "make test: native-tests took" in done.stdout
    assert "s, FAILED\nmake test: python-tests took" in done.stdout
    assert done.returncode != 0


@needs_make
def test_where_all_goes_well_each_part_says_how_long_it_took(tmp_path: Path) -> None:
    done = make_test(tmp_path, "exit 0")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("make test: ")]
    assert [line.split()[2] for line in told] == ["provision", "native-tests", "python-tests", "docs"]
    assert all(line.endswith(" s, ok") for line in told)


@needs_make
def test_python_tests_that_fail_fail_the_whole(tmp_path: Path) -> None:
    done = make_test(tmp_path, 'test "$1" != -m')
    assert "make test: python-tests took" in done.stdout
    assert done.returncode != 0


@needs_make
@pytest.mark.parametrize("failing", ["--numprocesses", "tests/mpi"])
def test_rooms_two_at_a_time_and_rooms_of_ranks_both_run_whichever_fails(tmp_path: Path, failing: str) -> None:
    done = make_test(tmp_path, f'echo "asked for $*"; case "$*" in *" {failing} "*) exit 1;; esac')
    assert "asked for -m pytest --numprocesses 2" in done.stdout
    assert "asked for -m pytest tests/mpi tests/virtual tests/slurm" in done.stdout
    assert "make test: python-tests took" in done.stdout
    assert done.returncode != 0


@needs_make
def test_docs_that_do_not_build_fail_the_whole(tmp_path: Path) -> None:
    done = make_test(tmp_path, "exit 0", docs="exit 1")
    assert "make test: docs took" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("s, FAILED")
    assert done.returncode != 0


def native_script() -> ModuleType:
    """``tests/native.py`` as a module."""
    spec = importlib.util.spec_from_file_location("native_tests", ROOT / "tests" / "native.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_doctest_the_native_tests_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = native_script()
    monkeypatch.setattr(script, "DOCTEST", tmp_path / "doctest.h")
    assert script.main() == 1
    assert "apt install doctest-dev" in capsys.readouterr().out


def test_with_sanitizers_the_named_suites_are_built_apart_and_run_with_one_and_two_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, steps = native_script(), list[tuple[Sequence[str], Path, Mapping[str, str]]]()

    def run(command: Sequence[str], folder: Path, more: Mapping[str, str]) -> int:
        steps.append((command, folder, more))
        return 0 if command[0] != "ctest" else 8

    for name, value in {"ROOT": tmp_path, "run": run, "DOCTEST": tmp_path, "WRAPPERS": {"some": tmp_path}}.items():
        monkeypatch.setattr(script, name, value)
    assert script.main(["--sanitize", "clock", "alltoall.rounds"]) == 1, "ctest failed"
    (configured, folder, _), (built, _, _), (tested, _, environment) = steps
    assert any("-fsanitize=address,undefined" in word for word in configured)
    assert folder == tmp_path / "build" / "some-sanitized"
    assert built[-3:] == ["--target", "test_clock", "test_alltoall_rounds"]
    wanted = re.compile(tested[tested.index("-R") + 1])
    names = ("clock.1", "clock.2", "clock.live.2", "clock.3", "clock.12", "my_clock.1", "alltoall.rounds.1")
    assert [name for name in names if wanted.search(name)] == ["clock.1", "clock.2", "clock.live.2", names[-1]]
    suppressed = Path(environment["LSAN_OPTIONS"].partition("suppressions=")[2].partition(":")[0])
    assert all(re.match("#|leak:", line) for line in suppressed.read_text().splitlines())


def test_make_test_asks_for_no_sanitizers() -> None:
    assert "--sanitize" not in (ROOT / "Makefile").read_text()
