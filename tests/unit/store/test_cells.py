# SPDX-License-Identifier: BSD-3-Clause
"""Cells are believed only when record, shape, size and checksums agree."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from made.folder import write_cell
from weft.errors import DataError
from weft.store.cells import finished_cells, read_cell

SAMPLES = np.arange(2 * 5 * 3).reshape(2, 5, 3)
RECORD: dict[str, Any] = {
    "schema": "weft-cell/2",
    "run": "made",
    "hash": "made",
    "cell": "c003",
    "launch": "c003.l1",
    "launch_index": 1,
    "kernel": "exchange",
    "ranks": 2,
    "status": "ok",
    "reason": "",
    "segments": [
        {"op": "C", "phase": "cold", "first": 0, "count": 1, "batch": 1, "definition": "global"},
        {"op": "C", "phase": "warm", "first": 1, "count": 4, "batch": 1, "definition": "global", "new key": 1},
    ],
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "cells").mkdir()
    write_cell(tmp_path, RECORD, SAMPLES)
    return tmp_path


def npy(run: Path) -> Path:
    return run / "cells" / "c003.l1.npy"


def change(run: Path, **entries: Any) -> None:
    path = run / "cells" / "c003.l1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def refused(run: Path, pattern: str, file: str = "c003.l1") -> None:
    with pytest.raises(DataError, match=pattern) as raised:
        read_cell(run, "c003", 1)
    assert file in raised.value.what
    assert raised.value.remedy


def test_a_whole_cell_is_read_as_it_was_written(run: Path) -> None:
    data = read_cell(run, "c003", 1)
    assert data.samples is not None
    assert (data.samples == SAMPLES).all()
    assert [segment.count for segment in data.record.segments] == [1, 4]


def test_a_step_of_a_breakdown_is_an_operation(run: Path) -> None:
    """The kernel's ``C/within`` was refused for its slash, and every exchange of two ranks lost its cells."""
    first, second = RECORD["segments"]
    change(run, segments=[first, second | {"op": "C/within"}])
    assert read_cell(run, "c003", 1).record.segments[1].op == "C/within"


def test_its_samples_cannot_be_written_through_the_map(run: Path) -> None:
    samples = read_cell(run, "c003", 1).samples
    assert samples is not None
    assert not samples.flags.writeable


def test_a_cell_that_failed_has_no_samples(run: Path) -> None:
    write_cell(run, RECORD | {"launch_index": 2, "launch": "c003.l2", "status": "timeout", "segments": []}, None)
    data = read_cell(run, "c003", 2)
    assert data.samples is None
    assert data.record.status == "timeout"
    assert list(finished_cells(run)) == [("c003", 1), ("c003", 2)]


def test_samples_without_a_record_are_no_finished_cell(run: Path) -> None:
    (run / "cells" / "c003.l1.json").unlink()
    (run / "cells" / "c004.l1.json.part").write_text("{")
    assert list(finished_cells(run)) == []
    refused(run, "no such cell record")


def test_cells_and_launches_are_ordered_by_number(run: Path) -> None:
    for launch in (10, 2):
        write_cell(run, RECORD | {"launch_index": launch}, SAMPLES)
    assert list(finished_cells(run)) == [("c003", 1), ("c003", 2), ("c003", 10)]


def test_missing_samples_are_named(run: Path) -> None:
    npy(run).unlink()
    refused(run, "samples are missing", "c003.l1.npy")


def test_a_short_file_is_torn(run: Path) -> None:
    whole = npy(run).read_bytes()
    npy(run).write_bytes(whole[:-1])
    refused(run, f"has {len(whole) - 1} bytes, expected {len(whole)}")


def test_a_long_file_is_torn(run: Path) -> None:
    with npy(run).open("ab") as file:
        file.write(b"\0")
    refused(run, "bytes, expected")


@pytest.mark.parametrize("rank", [0, 1])
def test_one_flipped_bit_is_found_and_its_rank_named(run: Path, rank: int) -> None:
    content = bytearray(npy(run).read_bytes())
    content[len(content) - 240 + rank * 120 + 17] ^= 1
    npy(run).write_bytes(bytes(content))
    refused(run, f"rank {rank} have checksum")


def test_a_pickle_is_never_opened(run: Path) -> None:
    """np.load would run what the file says, were pickles allowed."""

    class Bomb:
        def __reduce__(self) -> tuple[Any, Any]:
            return (Path.touch, (run / "exploded",))

    np.save(npy(run), np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(run, "holds object")
    npy(run).write_bytes(pickle.dumps(Bomb()))
    refused(run, "not a .npy file")
    assert not (run / "exploded").exists()


@pytest.mark.parametrize(
    ("samples", "pattern"),
    [
        (SAMPLES.astype("<i4"), "holds int32"),
        (SAMPLES.astype(">i8"), "holds >i8"),
        (np.asfortranarray(SAMPLES), "Fortran order"),
        (SAMPLES[:, :4], "holds shape"),
        (SAMPLES.reshape(-1), "holds shape"),
    ],
)
def test_other_arrays_are_refused(run: Path, samples: np.ndarray, pattern: str) -> None:
    np.save(npy(run), samples)
    refused(run, pattern)


def test_a_header_that_promises_terabytes_allocates_nothing(run: Path) -> None:
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 99999999999, 3)}".ljust(117) + b"\n"
    npy(run).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    refused(run, "holds shape")
    change(run, shape=[2, 99999999999, 3])
    refused(run, "bytes, expected")


@pytest.mark.parametrize(
    ("entries", "pattern"),
    [
        ({"schema": "weft-cell/1"}, "schema is 'weft-cell/1'"),
        ({"cell": "c004"}, "calls itself cell c004"),
        ({"launch_index": 2}, "launch 2"),
        ({"status": "fine"}, "status is 'fine'"),
        ({"shape": [2, -5, 3]}, "shape.1 is -5"),
        ({"shape": None}, "no shape"),
        ({"ranks": 3}, "3 ranks"),
        ({"crc32": [1]}, "1 checksums"),
        ({"segments": []}, "hold 0 samples, the .npy 5"),
        ({"segments": RECORD["segments"][1:]}, "starts at 1, expected 0"),
        ({"segments": [{"op": "C", "phase": "hot", "first": 0, "count": 5}]}, "phase is 'hot'"),
        ({"segments": [{"op": "C", "phase": "warm", "first": 0, "count": 5, "batch": 0}]}, "batch is 0"),
        ({"segments": [{"op": "C/../x", "phase": "warm", "first": 0, "count": 5}]}, "op is 'C/../x'"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(run: Path, entries: dict[str, Any], pattern: str) -> None:
    change(run, **entries)
    refused(run, pattern)


def test_negative_durations_are_refused(run: Path) -> None:
    samples = SAMPLES.copy()
    samples[1, 2, 1] = -1
    write_cell(run, RECORD, samples)
    refused(run, "duration is negative")


def test_an_empty_cell_is_read(run: Path) -> None:
    write_cell(run, RECORD | {"segments": []}, np.empty((2, 0, 3)))
    samples = read_cell(run, "c003", 1).samples
    assert samples is not None
    assert samples.shape == (2, 0, 3)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=300), keep=st.integers(0, 300))
@example(content=b"\x01" * 23 + b"{", keep=104)  # a header that numpy's tokenizer does not find the end of
def test_whatever_stands_in_the_files_only_a_data_error_comes_out(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, keep: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    (folder / "cells").mkdir()
    write_cell(folder, RECORD, SAMPLES)
    for ending in ("npy", "json"):
        path = folder / "cells" / f"c003.l1.{ending}"
        whole = path.read_bytes()
        path.write_bytes(whole[:keep] + content)
        try:
            read_cell(folder, "c003", 1)
        except DataError as error:
            assert error.remedy
        path.write_bytes(whole)
