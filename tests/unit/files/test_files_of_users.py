# SPDX-License-Identifier: BSD-3-Clause
"""What a user names in place of a file is refused at once: nothing is waited for, or read without end."""

import os
import resource
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from weft.errors import StudyError, WeftError
from weft.fabric.importing import import_dump, read_hwloc
from weft.fabric.model import load_fabric
from weft.fabric.readers import Lines, read_dump, read_names, read_tables
from weft.files.matrix import read_matrix
from weft.files.reading import locate
from weft.files.section import read_json_file
from weft.fit.inputs import read_cells
from weft.kernel.studies import load_study
from weft.route.checks import read_service
from weft.trace.bring import import_trace

PATHS = "PathRecord dump:\n\tdlid............1\n\tslid............2\n\tsl..............0x0\n"
SPARSE_BYTES = 3 * 2**30
MORE_BYTES = 2**30


class Nothing(BaseModel):
    """A model without keys."""


def lanes(path: Path) -> object:
    path.with_name("paths").write_text(PATHS)
    return read_service(path.with_name("paths"), path)


READERS: dict[str, Callable[[Path], object]] = {
    "study": load_study,
    "fabric": load_fabric,
    "dump": read_dump,
    "names": read_names,
    "hwloc": lambda path: read_hwloc(Lines.read(path)),
    "tables": read_tables,
    "paths": read_service,
    "lanes": lanes,
    "cells": read_cells,
    "matrix": read_matrix,
    "JSON": lambda path: read_json_file(path, Nothing, "is none", "write one"),
    "trace": lambda path: import_trace(path, path.with_name("trace")),
    "imported dump": lambda path: import_dump(path, path.with_name("out.toml")),
}


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, SPARSE_BYTES)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00\x80" * 20)


@pytest.fixture
def little() -> Generator[None]:
    """A reader that waits, or reads without an end, is stopped: by a signal, or for lack of memory."""

    def stop(*_: Any) -> None:
        raise AssertionError("it still reads after two minutes")

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("make", [device, pipe, sparse, loop, no_text, Path.mkdir], ids=lambda made: made.__name__)
@pytest.mark.parametrize("reader", READERS)
def test_it_is_refused_at_once(reader: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "given"
    make(path)
    with pytest.raises(WeftError) as refused:
        READERS[reader](path)
    assert refused.value.what
    assert refused.value.remedy


def test_a_folder_does_not_hide_the_shipped_study_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of ``weft run pairs --into pairs``, after which the same command has to go on."""
    monkeypatch.chdir(tmp_path)
    for name in ("pairs", "mine"):
        (tmp_path / name).mkdir()
    assert locate("pairs", "studies", StudyError).name == "pairs.toml"
    with pytest.raises(StudyError, match="is a folder"):
        locate("mine", "studies", StudyError)
