# SPDX-License-Identifier: BSD-3-Clause
"""A small study on one host, and its files, for walks without MPI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.study import Study

STUDY = """\
name = "small"
title = "A small study"
kernel = "exchange"

[measure]
launches = 2
min_samples = 5
max_samples = 12
budget = "1 s"
limit = "7 s"
seed = 3

[[series]]
name = "constant-global"
scaling = "strong"
nodes = 1
ranks_per_node = [1, 2, 4]
n = 1600
m = 4
"""

FABRIC = """\
name = "made-host"
kind = "local"
title = "A made host"

[node]
cores = 4
memory = "1 GiB"
copy_rate = "8 GB/s"
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Three cells in two launches each, and three floors."""
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return load_study(path)


@pytest.fixture
def fabric(tmp_path: Path) -> Fabric:
    """One host of four cores, whatever this machine has."""
    path = tmp_path / "made-host.toml"
    path.write_text(FABRIC)
    return load_fabric(path)


@pytest.fixture
def only_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no tables: they would take nine tenths of the time, and tell nothing about the walk."""
    monkeypatch.setattr("weft.run.one.make_tables", lambda folder: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder with nothing but its launches."""
    (tmp_path / "run" / "launches").mkdir(parents=True)
    return tmp_path / "run"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short TMPDIR of the test's own, in which nothing may be left."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="wt", dir="/tmp") as name:
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)
