# SPDX-License-Identifier: BSD-3-Clause
"""Writes traces as the tracer does, of calls that nobody made."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.store.trace.layout import WORLD, RankFile, State

CLOSED = State.CLOSED | State.SHARED_CLOCK | State.CLOCK_CLOSED


class Held(RankFile):
    """Records that stay until a rank is written, however many."""

    def flush(self) -> None:
        """Write nothing."""


class MadeRank:
    """A rank's trace in the making; each method gives the rank back, so that calls stand in a row.

    Parameters
    ----------
    rank, ranks
        Of MPI_COMM_WORLD.
    """

    def __init__(self, rank: int, ranks: int, **header: Any) -> None:
        given = {
            "state": int(CLOSED), "host": b"made", "library": b"made MPI", "cost_ns": 80.0,
            "closed_ns": 1_000_000_000, **header,
        }  # fmt: skip
        self._made = Held(Path(), rank, ranks, **given)
        self.head, self.records = self._made.head, self._made.records

    def call(self, name: str, begin_ns: int, end_ns: int, **rest: Any) -> "MadeRank":
        """Add a call; ``rest`` are fields of the record."""
        self._made.call(name, begin_ns, end_ns, **rest)
        return self

    def counts(self, sent: Sequence[int], comm: int = WORLD) -> "MadeRank":
        """Add the bytes to each member of the call before."""
        self._made.counts(sent, comm)
        return self

    def targets(self, sent: Mapping[int, int], comm: int = WORLD) -> "MadeRank":
        """Add the bytes to some ranks of the call before."""
        self._made.targets(sent, comm)
        return self

    def communicator(self, number: int, uid: int, members: Sequence[int], parent: int = WORLD) -> "MadeRank":
        """Define a communicator of these world ranks."""
        self._made.communicator(number, uid, members, parent)
        return self

    def site(self, number: int, text: str) -> "MadeRank":
        """Define a call site."""
        self._made.site(number, text)
        return self

    def whole(self) -> bytes:
        """The bytes of this rank's file; of a closed one with the checksum that the tracer writes at its end."""
        body = b"".join(self.records)
        if State(int(self.head["state"])) & State.CLOSED:
            self.head["state"] = int(self.head["state"]) | State.SUMMED
            self.head["crc"], self.head["records"] = 0, len(self.records)
            self.head["crc"] = zlib.crc32(body, zlib.crc32(self.head.tobytes()))
        return self.head.tobytes() + body

    def write(self, folder: Path) -> Path:
        """Write the file of this rank."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rank-{int(self.head['rank']):07d}.trace"
        path.write_bytes(self.whole())
        return path
