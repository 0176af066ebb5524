# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices: numbers as they stand, and what is no matrix refused by its first bytes."""

import os
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from weft.errors import StudyError
from weft.files.matrix import read_matrix


def test_whole_numbers_are_taken_as_they_stand(tmp_path: Path) -> None:
    text = tmp_path / "traffic.txt"
    text.write_text("0 4096\n1048576, 7\n\n")
    assert read_matrix(text) == [[0, 4096], [1048576, 7]]
    np.save(tmp_path / "traffic.npy", np.array([[0, 4096], [1048576, 7]]))
    assert read_matrix(tmp_path / "traffic.npy") == [[0, 4096], [1048576, 7]]


def test_other_numbers_are_scaled_to_a_million(tmp_path: Path) -> None:
    (tmp_path / "shares.txt").write_text("0.5 0.25\n0.125 0\n")
    assert read_matrix(tmp_path / "shares.txt") == [[1_000_000, 500_000], [250_000, 0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 2\n3\n", "traffic.txt"),
        ("1 2 3\n4 5 6\n", r"shape \(2, 3\)"),
        ("1 two\n3 4\n", "two"),
        ("0 0\n0 0\n", "between 0 and 0"),
        ("1 -2\n3 4\n", "between -2 and 4"),
        ("nan 1\n1 1\n", "between nan"),
        ("", "shape"),
    ],
)
def test_what_is_no_matrix_is_refused_with_what_was_seen(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "traffic.txt").write_text(text)
    with pytest.raises(StudyError, match=why) as caught:
        read_matrix(tmp_path / "traffic.txt")
    assert caught.value.remedy


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"


@pytest.mark.parametrize("name", ["traffic.npy", "traffic.txt", "traffic"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "shape"),
        (b"\x93NUMPY", "header"),
        (b"\x93NUMPY\x01\x00\xff\xff", "header"),
        (b"\x93NUMPY\x07\x00\x04\x00abcd", "header"),
        (npy(GOOD), "0 bytes of data"),
        (npy(GOOD, bytes(31)), "31 bytes of data"),
        (npy(GOOD, bytes(40)), "40 bytes of data"),
        (npy(GOOD.replace("2, 2", "999999999, 999999999"), bytes(32)), "bytes of data for shape"),
        (npy(GOOD.replace("2, 2", "9" * 5000 + ", 2"), bytes(32)), "header"),
        (npy(GOOD.replace("(2, 2), }", "(2, 2"), bytes(32)), "header"),
        (npy("{" + "(" * 9000, bytes(32)), "header"),
        (npy(GOOD.replace("<f8", "|O"), bytes(32)), "header"),
        (npy(GOOD.replace("2, 2", "4,"), bytes(32)), "header"),
        (npy(GOOD.replace("<f8", "<c16"), bytes(64)), "header"),
        (b"PK\x03\x04 and more", "archive"),
        (b"\x00" * 300_000, "too long"),
        (b"1 " * 300_000, "too long"),
        (b"1 2\n3 4\n5 6\n", "one too many"),
        (b"\xff\xfe", "utf-8"),
        (b"1" * 5000, "between inf and inf"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_its_first_bytes(
    name: str, content: bytes, why: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StudyError, match=why) as caught:
        read_matrix(tmp_path / name)
    assert len(caught.value.what) < 400 + len(str(tmp_path))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<i8", ">i4", "|u1", "<f2", "<f8"])
def test_numpys_matrices_of_numbers_are_read(kind: str, order: Literal["C", "F"], tmp_path: Path) -> None:
    np.save(tmp_path / "traffic.npy", np.array([[0, 1], [2, 3]], dtype=kind, order=order))
    assert read_matrix(tmp_path / "traffic.npy") == [[0, 1], [2, 3]]


def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "folder.npy").mkdir()
    for path in (tmp_path / "pipe.npy", tmp_path / "folder.npy", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(StudyError, match=path.name):
            read_matrix(path)


def test_a_missing_matrix_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"none\.npy"):
        read_matrix(tmp_path / "none.npy")
