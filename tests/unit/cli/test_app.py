# SPDX-License-Identifier: BSD-3-Clause
"""The command ``weft``: verbs, messages, exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from made.kept import copy_of, kept_runs
from weft.cli import app
from weft.errors import DataError
from weft.run.refresh import refresh


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in app.VERBS)


def test_help_imports_none_of_the_heavy_libraries() -> None:
    heavy = ["pydantic", "numpy", "duckdb", "ibis", "altair", "pyarrow", "jinja2", "importlib.metadata", "email"]
    code = (
        f"import sys; from weft.cli.app import main; main(['--help']); sys.exit(str(set({heavy!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert done.stderr == "set()\n"


@pytest.mark.parametrize("kept", kept_runs())
def test_show_of_current_tables_imports_neither_what_makes_tables_nor_what_draws(kept: str, tmp_path: Path) -> None:
    run = copy_of(kept, tmp_path)
    refresh(run)
    heavy = {"altair", "vl_convert", "jinja2", "duckdb", "ibis", "pyarrow.compute", "numpy.random"}
    heavy |= {"weft.analyse.make", "weft.analyse.compare", "weft.run.one", "weft.launch"}
    code = f"import sys; from weft.cli.app import main; main(['show', {str(run)!r}]); sys.exit(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    loaded = set(done.stderr.split())
    assert done.stdout
    assert sorted(heavy & loaded) == []
    assert len([name for name in loaded if name.startswith("weft.")]) < 170


def test_a_command_that_makes_tables_imports_no_pandas_and_spark_may(tmp_path: Path) -> None:
    run = copy_of(kept_runs()[0], tmp_path)
    code = (
        "import atexit, sys; from weft.__main__ import start; from weft.extras import leave_out_pandas;"
        "atexit.register(lambda: (leave_out_pandas(False), sys.stderr.write(' '.join([*sys.modules, 'before']))));"
        "atexit.register(lambda: (leave_out_pandas(False), __import__('pandas')) if len(sys.argv) > 3 else None);"
    )
    for more in ([], ["--all"]):
        words = f"sys.argv = {['weft', 'show', str(run), *more]!r}; start()"
        done = subprocess.run([sys.executable, "-c", code + words], env=environment(), capture_output=True, text=True)
        loaded = done.stderr.split()
        assert "ibis" in loaded or more
        assert ("pandas" in loaded) == bool(more)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(app.__file__).parents[2])}


def test_help_is_there_at_once() -> None:
    # The aim is 0.3 s on an idle machine. Processor time, since the wall time of a shared machine says little, and with
    # some room, since even that grows by half when other work empties the caches.
    words = [sys.executable, "-m", "weft.cli.app", "--help"]
    times: list[float] = []
    for _ in range(3):
        before = os.times()
        subprocess.run(words, env=environment(), capture_output=True, check=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(times) < 0.45


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pln"], 'error: no verb "pln"\n  -> did you mean plan?'),
        (["plan"], "error: weft plan needs STUDY\n  -> weft plan --help"),
        (["fabric", "show"], "error: weft fabric show needs FILE\n  -> weft fabric show --help"),
        (["place", "tara"], "error: weft place needs --nodes\n  -> weft place --help"),
        (["place", "tara", "--nodes"], "error: --nodes needs a value\n"),
        (["why", "a", "b"], "error: weft why: unexpected argument 'b'\n"),
        (["show", "no-such-run"], "no-such-run does not exist\n  -> weft list runs names"),
        (["why", "no-such-run"], "no-such-run does not exist\n"),
        (["trace", "show", "no-such-run"], "no-such-run does not exist\n"),
        (["plan", "contention", "--onn", "x"], "--onn"),
        (["plan", "contention", "--format", "xml"], "xml"),
        (["plan", "contenton"], "error: no file 'contenton'\n  -> did you mean contention?"),
        (["plan", "contention", "--on", "trra"], "did you mean tara?"),
    ],
)
def test_a_users_mistake_has_exit_code_2_and_one_message(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert app.main(words) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def raising(problem: BaseException):
    def verb(*_: object, **__: object) -> None:
        raise problem

    return verb


def test_ctrl_c_has_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "app", raising(KeyboardInterrupt()))
    assert app.main(["plan", "contention"]) == 130


def test_a_failed_run_has_exit_code_1_and_names_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "app", raising(DataError("the disk is full", "free some of it")))
    assert app.main(["plan", "contention"]) == 1
    assert capsys.readouterr().err == "error: the disk is full\n  -> free some of it\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "weft.cli.app", "plan", "tara-constant-local", "--on", "tara", "--format", "json"]
    done = subprocess.run(words, env=environment(), stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("why",),
        ("report",),
        ("compare",),
        ("run", "contention", "--on", "local", "--into"),
        ("trace", "import"),
        ("init", "slurm", "-o"),
    ],
)
def test_a_path_that_cannot_be_looked_at_is_one_message(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is too long, or a folder of somebody else, ended in a traceback."""
    assert app.main([*words, "x" * 300]) == 2
    told = capsys.readouterr().err
    assert "File name too long" in told
    assert "ls -ld" in told
    assert len(told) < 500


def test_help_shows_a_default_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """It said `[default: ('local',)]`, and `[default: ()]` of what has none."""
    assert app.main(["run", "--help"]) == 0
    assert app.main(["tune", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "[default: local]" in text
    assert "[default: (" not in text


def test_a_file_that_is_not_there_is_no_reason_to_choose_another_run_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", "export", str(tmp_path / "none.json"), "--to", "openmpi", "-o", str(tmp_path / "rules")]
    assert app.main(words) != 0
    said = capsys.readouterr().err
    assert "none.json: No such file" in said
    assert "-> check the path\n" in said


def test_a_wrong_verb_of_fabric_is_told_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there are many, the library would have named eight and three dots."""
    assert app.main(["fabric", "chek"]) == 2
    what, remedy = capsys.readouterr().err.splitlines()
    assert what == 'error: weft fabric has no verb "chek"'
    assert remedy.startswith("  -> did you mean check? verbs: ")
    assert {"show", "presets", "check", "import", "up", "down", "exec", "slurm-here", "fit"} <= set(
        remedy.partition("verbs: ")[2].split(", ")
    )
