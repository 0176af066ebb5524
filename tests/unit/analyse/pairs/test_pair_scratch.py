# SPDX-License-Identifier: BSD-3-Clause
"""The folder of intermediate results: what a killed analysis left goes, what another one uses stays."""

import os
from pathlib import Path

import pytest

from weft.analyse.engine import MARK, connect, scratch


def test_what_a_killed_analysis_left_is_removed_and_what_another_uses_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.analyse.engine.IN_USE_S", -1.0)
    left = tmp_path / ".analysis-killed" / "spill"
    left.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".analysis-link").symlink_to(elsewhere)
    (left.parent / MARK).touch()
    backend = connect("duckdb://")
    with scratch(backend, tmp_path) as first:
        assert not left.parent.exists()
        with scratch(backend, tmp_path) as second:
            assert first.folder.is_dir()
            assert second.folder != first.folder
    assert sorted(path.name for path in tmp_path.iterdir()) == [".analysis-link", "elsewhere"]


@pytest.mark.parametrize("problem", [PermissionError, FileNotFoundError])
def test_what_somebody_else_left_or_removes_meanwhile_stops_no_analysis(
    problem: type[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.analyse.engine.IN_USE_S", -1.0)
    left = tmp_path / ".analysis-theirs"
    left.mkdir()
    (left / MARK).touch()
    real = os.open

    def opened(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if Path(path) == left:  # folders of tempfile are of mode 0700
            raise problem(2, "refused", str(path))
        return real(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr("weft.analyse.engine.os.open", opened)
        with scratch(connect("duckdb://"), tmp_path) as first:
            assert first.folder.is_dir()
    assert left.is_dir()
