# SPDX-License-Identifier: BSD-3-Clause
"""A host is not said to be ready where no kernel can be built or started."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from weft.doctor.here import cached_kernels, examine, temporary_files
from weft.doctor.probe import ready
from weft.errors import LaunchError
from weft.files.atomic import temporary
from weft.launch.build import built_program, failed
from weft.mpi.library import Mpi


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_cache_that_is_not_there_yet_is_tried_above_it_and_nothing_is_left(cache: Path, tmp_path: Path) -> None:
    probe = cached_kernels()
    assert (probe.verdict, probe.found) == ("ok", f"{cache}/weft")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_missing_and_the_last_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    probe = cached_kernels()
    assert probe.verdict == "missing"
    assert "cannot be written to /proc/nothing/weft" in probe.needed_for
    assert "XDG_CACHE_HOME" in probe.remedy
    assert "ready" not in ready([probe]).replace("not ready for anything", "")
    assert "missing for local: a cache with room" in ready([probe])


def test_a_full_cache_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", full)
    assert "No space left on device" in cached_kernels().needed_for


def test_a_cache_from_which_nothing_starts_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(command: list[Path], **_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(command[0]))

    monkeypatch.setattr(subprocess, "run", forbidden)
    probe = cached_kernels()
    assert (probe.verdict, probe.lacks) == ("missing", "a cache that programs start from")
    assert f"no program may be started in {cache}/weft (mounted noexec?)" in probe.needed_for


def test_a_full_folder_of_temporary_files_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert temporary_files().found == str(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", full)
    probe = temporary_files()
    assert (probe.verdict, probe.lacks) == ("missing", f"room in {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_temporary_files_is_the_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TMP", "TEMP"):
        monkeypatch.delenv(name, raising=False)
    assert temporary() == Path("/tmp")
    monkeypatch.setenv("TMP", str(tmp_path))
    assert temporary() == tmp_path
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    assert temporary() == tmp_path


def test_both_are_looked_at() -> None:
    assert {"cache", "temporary files"} <= {probe.name for probe in examine()}


def test_a_build_that_filled_the_compilers_folder_does_not_accuse_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    log = tmp_path / "cache" / "x.log"
    log.parent.mkdir()
    mpi = Mpi(Path("/usr/bin/mpicxx"), "PATH")
    said = "x.cpp:4:21: fatal error: error {} {}/{}: No space left on device\n"
    log.write_text(said.format("closing", tmp_path / "t", "ccvEGEQX.s"))
    assert (failed(1, mpi, log).what, failed(1, mpi, log).remedy) == (
        f"the kernels could not be built: the disk of the compiler's temporary files, {tmp_path}/t, is full",
        "make room, or set TMPDIR to a folder of another disk",
    )
    log.write_text(said.format("writing to", log.parent, "a.o"))
    assert f"the disk of {log.parent} is full" in failed(1, mpi, log).what


def test_a_program_that_may_not_start_where_it_was_built_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "weft-measure").write_text("")  # as on a disk mounted noexec, where nothing counts as a program
    with pytest.raises(LaunchError, match=r"no program may be started in .*noexec"):
        built_program(tmp_path, tmp_path / "x.log")
    (tmp_path / "weft-measure").unlink()
    with pytest.raises(LaunchError, match="produced no weft-measure"):
        built_program(tmp_path, tmp_path / "x.log")
