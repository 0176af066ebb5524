# SPDX-License-Identifier: BSD-3-Clause
"""The levels of tests: every part runs, whatever became of the others, and every test is counted once."""

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTEST = """<testsuites><testsuite><testcase name="a" file="tests/x.py"/><testcase name="b"><skipped/></testcase>
<testcase name="c" file="tests/x.py"><failure/></testcase><testcase name="d"><error/></testcase>
</testsuite></testsuites>"""
CTEST = """<testsuite><testcase name="clock.1" status="run"/><testcase name="clock.2" status="fail"/>
<testcase name="clock.3" status="notrun"><skipped/></testcase></testsuite>"""


def module(name: str) -> ModuleType:
    """``tests/NAME.py`` as a module."""
    spec = importlib.util.spec_from_file_location(f"tests_{name}", ROOT / "tests" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


SUITE = module("suite")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results in a folder of the test's own."""
    monkeypatch.setattr(SUITE, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def part(name: str, script: str, beside: bool = False) -> object:
    """A part that is one line of shell; ``$R`` is the folder of results."""
    return SUITE.Part(name, (("sh", "-c", f"R={SUITE.RESULTS}; {script}"),), beside)


def test_results_of_pytest_and_ctest_are_added(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(PYTEST)
    (tmp_path / "b.xml").write_text(CTEST)
    found = SUITE.counted(sorted(tmp_path.glob("*.xml")))
    assert (found.passed, found.failed, found.skipped) == (2, 3, 2)
    assert found.names == ["tests/x.py::c", "a::d", "b::clock.2"]


def test_a_part_that_fails_stops_no_other_and_fails_the_level(results: Path) -> None:
    parts = [part("first", "exit 3"), part("second", f"echo '{PYTEST}' > $R/p.xml; exit 1"), part("third", "true")]
    found = SUITE.run_level(parts)
    assert (found.passed, found.failed, found.skipped) == (2, 3, 1)
    assert found.names[0] == "first: exit code 3"


def test_a_killed_part_that_wrote_no_failed_test_is_a_failure(results: Path) -> None:
    found = SUITE.run_level([part("ranks", f"echo '{CTEST.replace('fail', 'run')}' > $R/n.xml; kill -9 $$")])
    assert (found.passed, found.failed, found.skipped) == (2, 1, 1)
    assert found.names == ["ranks: exit code -9"]


def test_a_part_beside_others_runs_meanwhile_and_counts(results: Path) -> None:
    go = part("docs", "until [ -e $R/go ]; do sleep 0.01; done; exit 2", beside=True)
    found = SUITE.run_level([go, part("python", "touch $R/go")])
    assert (found.passed, found.failed, found.names) == (1, 1, ["docs: exit code 2"])


def test_a_part_is_not_counted_for_what_another_wrote(results: Path) -> None:
    found = SUITE.run_level([part("first", f"echo '{CTEST}' > $R/n.xml"), part("second", "exit 1")])
    assert (found.passed, found.failed, found.skipped) == (1, 2, 1)


def test_the_last_line_counts_the_tests(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SUITE, "levels", lambda: {"check": [part("a", "true"), part("b", "exit 1")]})
    assert SUITE.main(["check", "a"]) == 0
    assert SUITE.main(["check"]) == 1
    assert re.fullmatch(r"1 passed, 1 failed, 0 skipped in \d+ s", capsys.readouterr().out.splitlines()[-1])
    with pytest.raises(SystemExit):
        SUITE.main(["check", "c"])


def test_every_test_is_in_one_part_of_a_level() -> None:
    """All files of tests, once: in the folder of a part that does not ignore them, or by name."""
    (python,) = (each for each in SUITE.levels()["test"] if each.name == "python")
    ignored = {word.partition("=")[2] for word in python.commands[0] if word.startswith("--ignore=")}
    assert ignored == set(SUITE.RANK_ROOMS)
    (ranks,) = (each for each in SUITE.levels()["test"] if each.name == "ranks")
    (untimed,) = (each for each in SUITE.levels()["test"] if each.name == "untimed")
    assert {word.partition("=")[2] for word in untimed.commands[0] if word.startswith("--ignore=")} == set(SUITE.TIMED)
    assert set(SUITE.RANK_ROOMS) <= set(untimed.commands[0])
    assert set(SUITE.TIMED) <= set(ranks.commands[0])
    assert all((ROOT / name).is_file() for name in SUITE.TIMED)
    for file, _, test in (name.partition("::") for name in SUITE.NOT_EACH_TIME):
        assert f"def {test}" in (ROOT / file).read_text()


def test_without_doctest_the_native_tests_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = module("native")
    monkeypatch.setattr(script, "DOCTEST", tmp_path / "doctest.h")
    assert script.main() == 1
    assert "apt install doctest-dev" in capsys.readouterr().out


def test_with_sanitizers_the_named_suites_are_built_apart_and_run_with_one_and_two_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, steps = module("native"), list[tuple[Sequence[str], Path, Mapping[str, str]]]()

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
