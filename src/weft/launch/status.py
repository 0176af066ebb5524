# SPDX-License-Identifier: BSD-3-Clause
"""What the kernels of a running launch write: the state of its ranks, and the samples of the operation so far."""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from weft.files.beneath import Version, read_plain, version, version_in

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
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if version_in(os.fstat(descriptor)) == before:
            return None
        raw = os.read(descriptor, SLOT_BYTES_LIVE)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return parse_live(raw)


def parse_live(raw: bytes) -> Glimpse | None:
    """Parse a slot; None if its checksum is another one, or its words are no glimpse."""
    text, _, crc = raw.partition(b"\0")[0].rpartition(b" ")
    if crc != b"%08x" % zlib.crc32(text):
        return None
    words = text.decode("ascii", "replace").split(" ")
    if len(words) < 8 or words[0] != SCHEMA:
        return None
    numbers = [int(word) for word in words[3:] if word.isdecimal() and len(word) <= LONGEST_NUMBER]
    if len(numbers) != len(words) - 3:
        return None
    batch, samples, *times = numbers
    if batch < 1 or samples < 1:
        return None
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

    `path`: ``launches/<launch>.status``: 64 bytes a rank, ``<cell> <op> <phase> <state>``. `before`: the file's
    version before the ranks were started: one that is still the same is from an earlier start and is ignored.
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
