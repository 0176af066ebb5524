# SPDX-License-Identifier: BSD-3-Clause
"""Checksums: of a file, and inside a JSON object, as its last entry, over all bytes before it (as the kernels do)."""

import re
import zlib
from pathlib import Path

from weft.files.beneath import open_plain

NAME = "record_crc32"
_ENTRY = re.compile(rb',\s*+"record_crc32"\s*+:\s*+([0-9]{1,10})\s*+\}\s*+\Z')
_LONGEST = 64  # bytes at the end of a text in which the entry is looked for


def with_checksum(text: str) -> str:
    """The text of a JSON object that has entries, with its checksum as one more."""
    before = text.rstrip().removesuffix("}").rstrip()
    return f'{before},\n "{NAME}": {zlib.crc32(before.encode())}\n}}\n'


def is_damaged(raw: bytes) -> bool:
    """Whether the text of a JSON object has a checksum of other bytes; records of an older Weft have none."""
    start = max(0, len(raw) - _LONGEST)
    found = _ENTRY.search(raw, start)
    return found is not None and zlib.crc32(memoryview(raw)[: found.start()]) != int(found[1])


def file_checksum(path: Path) -> str:
    """CRC-32 of a file, as text; OSError if it cannot be read."""
    found = 0
    with open_plain(path) as file:
        while chunk := file.read(1 << 20):
            found = zlib.crc32(chunk, found)
    return f"{found:08x}"
