# SPDX-License-Identifier: BSD-3-Clause
"""bench/foreign_tests.py runs every test of a folder alone and under Weft, and tells which differ."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import foreign_tests


def test_a_program_that_ends_otherwise_or_prints_something_else_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, mode in (("good", 0o755), ("bad", 0o755), ("worse", 0o755), ("test_py.py", 0o644), ("notes.txt", 0o644)):
        (tmp_path / name).touch(mode)
    ran: list[list[str]] = []

    def outcome(command: list[str], _: Path) -> tuple[int, Counter[str]]:
        ran.append(command)
        under, name = "exec" in command, Path(command[-1]).name
        return (7 if under and name == "worse" else 0), Counter(["wrong" if under and name == "bad" else "right"])

    monkeypatch.setattr(foreign_tests, "outcome_of", outcome)
    found = foreign_tests.differing(tmp_path, ["start"], ["bruck{r=2}"])
    assert found == ["bad under bruck{r=2}: exit code 0, alone 0", "worse under bruck{r=2}: exit code 7, alone 0"]
    assert len(ran) == 8
    assert ran[-1][:6] == [sys.executable, "-m", "weft", "exec", "--force", "bruck{r=2}"]
