# SPDX-License-Identifier: BSD-3-Clause
"""What a reader accepted, held against another way to the same value: written and read again, or read by NumPy alone.

An AssertionError is a finding: the file was misread.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from weft.errors import WeftError
from weft.fabric.importing import folded_names
from weft.fabric.nodeset import expand
from weft.files.matrix import read_matrix
from weft.launch.links import read_cell_links, read_links, write_links
from weft.store.cells import CellData


def same_names(hosts: tuple[str, ...]) -> None:
    """A node set, listed and folded: the same hosts in the same order, or at least the same ones."""
    assert len(set(hosts)) == len(hosts)
    assert expand(",".join(hosts)) == hosts
    try:
        folded = folded_names(hosts)
    except WeftError:  # a name that no fabric file takes
        return
    assert set(expand(folded)) == set(hosts), folded


def same_model(model: BaseModel) -> None:
    """A file of keys, written as JSON with every default, and validated again."""
    written = model.model_dump_json(by_alias=True)
    again = type(model).model_validate(json.loads(written))
    assert again.model_dump_json(by_alias=True) == written


def same_matrix(path: Path, weights: list[list[int]]) -> None:
    """A matrix, saved by NumPy and read again; whole numbers as NumPy alone reads them."""
    beside = path.with_name("again.npy")
    np.save(beside, np.array(weights))
    assert read_matrix(beside) == weights
    given = np.load(path) if path.read_bytes().startswith(b"\x93NUMPY") else _plain_text(path)
    if (given == np.floor(given)).all():
        assert np.array_equal(np.asarray(given, float), np.array(weights, float))
    else:  # scaled so that the largest is a million
        assert np.allclose(np.asarray(given, float) / float(given.max()) * 1e6, np.array(weights, float), atol=0.51)


def _plain_text(path: Path) -> Any:
    lines = path.read_bytes().decode().replace(",", " ").split("\n")
    return np.array([[float(word) for word in line.split()] for line in lines if line.split()])


def same_samples(path: Path, data: CellData) -> None:
    """Samples as NumPy alone reads them."""
    if data.samples is not None:
        assert np.array_equal(np.load(path), data.samples)


def same_record(path: Path, data: CellData) -> None:
    """A record's numbers as they stand in the text, and the whole written and validated again."""
    same_model(data.record)
    raw = json.loads(path.read_text())
    for name in ("cell", "launch_index", "ranks", "status", "crc32"):
        if name in raw:
            kept = json.loads(data.record.model_dump_json())[name]
            assert kept == raw[name] or str(kept) == str(raw[name]), (name, kept)
    assert sum(segment.count for segment in data.record.segments) == (data.record.shape or (0, 0))[1] or not (
        data.record.has_samples
    )


def same_links(path: Path) -> None:
    """Counters, written and read again."""
    cells, whole = read_cell_links(path), read_links(path)
    for count in [*whole, *(each for own in cells.values() for each in own)]:
        assert {type(name) for name in (count.link, count.source, count.target)} == {str}, count
        assert all(type(number) is int and number >= 0 for number in (count.bytes, count.packets, count.drops)), count
        assert 0 <= count.rate < float("inf"), count
    beside = path.with_name("again.json")
    write_links(beside, "c000.l1", "tc", whole, cells)
    assert read_links(beside) == whole
    assert read_cell_links(beside) == cells
