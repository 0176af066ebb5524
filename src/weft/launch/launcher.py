# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of launchers, which start ranks, and what the kernels of a running launch write: states, samples."""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from weft.files.beneath import Version, read_plain, version, version_in
from weft.plan.records import LaunchCell
from weft.plan.wire import Rules

BLOCK, CYCLIC = "block", "cyclic"


@dataclass(frozen=True)
class LaunchRequest:
    """One start of the ranks: everything that a launcher needs."""

    id: str
    ranks: int
    nodes: tuple[str, ...]
    ranks_per_node: int
    order: str  # ``block``: consecutive ranks share a host; ``cyclic``: they are dealt to the hosts in turn
    oversubscribed: bool
    plan: Path
    folder: Path
    limit_s: float  # seconds after which a launcher ends the ranks by force, above the kernel's watchdog; 0: never
    environment: dict[str, str] = field(default_factory=dict[str, str])
    cells: tuple[LaunchCell, ...] = ()
    expected_s: float = 0.0  # how long the launch takes by its plan; 0 where nothing is known

    def file(self, ending: str) -> Path:
        """A file of the launch in its run folder."""
        return self.folder / "launches" / f"{self.id}.{ending}"

    @property
    def log(self) -> Path:
        """File for stdout and stderr of the launch."""
        return self.file("log")


@dataclass(frozen=True)
class Outcome:
    """How a launch ended."""

    id: str
    returncode: int
    wall_s: float  # seconds from start to end, ``mpiexec`` included
    timed_out: bool
    log: Path
    refused: str = ""
    limit: str = ""  # which limit of the launcher's own ended it, in words; empty where it was the cell's
    processor_s: float = 0.0  # seconds of processor time that all its processes took; 0 where they are not counted
    # whether it had ended, in a job that an earlier weft left in the queue, before this request: its files are older
    before: bool = False


class Launcher(Protocol):
    """Starts ranks on one kind of fabric."""

    @property
    def rules(self) -> Rules:
        """How its ranks take and write samples; the plans of its requests follow these rules."""
        ...

    def provenance(self) -> dict[str, Any]:
        """Library, wrapper, ``mpiexec`` and kernels as JSON; runs resume under the same ``mpi_library`` only."""
        ...

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request in turn, yield its outcome; closing the iterator or an interrupt leaves no process."""
        ...


SLOT_BYTES_LIVE = 512
SCHEMA = "weft-live/1"
LONGEST_NUMBER = 19  # digits of the largest 64-bit number: what is longer is no kernel's


@dataclass(frozen=True)
class Glimpse:
    """The samples of an operation so far. Times are in ns of one operation."""

    cell: str
    op: str
    samples: int
    median_ns: float
    low_ns: float
    high_ns: float
    recent_ns: tuple[float, ...]


def read_live(path: Path, before: Version | None = None) -> Glimpse | None:
    """The slot of a launch; None if there is none yet, or it is torn, of an earlier start, or not a kernel's."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if version_in(os.fstat(descriptor)) != before:
                return parse_live(os.read(descriptor, SLOT_BYTES_LIVE))
        finally:
            os.close(descriptor)
    return None


def parse_live(raw: bytes) -> Glimpse | None:
    """Parse a slot; None if its checksum is another one, or its words are no glimpse."""
    text, _, crc = raw.partition(b"\0")[0].rpartition(b" ")
    words = text.decode("ascii", "replace").split(" ")
    numbers = [int(word) for word in words[3:] if word.isdecimal() and len(word) <= LONGEST_NUMBER]
    is_whole = crc == b"%08x" % zlib.crc32(text) and words[0] == SCHEMA and len(words) >= 8
    if not is_whole or len(numbers) != len(words) - 3 or min(numbers[:2]) < 1:
        return None
    batch, samples, *times = numbers
    median, low, high, *recent = (time / batch for time in times)
    return Glimpse(words[1], words[2], samples, median, low, high, tuple(recent))


SLOT_BYTES = 64


@dataclass(frozen=True)
class Slot:
    """The last known state of one rank."""

    rank: int
    cell: str
    op: str
    phase: str
    state: str

    def __str__(self) -> str:
        return f"rank {self.rank}: {' '.join(word for word in (self.op, self.phase, self.state) if word)}"


def read_slots(path: Path, before: Version | None = None) -> list[Slot]:
    """Slots of the ranks that wrote one into the status file of a launch; none if the kernel did not get that far.
    `path`: ``launches/<launch>.status``: 64 bytes a rank, ``<cell> <op> <phase> <state>``. `before`: the file's version
    before the ranks were started: one that is still the same is from an earlier start and is ignored.
    """
    try:
        if version(path) == before:
            return []
        raw = read_plain(path)
    except OSError:
        return []
    slots = [raw[start : start + SLOT_BYTES].partition(b"\0")[0] for start in range(0, len(raw), SLOT_BYTES)]
    words = [[*slot.decode("ascii", "replace").split(), "", "", "", ""][:4] for slot in slots]
    # a state may follow a cell that has no op yet ("c003 - - starting")
    return [Slot(rank, *each) for rank, each in enumerate(words) if each[0]]
