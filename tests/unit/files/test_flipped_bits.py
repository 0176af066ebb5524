# SPDX-License-Identifier: BSD-3-Clause
"""A bit that flips in any file of a run is told, or changes nothing that is printed.

Of the bits of a cell's record 30 % were taken as another content: a batch of 64 became 66 and moved a median.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from made.kept import copy_of
from weft.errors import WeftError
from weft.files.atomic import read_json, write_json
from weft.files.checksum import NAME, is_damaged, with_checksum
from weft.report.tables import render
from weft.report.view import load_view
from weft.run.refresh import reading, refresh
from weft.store.records import load_cell_record

FILES = "cells/*.json", "cells/*.npy", "launches/*.json", "plan.json", "tables/*", "load.json"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept run, with checksums in its records as the kernels write them now, and its tables."""
    folder = copy_of("exchange", tmp_path_factory.mktemp("flips"))
    for path in [*folder.glob("cells/*.json"), *folder.glob("launches/*.json")]:
        path.write_text(with_checksum(json.dumps(json.loads(path.read_text()), separators=(",", ":"))))
    load_view(refresh(folder))
    return folder


def flips(folder: Path, count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """File, byte and bit: all files alike, and the ends of each more often than the rest."""
    names = sorted(str(path.relative_to(folder)) for pattern in FILES for path in folder.glob(pattern))
    rng = np.random.default_rng(seed)
    for place in range(count):
        name = names[place % len(names)]
        size = (folder / name).stat().st_size
        low, high = ((0, size), (max(0, size - 64), size))[place // len(names) % 2]
        yield name, int(rng.integers(low, high)), int(rng.integers(8))


def printed(folder: Path) -> str:
    """What `weft show --format json` prints."""
    with reading(folder):
        return render(load_view(refresh(folder)), "json")


def survive(run: Path, place: Path, count: int, seed: int) -> dict[str, int]:
    """Flip one bit after the other; how many were told, by kind of file. AssertionError for another printed text."""
    folder = Path(shutil.copytree(run, place / run.name))
    expected = printed(folder)
    told: dict[str, int] = {}
    for name, byte, bit in flips(folder, count, seed):
        path = folder / name
        whole, times = path.read_bytes(), path.stat()
        path.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << bit]) + whole[byte + 1 :])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        try:
            assert printed(folder) == expected, (name, byte, bit)
        except WeftError:
            told[path.suffix] = told.get(path.suffix, 0) + 1
        path.write_bytes(whole)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return told


def test_a_bit_that_flips_is_told_or_changes_nothing(run: Path, tmp_path: Path) -> None:
    assert survive(run, tmp_path, 24, 1)[".json"] > 4


@pytest.mark.long
def test_twenty_thousand_bits_that_flip_are_told_or_change_nothing(run: Path, tmp_path: Path) -> None:
    assert survive(run, tmp_path, 20_000, 2)[".json"] > 3_000


def test_every_bit_of_a_record_is_held(run: Path, tmp_path: Path) -> None:
    """Of all flips none is read as other content."""
    path = tmp_path / "c000.l1.json"
    whole = (run / "cells" / path.name).read_bytes()
    path.write_bytes(whole)
    expected = load_cell_record(path)
    rng = np.random.default_rng(3)
    for place in rng.choice(8 * len(whole), 500, replace=False):
        path.write_bytes(whole[: place // 8] + bytes([whole[place // 8] ^ 1 << place % 8]) + whole[place // 8 + 1 :])
        try:
            assert load_cell_record(path) == expected
        except WeftError:
            continue


def test_checksums_are_written_once_and_not_read_as_content(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for value in ({"a": 1.5, "b": [1, "x\u20ac"]}, {}):
        write_json(path, {"schema": "x", **value})
        write_json(path, read_json(path))
        assert read_json(path) == {"schema": "x", **value}
        assert path.read_text().count(NAME) == 1
        assert not is_damaged(path.read_bytes())
    assert not is_damaged(b'{"a": 1}')
