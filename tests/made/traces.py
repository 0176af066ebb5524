# SPDX-License-Identifier: BSD-3-Clause
"""Writes traces as the tracer does, of calls that nobody made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.store.trace.layout import (
    COMMUNICATOR,
    COMPLETE,
    COUNTS,
    COUNTS_EACH,
    FINISH,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MEMBERS,
    MEMBERS_EACH,
    NO_PEER,
    NUMBERS,
    PAYLOAD,
    RECORD,
    RECORD_BYTES,
    SITE,
    TEXT_EACH,
    VERSION,
    WORLD,
    State,
)  # fmt: skip

CLOSED = State.CLOSED | State.SHARED_CLOCK | State.CLOCK_CLOSED


class MadeRank:
    """A rank's trace in the making.

    Parameters
    ----------
    rank, ranks
        Of MPI_COMM_WORLD.
    """

    def __init__(self, rank: int, ranks: int, **header: Any) -> None:
        self.head: Any = np.zeros((), HEADER)
        given = {
            "magic": MAGIC, "version": VERSION, "header_bytes": HEADER_BYTES, "record_bytes": RECORD_BYTES,
            "rank": rank, "ranks": ranks, "state": int(CLOSED), "host": b"made", "library": b"made MPI",
            "cost_ns": 80.0, "closed_ns": 1_000_000_000, **header,
        }  # fmt: skip
        for name, value in given.items():
            self.head[name] = value
        self.records: list[bytes] = []

    def call(self, name: str, begin_ns: int, end_ns: int, **rest: Any) -> "MadeRank":
        """Add a call; ``rest`` are fields of the record."""
        record: Any = np.zeros((), RECORD)
        given = {"peer": NO_PEER, "comm": WORLD, "begin_ns": begin_ns, "end_ns": end_ns, **rest}
        given["call"] = COMPLETE if name == FINISH else NUMBERS[name]
        for key, value in given.items():
            record[key] = value
        self.records.append(record.tobytes())
        return self

    def counts(self, sent: Sequence[int], comm: int = WORLD) -> "MadeRank":
        """Add the bytes to each member of the call before."""
        self._pieces(COUNTS, np.array(sent, "<i8"), COUNTS_EACH, comm)
        return self

    def communicator(self, number: int, uid: int, members: Sequence[int], parent: int = WORLD) -> "MadeRank":
        """Define a communicator of these world ranks."""
        record: Any = np.zeros((), RECORD)
        mine = list(members).index(int(self.head["rank"]))
        record["call"], record["comm"], record["peer"] = COMMUNICATOR, number, mine
        record["begin_ns"], record["end_ns"], record["bytes"] = np.uint64(uid).astype(np.int64), len(members), parent
        self.records.append(record.tobytes())
        self._pieces(MEMBERS, np.array(members, "<i4"), MEMBERS_EACH, number)
        return self

    def site(self, number: int, text: str) -> "MadeRank":
        """Define a call site."""
        raw = text.encode()
        for start in range(0, len(raw), TEXT_EACH):
            self._record(SITE, number, 0, raw[start : start + TEXT_EACH], len(raw[start : start + TEXT_EACH]))
        return self

    def _pieces(self, call: int, values: Any, each: int, comm: int) -> None:
        for first in range(0, len(values), each):
            some = values[first : first + each]
            self._record(call, first, comm, some.tobytes(), len(some))

    def _record(self, call: int, site: int, comm: int, payload: bytes, valid: int) -> None:
        record: Any = np.zeros((), RECORD)
        record["call"], record["site"], record["comm"], record["peer"] = call, site, comm, valid
        self.records.append(record.tobytes()[:PAYLOAD] + payload.ljust(RECORD_BYTES - PAYLOAD, b"\0"))

    def write(self, folder: Path) -> Path:
        """Write the file of this rank."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rank-{int(self.head['rank']):07d}.trace"
        path.write_bytes(self.head.tobytes() + b"".join(self.records))
        return path
