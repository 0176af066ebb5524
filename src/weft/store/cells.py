# SPDX-License-Identifier: BSD-3-Clause
"""Reading a cell: its record and its samples, accepted only if shape, size and checksums agree. What samples lost to
others (METHOD 11) is the third number of their rows (native/measure/sample/recorder.hpp): 48 bits of ns, or of context
switches; above them major page faults. In earlier records (``taint``) 32 bits are switches.
"""

import mmap
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError
from weft.files.beneath import open_plain
from weft.store.records import MEASURE_AGAIN, CellRecord, load_cell_record, unreadable

START, DURATION, LOST = 0, 1, 2
HEADER_BYTES = 128
_OURS = re.compile(
    rb"\x93NUMPY\x01\x00\x76\x00\{'descr': '<i8', 'fortran_order': False, "
    rb"'shape': \((0|[1-9][0-9]{0,17}), (0|[1-9][0-9]{0,17}), 3\), \} *\n"
)
"""What the kernels write before the samples (native/measure/record/store.cpp)."""
Longs: TypeAlias = NDArray[np.int64]
_NAME = re.compile(r"(?P<cell>[A-Za-z0-9_-]+)\.l(?P<launch>[1-9][0-9]*)\.json")


@dataclass(frozen=True)
class Origin:
    """Run id and hashes that the records of a run must repeat; others were written for another run or cell."""

    run: str  # the run's id, from ``weft.json``
    hashes: Mapping[str, str]  # hash of the parameters of each cell of the plan
    shapes: Mapping[str, tuple[int, int]]  # ranks of each cell, and at most so many rows of each of them

    def check(self, path: Path, record: CellRecord) -> None:
        """Raise DataError if a record is of another run, of other parameters of its cell, or has too many samples."""
        if record.run != self.run:
            raise _torn(path, f"it was written for run {record.run or '(none)'}, this is run {self.run}")
        planned = self.hashes.get(record.cell)
        if planned != record.hash:
            why = f"it was measured with other parameters (hash {record.hash or '(none)'}) than cell {record.cell} of "
            raise _torn(path, f"{why}plan.json has ({planned or 'no such cell'})")
        ranks, most = self.shapes[record.cell]
        if record.shape and (record.shape[0] != ranks or record.shape[1] > most):
            why = f"{record.shape[0]} ranks of {record.shape[1]:,} rows; planned: {ranks}, at most {most:,}"
            raise _torn(path, why)


@dataclass(frozen=True)
class CellData:
    """A finished cell of one launch."""

    record: CellRecord
    # (ranks, samples, 3): start and duration in ns, what was lost (`weft.store.parquet`), mapped from the file, read
    # only; None if the status says that there are none
    samples: NDArray[np.int64] | None


def folder_path(folder: Any) -> Path:
    """Path of a run folder, given as a path or as anything with a ``path`` (weft.store.folder.RunFolder)."""
    path: str | Path = folder if isinstance(folder, str | Path) else folder.path
    return Path(path)


def finished_cells(folder: Any) -> Iterator[tuple[str, int]]:
    """Each finished (cell, launch index), that is with a .json, which is written last; in order."""
    cells = folder_path(folder) / "cells"
    names = (_NAME.fullmatch(entry.name) for entry in os.scandir(cells)) if cells.is_dir() else ()
    yield from sorted((name["cell"], int(name["launch"])) for name in names if name)


def read_record(folder: Any, cell: str, launch: int, origin: Origin | None = None) -> CellRecord:
    """Read the record of one finished cell; DataError if it is missing, torn, or of another cell or run."""
    path = folder_path(folder) / "cells" / f"{cell}.l{launch}.json"
    record = load_cell_record(path)
    if (record.cell, record.launch_index) != (cell, launch):
        raise _torn(path, f"the record calls itself cell {record.cell}, launch {record.launch_index}")
    if origin:
        origin.check(path, record)
    return record


def read_cell(folder: Any, cell: str, launch: int, *, checksums: bool = True, origin: Origin | None = None) -> CellData:
    """Read and verify one finished cell, of this ``origin`` if given; DataError if it is not whole, or of another."""
    return read_samples(folder, read_record(folder, cell, launch, origin), checksums=checksums)


def read_samples(folder: Any, record: CellRecord, *, checksums: bool = True) -> CellData:
    """Read and verify the samples of a cell whose record is read; DataError if they do not match it."""
    if not record.has_samples:
        return CellData(record, None)
    path = folder_path(folder) / "cells" / f"{record.cell}.l{record.launch_index}.npy"
    samples = _map_samples(path, record)
    end = 0
    for segment in record.segments:  # a gap would be data that no table shows
        if segment.first != end:
            why = f"segment {segment.op} {segment.phase} starts at {segment.first}, expected {end}"
            raise _torn(path.with_suffix(".json"), why)
        end += segment.count
    if end != samples.shape[1]:
        raise _torn(path.with_suffix(".json"), f"the segments hold {end} samples, the .npy {samples.shape[1]}")
    # a view of bytes is cut three times as fast as an array, and a cell may have thousands of short slabs
    slab, whole = samples.nbytes // max(1, len(samples)), samples.data.cast("B") if samples.size else b""
    for rank, expected in enumerate(record.crc32 if checksums else ()):
        found = zlib.crc32(whole[rank * slab : (rank + 1) * slab])
        if found != expected:
            raise _torn(path, f"the samples of rank {rank} have checksum {found:08x}, expected {expected:08x}")
    if checksums and samples.size and int(samples[:, :, DURATION].min()) < 0:
        raise _torn(path, "a duration is negative")
    return CellData(record, samples)


def _torn(path: Path, why: str) -> DataError:
    return DataError(f"{path}: {why}", MEASURE_AGAIN)


def _map_samples(path: Path, record: CellRecord) -> NDArray[np.int64]:
    if record.shape is None:
        raise _torn(path, f"the record has status {record.status} and no shape")
    if record.shape[0] != record.ranks or len(record.crc32) != record.ranks:
        raise _torn(path, f"{record.ranks} ranks, but shape {record.shape} and {len(record.crc32)} checksums")
    try:
        with open_plain(path) as file:
            shape, fortran, dtype = _read_header(file)
            offset, size = file.tell(), os.fstat(file.fileno()).st_size
            # np.memmap would make each slice of it a memmap again, half of what reading many small cells takes
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise _torn(path, "the samples are missing") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, SyntaxError, TokenError, MemoryError, RecursionError, OverflowError, TypeError) as error:
        # NumPy parses the header as Python text: garbage in it may raise any of these.
        raise _torn(path, f"not a .npy file: {str(error).splitlines()[0][:120] if str(error) else error!r}") from None
    if dtype != np.dtype("<i8") or fortran:
        raise _torn(path, f"holds {dtype} in {'Fortran' if fortran else 'C'} order, expected int64 in C order")
    if shape != record.shape:
        raise _torn(path, f"holds shape {shape}, its record says {record.shape}")
    expected = offset + 24 * record.shape[0] * record.shape[1]
    if size != expected:
        raise _torn(path, f"has {size} bytes, expected {expected}")
    if size == offset:
        return np.empty(record.shape, np.int64)
    return np.frombuffer(mapped, np.int64, offset=offset).reshape(record.shape)


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    head = file.read(HEADER_BYTES)
    if ours := _OURS.fullmatch(head):  # NumPy would parse it as Python text, which takes a cell longer than its samples
        return (int(ours[1]), int(ours[2]), 3), False, np.dtype("<i8")
    file.seek(0)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f".npy version {version} is not known")
    return readers[version](file)


def unpack_lost(packed: Longs, duration_ns: Longs, column: str) -> tuple[Longs, Longs]:
    """The most that each sample lost, in ns (all of it, by a fault or switch), and its major page faults."""
    bits = 32 if column == "taint" else 48
    lost_ns: Any = packed & ((1 << bits) - 1)
    faults: Any = packed >> bits
    unknown = (faults > 0) | ((lost_ns > 0) if column in ("taint", "switches") else False)
    return np.where(unknown, duration_ns, np.minimum(lost_ns, duration_ns)), faults
