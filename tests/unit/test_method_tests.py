# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/method-tests.md and the mutants of bench/mutants.toml name code and tests that are there."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "method-tests.md"
RULES = range(1, 27)


def rows() -> list[list[str]]:
    """The cells of the table's rows: rule, code, test, mutant."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def is_there(file: str, name: str) -> bool:
    """Whether a test of that name stands in a file: a doctest case, a function, or a launch that CMake registers."""
    path = ROOT / file
    if not path.is_file():
        return False
    definition = {".cpp": f'TEST_CASE("{name}")', ".py": f"def {name}(", ".cmake": f"_test({name} "}[path.suffix]
    text = path.read_text()
    return definition in text or definition in text.replace('"\n          "', "")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_rule_names_code_and_a_test_that_exist(row: list[str]) -> None:
    assert len(row) == 4, row
    _, code, test, mutant = row
    file, _, name = test.partition(": ")
    assert (ROOT / code.strip("`")).is_file(), code
    assert is_there(file.strip("`"), name), test
    assert mutant


def test_the_table_covers_the_rules_and_a_lost_test_is_missed() -> None:
    assert len(rows()) >= 20
    assert not is_there("native/tests/sample/test_sampler.cpp", "a case that nobody wrote")
    assert not is_there("tests/unit/test_nowhere.py", "test_nothing")


def program() -> ModuleType:
    """bench/mutants.py as a module."""
    spec = importlib.util.spec_from_file_location("bench_mutants", ROOT / "bench" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MUTANTS = program()
EVERY = MUTANTS.mutants()
ALLTOALLS = MUTANTS.mutants(ROOT / "bench" / "mutants_alltoall.toml")


@pytest.mark.parametrize("mutant", [*EVERY, *ALLTOALLS], ids=lambda mutant: f"{mutant.rule}: {mutant.what}")
def test_the_text_of_a_mutant_stands_once_in_its_file_and_its_tests_exist(mutant: MUTANTS.Mutant) -> None:
    times = (ROOT / mutant.file).read_text().count(mutant.text)
    assert times == 1, f"bench/mutants.toml has to follow a change of {mutant.file}: {times} times {mutant.text!r}"
    assert mutant.by != mutant.text
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition(": ")
        assert is_there(file, name), test
        assert file.startswith("native/") == mutant.is_native, "a mutant's tests are built with it"


def test_each_rule_has_a_row_and_a_mutant_and_there_are_many() -> None:
    told = {int(found[1]) for row in rows() for found in re.finditer(r"(\d+)(?=[:,])", row[0].partition(": ")[0] + ":")}
    assert told == set(RULES)
    assert {int(mutant.rule) for mutant in EVERY} == set(RULES)
    assert sum(mutant.is_native for mutant in EVERY) >= 20
    assert sum(not mutant.is_native for mutant in EVERY) >= 35


def test_a_mutant_that_a_test_misses_survives_and_one_that_it_sees_is_killed(tmp_path: Path) -> None:
    """With a test that looks at one of two faults of a module of its own."""
    for folder in ("src/weft", "native", "tests"):
        (tmp_path / "from" / folder).mkdir(parents=True)
    source, seen = tmp_path / "from/src/weft/__init__.py", "tests/test_seen.py: test_seen"
    source.write_text("ONE, TWO = 1, 2\n")
    (tmp_path / "from/tests/test_seen.py").write_text("import weft\n\ndef test_seen():\n    assert weft.ONE == 1\n")
    (tmp_path / "copy").mkdir()
    old, MUTANTS.ROOT = MUTANTS.ROOT, tmp_path / "from"
    try:
        copy = MUTANTS.Copy(tmp_path / "copy", "mpicxx")
        outcomes = [
            MUTANTS.judged(copy, MUTANTS.Mutant("1", "planted", "src/weft/__init__.py", "1, 2", by, (seen,)))
            for by in ("3, 2", "1, 3")
        ]
    finally:
        MUTANTS.ROOT = old
    assert outcomes == ["killed", "test_seen: passed"]
    assert (tmp_path / "copy/src/weft/__init__.py").read_text() == source.read_text()


PLANTED = """
[[mutant]]
rule = "25"
what = "decimal sizes"
file = "src/weft/units.py"
text = '"KiB": 2**10'
by = '"KiB": 10**3'
tests = ["tests/unit/test_units.py: test_a_size_has_a_binary_prefix"]

[[mutant]]
rule = "25"
what = "the same number, otherwise written"
file = "src/weft/units.py"
text = '"KiB": 2**10'
by = '"KiB": 1024'
tests = ["tests/unit/test_units.py: test_a_size_has_a_binary_prefix"]
"""


def test_the_program_kills_a_fault_planted_in_a_copy_of_weft_and_lets_a_harmless_change_live(tmp_path: Path) -> None:
    source = ROOT / "src" / "weft" / "units.py"
    before = source.read_bytes()
    (tmp_path / "planted.toml").write_text(PLANTED)
    done = subprocess.run(
        [sys.executable, "bench/mutants.py", "src/", "--list", str(tmp_path / "planted.toml"), "--check"],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.search(r"rule 25  decimal sizes  \[\d+ s\]  killed\n", done.stdout), done.stdout + done.stderr
    assert re.search(r"otherwise written  \[\d+ s\]  SURVIVED: test_a_size_has_a_binary_prefix: passed\n", done.stdout)
    assert "WITHOUT A MUTANT" not in done.stdout
    assert done.stdout.endswith("1 of 2 mutants killed\n")
    assert done.returncode == 1
    assert source.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["planted.toml"]
