# SPDX-License-Identifier: BSD-3-Clause
"""The operation that is being measured right now, from the slot that the kernel writes between its samples."""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from weft.files.plain import Version, version_in

SLOT_BYTES = 512
SCHEMA = "weft-live/1"
LONGEST_NUMBER = 19
"""Digits of the largest 64-bit number: what is longer is no kernel's."""


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
    """Read the slot of a launch.

    Returns
    -------
    Glimpse or None
        None if there is none yet, or if it is torn, of an earlier start, or not a kernel's.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if version_in(os.fstat(descriptor)) == before:
            return None
        raw = os.read(descriptor, SLOT_BYTES)
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
