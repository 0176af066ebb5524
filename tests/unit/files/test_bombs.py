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
from weft.store.tables import read_table


def many_rows(folder: RunFolder) -> None:
    """A few kilobytes of one row, four million times."""
    rows = 4_200_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["note"]))
    table = pa.table(dict.fromkeys(FINDINGS.schema.names, column))
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", row_group_size=rows)


def long_texts(folder: RunFolder) -> None:
    """Half a gigabyte of text that packs well."""
    table = pa.table({name: ["x" * (1 << 20)] * 60 for name in FINDINGS.schema.names})
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", use_dictionary=False)


def one_long_text(folder: RunFolder) -> None:
    """A text of a megabyte, once in the file and once in each of two thousand rows."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int8)), pa.array(["x" * (1 << 20)]))
    table = pa.table(dict.fromkeys(FINDINGS.schema.names, column))
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd")


def one_long_text_in_a_table_for_arrow(folder: RunFolder) -> None:
    """The same, in a table that is not read as rows of Python."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int8)), pa.array(["x" * (1 << 20)]))
    pq.write_table(pa.table({"what": column}), folder.tables / "strange.parquet", compression="zstd")


def sparse_samples(folder: RunFolder) -> None:
    """A file of 4 KiB on the disk that has 6 GiB, with a record that says so."""
    record = folder.cells / "c000.l1.json"
    found = json.loads(record.read_text())
    ranks, samples = found["ranks"], (6 << 30) // (24 * found["ranks"])
    found |= {"shape": [ranks, samples, 3]}
    for name in ("record_crc32",):
        found.pop(name, None)
    found["segments"][-1]["count"] += samples - sum(each["count"] for each in found["segments"])
    record.write_text(json.dumps(found))
    with record.with_suffix(".npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<i8", "fortran_order": False, "shape": (ranks, samples, 3)}
        )
        file.truncate(file.tell() + 24 * ranks * samples)


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


TABLES = many_rows, long_texts, one_long_text, one_long_text_in_a_table_for_arrow
BOMBS = *TABLES, sparse_samples, deep_folders, much_meta, many_cells


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_soon_and_in_little_memory(bomb: Callable[[RunFolder], None], tmp_path: Path) -> None:
    folder = refresh(copy_of("exchange", tmp_path))
    bomb(folder)
    if bomb in TABLES:
        write_manifest(folder)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(DataError):
        load_view(refresh(folder.path))
        FINDINGS.read(folder.path)
        read_table(folder.path, "strange")
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20
