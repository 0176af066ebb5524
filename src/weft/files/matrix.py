# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices in files: text (also nccl-tests' for alltoallv), NumPy's .npy, PyTorch's traces of collectives."""

import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StudyError
from weft.files.collectives import read_collectives

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_WEIGHT = 2**50
SCALE = 10**6
MOST_SIDE = 8192
MOST_LINE = 32 * MOST_SIDE
MOST_HEADER = 10_000
NPY = b"\x93NUMPY"
ARCHIVE = b"PK\x03\x04"
HEADER = re.compile(
    r"\{'descr': '([<>=|]?(?:[iu][1248]|f[248]))', 'fortran_order': (True|False), "
    r"'shape': \(([0-9]{1,9}), ([0-9]{1,9})\), \}\s*",
    re.ASCII,
)
EXAMPLE = "p lines of p numbers (text), or numpy.save(path, matrix): row i holds what rank i sends to each"


def read_matrix(path: Path) -> list[list[int]]:
    """Weights of a traffic matrix, as whole numbers: row i holds what rank i sends to each.

    Whole numbers stay, so that bytes are sent as they stand where the sweep's size is the largest; others are scaled to
    a million. Nothing is read that the header, or the first line, does not allow. Raises StudyError: no file, no square
    of numbers, a negative one, or nothing but zeros; or one of over 8,192 ranks.
    """
    import numpy as np

    try:
        # a pipe would wait for its writer
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no plain file")
            start = file.peek(6)[:6]
            is_json = start.lstrip()[:1] in (b"{", b"[")
            found = _npy(file) if start == NPY else read_collectives(path) if is_json else _text(file)
    except (OSError, ValueError, RecursionError) as problem:
        raise StudyError(f"traffic matrix {path}: {problem}", f"write {EXAMPLE}") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise StudyError(f"traffic matrix {path}: shape {found.shape} of {found.dtype}", f"write {EXAMPLE}")
    values: NDArray[np.float64] = found.astype(float)
    if not np.isfinite(values).all() or values.min() < 0 or not 0 < values.max() <= MOST_WEIGHT:
        what = f"traffic matrix {path}: its numbers are between {values.min():g} and {values.max():g}"
        raise StudyError(what, "give numbers from 0 to 2^50, not all of them 0")
    if (values != np.floor(values)).any():
        values = np.asarray(np.round(values * (SCALE / float(values.max()))), np.float64)
    return values.astype(np.int64).tolist()


def _npy(file: BufferedReader) -> "NDArray[Any]":
    import numpy as np

    start = file.read(12)
    prefix = 10 if start[6:7] == b"\x01" else 12
    size = int.from_bytes(start[8:prefix], "little")
    if len(start) < prefix or start[6:8] not in (b"\x01\0", b"\x02\0", b"\x03\0") or size > MOST_HEADER:
        raise ValueError(f"its header of {size} bytes is none of NumPy's")
    file.seek(prefix)
    header = file.read(size).decode("latin-1")
    known = HEADER.fullmatch(header)
    if known is None:
        raise ValueError(f"its header {header[:80].strip()!r} is not that of numbers in the shape (p, p)")
    kind, shape = np.dtype(known[1]), (int(known[3]), int(known[4]))
    length = os.fstat(file.fileno()).st_size - prefix - size
    if max(shape) > MOST_SIDE or shape[0] * shape[1] * kind.itemsize != length:
        raise ValueError(f"{length:,} bytes of data for shape {shape} of {kind} (at most {MOST_SIDE:,} ranks)")
    return np.fromfile(file, kind, shape[0] * shape[1]).reshape(shape, order="F" if known[2] == "True" else "C")


def _text(file: BufferedReader) -> "NDArray[Any]":
    import numpy as np

    if file.peek(4)[:4] == ARCHIVE:
        raise ValueError("it is an archive (numpy.savez)")
    rows: list[NDArray[Any]] = []
    while line := file.readline(MOST_LINE):
        words = line.decode("utf-8").replace(",", " ").split()
        if len(line) == MOST_LINE or len(words) > MOST_SIDE or (rows and len(rows) == len(rows[0]) and words):
            raise ValueError(f"line {len(rows) + 1} is one too many, or too long (at most {MOST_SIDE:,} ranks)")
        if words:
            rows.append(np.array([float(word) for word in words]))
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(f"{len(rows[-1])} numbers in row {len(rows)}, and {len(rows[0])} in the first")
    return np.array(rows)
