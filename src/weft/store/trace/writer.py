# SPDX-License-Identifier: BSD-3-Clause
"""Writing a rank's trace as the tracer does (docs/dev/trace-format.md), for traces that other tools took."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from weft.files.atomic import file_errors, own_file
from weft.store.trace import layout
from weft.store.trace.layout import State

_CALL = struct.Struct("<HHIIiqqqqQiI")
_FIELDS = (layout.RECORD.names or ())[1:]
_DEFINED = struct.Struct("<HHIIi")
_COMMUNICATOR = struct.Struct("<HHIIiQqqqQiI")
AT_ONCE = 1 << 14  # records held before they are written: 1 MiB


class RankRecords:
    """A rank's head and records in the making."""

    def __init__(self, rank: int, ranks: int, **header: Any) -> None:
        self.head: Any = np.zeros((), layout.HEADER)
        sizes = {"header_bytes": layout.HEADER_BYTES, "record_bytes": layout.RECORD_BYTES}
        given = {"magic": layout.MAGIC, "version": layout.VERSION, **sizes, "rank": rank, "ranks": ranks, **header}
        for name, value in given.items():
            self.head[name] = value
        self.records: list[bytes] = []

    def call(self, name: str, begin_ns: int, end_ns: int, **rest: int) -> None:
        """Add a call, or the completion of a request; ``rest`` are fields of ``layout.RECORD``."""
        given = {"comm": layout.WORLD, "peer": layout.NO_PEER, "begin_ns": begin_ns, "end_ns": end_ns} | rest
        number = layout.COMPLETE if name == layout.FINISH else layout.NUMBERS[name]
        self.records.append(_CALL.pack(number, *(given.get(field, 0) for field in _FIELDS)))

    def counts(self, sent: Sequence[int], comm: int = layout.WORLD) -> None:
        """Add the bytes to each member of the call before."""
        self._pieces(layout.COUNTS, np.array(sent, "<i8"), layout.COUNTS_EACH, comm)

    def targets(self, sent: Mapping[int, int], comm: int = layout.WORLD) -> None:
        """Add the bytes to some ranks of the call before, by their rank in the world."""
        ranks = list(sent)
        for first in range(0, len(ranks), layout.TARGETS_EACH):
            some = ranks[first : first + layout.TARGETS_EACH]
            given = np.zeros(layout.TARGETS_EACH, "<i8")
            given[: len(some)] = [sent[rank] for rank in some]
            self._record(layout.TARGETS, 0, comm, given.tobytes() + np.array(some, "<i4").tobytes(), len(some))

    def communicator(self, number: int, uid: int, members: Sequence[int], parent: int = layout.WORLD) -> None:
        """Define a communicator of these world ranks; ``uid`` is the same on all its ranks, and no other's."""
        mine = list(members).index(int(self.head["rank"]))
        fields = (layout.COMMUNICATOR, 0, 0, number, mine, uid, len(members), parent, 0, 0, 0, 0)
        self.records.append(_COMMUNICATOR.pack(*fields))
        self._pieces(layout.MEMBERS, np.array(members, "<i4"), layout.MEMBERS_EACH, number)

    def site(self, number: int, text: str) -> None:
        """Define a call site."""
        raw = text.encode()
        for start in range(0, len(raw), layout.TEXT_EACH):
            part = raw[start : start + layout.TEXT_EACH]
            self._record(layout.SITE, number, 0, part, len(part))

    def _pieces(self, call: int, values: Any, each: int, comm: int) -> None:
        for first in range(0, len(values), each):
            some = values[first : first + each]
            self._record(call, first, comm, some.tobytes(), len(some))

    def _record(self, call: int, site: int, comm: int, payload: bytes, valid: int) -> None:
        head = _DEFINED.pack(call, 0, site, comm, valid)
        self.records.append(head + payload.ljust(layout.RECORD_BYTES - layout.PAYLOAD, b"\0"))


class RankFile(RankRecords):
    """A rank's records on their way to its file; a context, at whose end it is whole. DataError from all methods."""

    def __init__(self, folder: Path, rank: int, ranks: int, **header: Any) -> None:
        super().__init__(rank, ranks, **header)
        self.path = folder / f"rank-{rank:07d}.trace"
        with file_errors(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = own_file(self.path)
            self._file.write(self.head.tobytes())
        self.head["state"] = int(self.head["state"]) | State.SUMMED
        self._crc = zlib.crc32(self.head.tobytes())

    def __enter__(self) -> "RankFile":
        return self

    def __exit__(self, *_: object) -> None:
        with file_errors(self.path), self._file:
            self._write()
            self.head["crc"] = self._crc
            self._file.seek(0)
            self._file.write(self.head.tobytes())

    def call(self, name: str, begin_ns: int, end_ns: int, **rest: int) -> None:
        """Add a call as :meth:`RankRecords.call`, and write what is held once it is a piece."""
        super().call(name, begin_ns, end_ns, **rest)
        if len(self.records) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        with file_errors(self.path):
            self._write()

    def _write(self) -> None:
        written = b"".join(self.records)
        self._crc = zlib.crc32(written, self._crc)
        self._file.write(written)
        self.records.clear()
