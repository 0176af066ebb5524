# SPDX-License-Identifier: BSD-3-Clause
"""The times of all pairs by columns: of ``tables/pairs.parquet`` one column of one way is read at a time.

4,096 ranks have 16.8 million ordered pairs, 134 MB a column. NumPy sorts and groups them in a fraction of the time of
an engine, which hashes the key of every row; so pairs are analysed here, whichever engine made them of the samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.analyse.pairs.places import Places
from weft.errors import DataError
from weft.files.beneath import plain_file
from weft.store.tables import UNREADABLE, unreadable

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
KEYS = ("bytes", "mode", "launch_id")
BLOCK = 1 << 20  # rows of which the keys are read at a time
MEASURED = ("median_s", "again_1_s", "again_2_s")


class Piece(NamedTuple):
    """Consecutive rows of one launch and way in a row group, which is read whole: from ``first`` to before ``last``."""

    launch: str
    number: int  # index of the launch; those of one round of launches may share the pairs among them
    bytes: int
    mode: str
    first: int
    last: int


class PairFile:
    """``tables/pairs.parquet`` of a run, or ``by_nodes``: one of nodes, made of it; DataError if unreadable."""

    def __init__(self, root: Path, by_nodes: Path | None = None) -> None:
        self._root, self.by_nodes, path = root, by_nodes is not None, by_nodes or root / "tables" / "pairs.parquet"
        try:
            self._file = pq.ParquetFile(plain_file(path), read_dictionary=["mode", "launch_id"])
            self.pieces = list(self._pieces())
        except UNREADABLE as error:
            raise self._torn(error) from None
        head = self._file.metadata
        rows = [head.row_group(at).num_rows for at in range(head.num_row_groups)]
        self._ends: NDArray[np.int64] = np.cumsum(np.array(rows, np.int64))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def launches(self) -> list[str]:
        """The launches that measured pairs."""
        return sorted({piece.launch for piece in self.pieces})

    def ways(self, launches: Sequence[str]) -> list[tuple[int, str]]:
        """Size and mode of all ways in which these launches measured."""
        return sorted({(piece.bytes, piece.mode) for piece in self.pieces if piece.launch in launches})

    def read(self, name: str, pieces: Sequence[Piece], kind: Any = np.float64) -> NDArray[Any]:
        """A column of these pieces, shape (rows,); nan for null."""
        found = np.empty(sum(piece.last - piece.first for piece in pieces), kind)
        at = 0
        for piece in pieces:
            first, last = np.searchsorted(self._ends, (piece.first, piece.last - 1), side="right").tolist()
            for group in range(first, last + 1):
                begin = int(self._ends[group - 1]) if group else 0
                own = self._group(group, name)[max(piece.first - begin, 0) : piece.last - begin]
                found[at : at + len(own)] = own
                at += len(own)
        return found

    def _group(self, group: int, name: str) -> NDArray[Any]:
        try:
            return self._file.read_row_group(group, [name], use_threads=False)[name].to_numpy()
        except UNREADABLE as error:
            raise self._torn(error) from None

    def _torn(self, error: Exception) -> DataError:
        return unreadable(self._root, self._root / "tables" / "pairs.parquet", error)

    def _pieces(self) -> Iterator[Piece]:
        def keys(group: int) -> Iterator[pa.RecordBatch]:
            return self._file.iter_batches(BLOCK, row_groups=[group], columns=["launch", *KEYS], use_threads=False)

        row = 0
        for batch in chain.from_iterable(map(keys, range(self._file.metadata.num_row_groups))):
            index, size = (batch.column(name).to_numpy() for name in ("launch", "bytes"))
            mode, launch = (cast(pa.DictionaryArray, batch.column(name)) for name in ("mode", "launch_id"))
            modes, launches = mode.indices.to_numpy(), launch.indices.to_numpy()
            names: list[list[str]] = [mode.dictionary.to_pylist(), launch.dictionary.to_pylist()]
            changed = np.logical_or.reduce([np.diff(each) != 0 for each in (index, size, modes, launches)])
            ends = [*(np.flatnonzero(changed) + 1).tolist(), len(size)] if len(size) else []
            first = 0
            for last in ends:
                way = int(size[first]), names[0][int(modes[first])]
                yield Piece(names[1][int(launches[first])], int(index[first]), *way, row + first, row + last)
                first = last
            row += len(size)


@dataclass(frozen=True, eq=False)
class Ends:
    """Ordered pairs of ranks, ascending; shape (pairs,) each."""

    source: Ints
    target: Ints
    places: Places

    @cached_property
    def kind(self) -> NDArray[np.int16]:
        """Hop class of each."""
        return self.places.classes.ravel()[self.nodes]

    @cached_property
    def nodes(self) -> Ints:
        """Cell of each in the flattened node matrix."""
        node_of = self.places.node_of
        return node_of[self.source] * np.int32(len(self.places.nodes)) + node_of[self.target]

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which are of one node."""
        return self.nodes % np.int32(len(self.places.nodes) + 1) == 0

    @property
    def code(self) -> NDArray[np.int64]:
        """One number for each."""
        return self.source.astype(np.int64) * self.places.ranks + self.target


@dataclass(frozen=True, eq=False)
class PairTimes:
    """Ordered pairs measured in one way (size and mode), with a time of each over all launches of a placement."""

    file: PairFile
    bytes: int
    mode: str
    ends: Ends
    parts: tuple[tuple[Piece, ...], ...]  # of each index of launches
    rows: tuple[NDArray[np.int64] | None, ...]  # place of each launch's rows among the pairs; None where they are these

    @property
    def way(self) -> tuple[int, str]:
        """Size and mode."""
        return self.bytes, self.mode

    def each(self, name: str, kind: Any = np.float64) -> Iterator[NDArray[Any]]:
        """A column of each launch, shape (pairs,); nan, or 0 of whole numbers, where a launch has no such pair."""
        for part, rows in zip(self.parts, self.rows, strict=True):
            values = self.file.read(name, part, kind)
            if rows is not None:
                found = np.full(len(self.ends.source), np.nan if np.issubdtype(kind, np.floating) else 0, kind)
                found[rows] = values
                values = found
            yield values

    def over_launches(self, name: str) -> Floats:
        """The median over launches of a column, shape (pairs,); nan where no launch has it."""
        return middle(list(self.each(name)))

    @cached_property
    def time_s(self) -> Floats:
        """Half a round trip, of a pair measured again the median of three (METHOD 19); its median over launches."""
        return middle([self._judged(part)[0] for part in range(len(self.parts))])

    @cached_property
    def checked(self) -> NDArray[np.bool_]:
        """Which were measured again in any launch."""
        return np.logical_or.reduce([self._judged(part)[1] for part in range(len(self.parts))])

    def _judged(self, part: int) -> tuple[Floats, NDArray[np.bool_]]:
        one = PairTimes(self.file, self.bytes, self.mode, self.ends, (self.parts[part],), (self.rows[part],))
        return judged(*(next(one.each(name)) for name in MEASURED))

    def counts(self, name: str = "pairs") -> NDArray[np.int64] | None:
        """How many pairs of ranks each is, of pairs of nodes: the most of any launch; else None."""
        return np.maximum.reduce(list(self.each(name, np.int64))) if self.file.by_nodes else None

    @cached_property
    def slowest_s(self) -> Floats:
        """The time of the slowest of its pairs of ranks: its own, unless it is of nodes."""
        return self.of_slowest("slowest_s", np.float64) if self.file.by_nodes else self.time_s

    def of_slowest(self, name: str, kind: Any) -> NDArray[Any]:
        """A column of the launch in which the slowest of its pairs of ranks takes the (lower) median time."""
        return _row_of(np.stack(list(self.each(name, kind))), self._launch)

    @cached_property
    def _launch(self) -> NDArray[np.int64]:
        each = np.stack(list(self.each("slowest_s")))
        return _row_of(np.argsort(each, axis=0), np.maximum(np.isfinite(each).sum(axis=0) - 1, 0) // 2)


def judged(first: Floats, second: Floats, third: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The median of three where a pair was measured again (in place), and where that is."""
    again = np.isfinite(second) & np.isfinite(third)
    at = np.flatnonzero(again)
    first[at] = np.median([first[at], second[at], third[at]], axis=0)
    return first, again


def inconsistent(least: Floats, middle_s: Floats, most: Floats, samples: NDArray[Any]) -> NDArray[np.bool_]:
    """Which pairs have no samples, or a median that is not between the shortest and the longest (METHOD 20)."""
    return ~((least > 0) & (least <= middle_s) & (middle_s <= most) & (samples > 0) & (most < np.inf))


def middle(columns: Sequence[Floats]) -> Floats:
    """The median of columns, each of shape (pairs,), without their nan."""
    if len(columns) == 1:
        return columns[0]
    ordered = np.sort(np.stack(columns), axis=0)  # nan last
    count = np.isfinite(ordered).sum(axis=0)
    low, high = (_row_of(ordered, np.maximum(at, 0)) for at in ((count - 1) // 2, count // 2))
    return np.where(count > 0, (low + high) / 2, np.nan)


def _row_of(table: NDArray[Any], row: NDArray[np.int64]) -> NDArray[Any]:
    """Of each column the value in a row of its own."""
    return np.take_along_axis(table, row[np.newaxis], axis=0)[0]


def read_pair_times(file: PairFile, launches: Sequence[str], places: Places) -> list[PairTimes]:
    """The pairs of these launches, way by way: in order of size and mode. Ways of the same pairs share their ends."""
    found: list[PairTimes] = []
    known: list[Ends] = []
    for size, mode in file.ways(launches):
        own = [each for each in file.pieces if (each.bytes, each.mode) == (size, mode) and each.launch in launches]
        numbers = sorted({each.number for each in own})
        parts = tuple(tuple(each for each in own if each.number == number) for number in numbers)
        codes = [file.read("source", part, np.int64) for part in parts]
        for code, part in zip(codes, parts, strict=True):  # in place: of many ranks each takes a hundred megabytes
            code *= places.ranks
            code += file.read("target", part, np.int32)
        every = codes[0]
        if any(not np.array_equal(code, every) for code in codes[1:]) or (np.diff(every) <= 0).any():
            every = np.sort(np.concatenate(codes))  # numpy's unique hashes them, which takes many times as long
            every = every[np.diff(every, prepend=-1) > 0]
        rows = tuple(None if np.array_equal(code, every) else np.searchsorted(every, code) for code in codes)
        ends = next((each for each in known if np.array_equal(each.code, every)), None)
        if ends is None:
            source, target = np.divmod(every, places.ranks)
            ends = Ends(source.astype(np.int32), target.astype(np.int32), places)
            known.append(ends)
        found.append(PairTimes(file, size, mode, ends, parts, rows))
    return found
