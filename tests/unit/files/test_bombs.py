# SPDX-License-Identifier: BSD-3-Clause
"""Small or strange files of strangers that would fill the memory are refused by what their heads say."""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made.kept import copy_of
from weft.analyse.tables.answers import FINDINGS
from weft.errors import DataError
from weft.plan.stored import HASH, MOST_STORED, hash_of
from weft.report.view import load_view
from weft.run.refresh import refresh, write_manifest
from weft.store.folder import RunFolder


def many_rows(folder: RunFolder) -> None:
    """A few kilobytes of one row, two million times."""
    rows = 2_200_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["note"]))
    table = pa.table(dict.fromkeys(FINDINGS.schema.names, column))
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", row_group_size=rows)


def long_texts(folder: RunFolder) -> None:
    """Half a gigabyte of text that packs well."""
    table = pa.table({name: ["x" * (1 << 20)] * 60 for name in FINDINGS.schema.names})
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", use_dictionary=False)


def deep_folders(folder: RunFolder) -> None:
    place = folder.cells
    for _ in range(60):
        place /= "deep"
    place.mkdir(parents=True)


def much_meta(folder: RunFolder) -> None:
    with folder.meta.open("r+b") as file:
        file.seek(400_000_000)
        file.write(b" ")


def many_cells(folder: RunFolder) -> None:
    plan = json.loads(folder.plan.read_text())
    first = plan["cells"][0]
    plan["cells"] += [first | {"id": f"c{number:05d}"} for number in range(10_000, 10_000 + MOST_STORED)]
    folder.plan.write_text(json.dumps(plan))
    meta = json.loads(folder.meta.read_text())
    folder.meta.write_text(json.dumps(meta | {HASH: hash_of(folder.plan.read_bytes())}))


@pytest.mark.parametrize("bomb", [many_rows, long_texts, deep_folders, much_meta, many_cells])
def test_a_bomb_is_refused_soon_and_in_little_memory(bomb: Callable[[RunFolder], None], tmp_path: Path) -> None:
    folder = refresh(copy_of("exchange", tmp_path))
    bomb(folder)
    if bomb in (many_rows, long_texts):
        write_manifest(folder)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(DataError):
        load_view(refresh(folder.path))
        FINDINGS.read(folder.path)
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20
