# SPDX-License-Identifier: BSD-3-Clause
"""The library of routes is built once, without MPI, and a build that fails says why."""

import shutil
from pathlib import Path

import pytest

from weft.errors import DataError, LaunchError
from weft.files.shipped import shipped
from weft.launch.preload import route_library
from weft.route.library import NAME, Library


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = tmp_path / "native"
    for folder in ("route", "simulate/rounds", "simulate/machine", "alltoall"):
        shutil.copytree(shipped("native") / folder, copy / folder)
    (copy / "CMakeLists.txt").write_text("")
    return copy


def test_it_is_built_once_and_again_only_when_its_sources_change(native: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def compile_nothing(project: Path, build: Path, log: Path) -> int:  # every test of routes compiles the library
        build.mkdir()
        (build / NAME).touch()
        return 0

    monkeypatch.setattr("weft.launch.preload.cmake_build", compile_nothing)
    monkeypatch.setattr("weft.launch.preload.Library", str)
    route_library(said.append, native)
    route_library(said.append, native)
    assert len([line for line in said if line.startswith("building the library")]) == 1
    assert said[-1].startswith("built in ")
    with (native / "route/graph.hpp").open("a") as file:
        file.write("// another\n")
    route_library(said.append, native)
    assert len([line for line in said if line.startswith("building the library")]) == 2


def test_a_failed_build_names_the_first_error_and_the_log(native: Path) -> None:
    (native / "route/paths.cpp").write_text("int broken = missing_name;\n")
    with pytest.raises(LaunchError, match="missing_name") as caught:
        route_library(lambda _: None, native)
    assert "route-" in caught.value.remedy


def test_a_library_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("no library")
    with pytest.raises(DataError, match="cannot be loaded"):
        Library(tmp_path / NAME)
