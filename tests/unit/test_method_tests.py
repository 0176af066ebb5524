# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/method-tests.md names code and tests that are there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "method-tests.md"


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
