# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/dev/method-tests.md and the mutants of bench/mutants.toml name code and tests that are there."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "dev" / "method-tests.md"
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
    sys.path.insert(0, str(ROOT / "bench"))  # it imports its neighbour
    spec.loader.exec_module(module)
    return module


MUTANTS = program()
EVERY = MUTANTS.mutants()
ALLTOALLS = MUTANTS.mutants(ROOT / "bench" / "mutants_alltoall.toml")
CHECKS = MUTANTS.mutants(ROOT / "bench" / "mutants_check.toml")


@pytest.mark.parametrize("mutant", [*EVERY, *ALLTOALLS, *CHECKS], ids=lambda mutant: f"{mutant.rule}: {mutant.what}")
def test_a_mutant_can_be_planted_in_one_place_and_its_tests_exist(mutant: MUTANTS.Mutant) -> None:
    assert MUTANTS.applies(mutant) == ""
    assert mutant.by != mutant.expression


SOURCES = {
    "src/room/one.py": """
def area(a, b):
    return (a
            * b)

class Box:
    def area(self):
        return a * b
""",
    "native/room/one.cpp": """
int area(int a, int b);
Box::Box(int a) : a_{a}, b_(a) { use(a * a); }
int area(int a, int b) const {
    log("}"); // }
    return a
           * b;
}
int other() { return area(a, b) + a * b; }
""",
}


@pytest.mark.parametrize(
    ("within", "function", "expression", "wanted"),
    [
        ("src", "area", "a*b", ["a\n            * b", "a * b"]),
        ("src", "Box.area", "a * b", ["a * b"]),
        ("src/room/one.py", "volume", "a * b", []),
        ("native", "area", "a * b", ["a\n           * b"]),
        ("native", "other", "a * b", ["a * b"]),
        ("native", "Box", "a*a", ["a * a"]),
    ],
)
def test_an_expression_is_found_in_its_function_however_it_is_wrapped(
    tmp_path: Path, within: str, function: str, expression: str, wanted: list[str]
) -> None:
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    found = MUTANTS.find_places(tmp_path, within, function, expression)
    texts = [place.file.read_text()[place.start : place.end] for place in found]
    assert [text for text in texts if text not in wanted] == []
    assert len(texts) == len(wanted)


def test_each_rule_has_a_row_and_a_mutant_and_there_are_many() -> None:
    told = {int(found[1]) for row in rows() for found in re.finditer(r"(\d+)(?=[:,])", row[0].partition(": ")[0] + ":")}
    assert told == set(RULES)
    assert {int(mutant.rule) for mutant in EVERY} == set(RULES)


def test_a_mutant_that_a_test_misses_survives_and_one_that_it_sees_is_killed(tmp_path: Path) -> None:
    """With a test that looks at one of two faults of a module of its own."""
    for folder in ("src/weft", "native", "tests"):
        (tmp_path / "from" / folder).mkdir(parents=True)
    source, seen = tmp_path / "from/src/weft/__init__.py", "test_seen"
    source.write_text("ONE, TWO = 1, 2\n")
    (tmp_path / "from/tests/test_seen.py").write_text("import weft\n\ndef test_seen():\n    assert weft.ONE == 1\n")
    (tmp_path / "copy").mkdir()
    old, MUTANTS.ROOT = MUTANTS.ROOT, tmp_path / "from"
    try:
        copy = MUTANTS.Copy(tmp_path / "copy", "mpicxx")
        outcomes = [
            MUTANTS.judged(copy, MUTANTS.Mutant("1", "planted", "src", "", "1, 2", by, (seen,)))
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
within = "src"
expression = '"KiB": 2**10'
by = '"KiB": 10**3'
tests = ["test_a_size_has_a_binary_prefix"]

[[mutant]]
rule = "25"
what = "the same number, otherwise written"
within = "src"
expression = '"KiB": 2**10'
by = '"KiB": 1024'
tests = ["test_a_size_has_a_binary_prefix"]
"""


@pytest.mark.long
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
