# SPDX-License-Identifier: BSD-3-Clause
"""Output that fails: full, closed before the start, or read by nobody. A line or quiet, no traceback, nothing lost."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from made.run import Made, make_run
from weft.cli import app
from weft.fabric import Fabric
from weft.run.refresh import refresh
from weft.study import Study

ROOT = Path(app.__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
#: ``weft`` with a launcher that measures nothing.
ON_FAKES = """
import sys
from made.fake_kernel import FakeLauncher
from weft.cli.app import main
from weft.run import many
many.launcher_for = lambda *_, **__: FakeLauncher()
sys.exit(main())
"""
FULL = "error: the output cannot be written: No space left on device\n  -> "
CLOSED = "error: the output cannot be written: Bad file descriptor\n  -> "


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_run(tmp_path_factory.mktemp("output") / "run", Made(samples=3))
    refresh(path)
    return path


def into(shell: str, words: Sequence[str], program: Sequence[str] = ("-m", "weft")) -> tuple[int, str]:
    """Exit code of a command under a redirection of the shell, and what it said on its standard error.

    ``GONE`` in the redirection is a pipe that nobody reads any more.
    """
    reading, writing = os.pipe()
    os.close(reading)
    script = f'"$@" {shell.replace("GONE", str(writing))}'
    command = ["bash", "-c", script, "bash", sys.executable, *program, *words]
    done = subprocess.run(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        pass_fds=[writing],
    )  # fmt: skip
    os.close(writing)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stderr


VERBS = {
    "help": ["--help"],
    "show": ["show", "RUN", "--format", "csv"],
    "plan": ["plan", "contention"],
    "text": ["show", "RUN", "--all"],
}


@pytest.mark.parametrize(
    ("verb", "shell", "ends", "says"),
    [
        *((verb, ">/dev/full", 2, FULL) for verb in VERBS),
        *((verb, ">&GONE", 141, "") for verb in ("help", "plan", "text")),
        ("help", ">&-", 2, CLOSED),
        ("show", ">&-", 2, CLOSED),
    ],
)
def test_a_full_or_closed_output_is_one_message_and_a_reader_that_has_gone_none(
    verb: str, shell: str, ends: int, says: str, run: Path
) -> None:
    code, said = into(shell, [str(run) if word == "RUN" else word for word in VERBS[verb]])
    assert code == ends
    assert said.startswith(says) and said.count("\n") == (2 if says else 0), said


def test_no_file_that_is_opened_later_takes_the_place_of_a_closed_output(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert into("<&- >&- 2>&-", ["show", str(run), "--engine", "duckdb://"])[0] == 2
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert {path for path in before if path.suffix != ".parquet" and before[path] != after[path]} == set()


@pytest.mark.parametrize(
    ("shell", "ends"),
    [
        (">/dev/full 2>&1", 2),
        (">&- 2>&-", 2),
        (">&GONE 2>&1", 141),
    ],
)
def test_a_run_goes_on_where_nobody_can_be_told(
    shell: str, ends: int, study: Study, fabric: Fabric, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = ["run", str(study.path), "--on", str(fabric.path), "--into", str(folder), "--anyway"]
    code, said = into(shell, words, ("-c", ON_FAKES))
    assert (code, said) == (ends, "")
    assert len(list(folder.glob("cells/*.json"))) == 12
    assert (folder / "report.html").is_file()
