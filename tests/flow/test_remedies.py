# SPDX-License-Identifier: BSD-3-Clause
"""Every error that names a command of Weft: it is provoked, the command is run, and it helps.

The errors are collected from the sources, so a new one without a case here fails.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import remedies_of_fabrics
import remedies_of_replays
import remedies_of_runs
import remedies_of_traces
from remedies import SOURCES, TESTS, Typed, collected

CASES = remedies_of_runs.CASES | remedies_of_fabrics.CASES | remedies_of_traces.CASES | remedies_of_replays.CASES


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands are typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    return Typed(capsys)


ELSEWHERE = {
    (
        "trace/events.py",
        "rm -r {}, then the same command",
    ): "unit/trace/test_edited_trace.py::test_edited_files_with_right_checksums_are_one_message_whose_remedy_works",
    (
        "cli/fabric.py",
        "weft fabric down {}",
    ): "virtual/test_virtual_verbs.py::test_what_is_up_is_not_brought_up_twice",
    (
        "launch/virtual/cluster.py",
        "weft fabric down {}",
    ): "virtual/test_virtual_remedies.py::test_a_busy_fabric_is_freed",
    (
        "launch/virtual/cluster.py",
        "weft fabric up virtual-default",
    ): "virtual/test_virtual_remedies.py::test_nothing_is_up",
    ("launch/virtual/counters.py", "weft fabric exec"): "virtual/test_virtual_remedies.py::test_tcpdump_fails",
    (
        "launch/virtual/counters.py",
        "weft fabric exec --fabric {} {} tc",
    ): "virtual/test_virtual_remedies.py::test_no_counters",
}
"""Errors whose provocation is a test of its own, or needs a virtual fabric."""


@lru_cache(maxsize=1)
def entered() -> list[tuple[str, str]]:
    return [*CASES, *ELSEWHERE]


def test_every_error_that_names_a_command_has_a_case() -> None:
    for file, remedy in sorted(collected()):
        assert any(file == at and told in remedy for at, told in entered()), f"{file}: {remedy}"


def test_every_case_is_of_an_error_that_there_is() -> None:
    texts = {(SOURCES / file).read_text() for file, _ in CASES}
    assert texts
    found = collected()
    for file, told in ELSEWHERE:
        assert any(file == at and told in remedy for at, remedy in found), (file, told)
    for name in ELSEWHERE.values():
        path, _, function = name.partition("::")
        assert f"def {function}" in (TESTS / path).read_text(), name


@pytest.mark.parametrize(
    "function", sorted(set(CASES.values()), key=lambda each: each.__name__), ids=lambda f: f.__name__
)
def test_the_command_that_an_error_names_helps(function: Callable[..., None], request: pytest.FixtureRequest) -> None:
    import inspect

    function(**{name: request.getfixturevalue(name) for name in inspect.signature(function).parameters})
