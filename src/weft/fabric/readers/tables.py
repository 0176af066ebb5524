# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding tables: ``dump_fts``, ``dump_lfts``, ``ibroute``, ``opensm-lfts.dump`` and ``opensm.fdbs``.

    Unicast lids [0x0-0x12] of switch Lid 2 guid 0x0002c90200000001 (leaf0):     ibroute, dump_fts
    Unicast lids [0x0-0x1400] of switch DR path slid 0; dlid 0; 0,1,19 guid 0xf452... (sw):     by direct route
    Unicast lids [0-18] of switch Lid 2 guid 0x0002c90200000001 ('leaf0'):       opensm-lfts.dump
    0x0001 009 : (Channel Adapter portguid 0x0002c90300000001: 'node0')
    dump_ucast_routes: Switch 0x0002c90200000001                                 opensm.fdbs
    0x0001 : 009  : 03   : yes

The tables of a fabric with ten thousand hosts are a gigabyte of text, nearly all of it lines of one form. NumPy parses
these from their first bytes; only other lines (headings, last lines, unknown ones) are read one by one.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.files.beneath import open_plain

NO_PORT = 255
MOST_BYTES = 1 << 34
MOST_LINE = 1 << 20
BLOCK = 1 << 22  # bytes at a time: fits into the cache
WORD = 8  # bytes of a line that are read as one number
MOST_ODD = 2_000_000
HEADING = re.compile(
    rb"Unicast lids \[(0x[0-9a-fA-F]{1,8}|\d{1,8})-(0x[0-9a-fA-F]{1,8}|\d{1,8})\] of switch\b(.*)$", re.IGNORECASE
)
FDBS_HEADING = re.compile(rb"\w*dump_ucast_routes:\s*Switch\s+(0x[0-9a-fA-F]{1,16})")
GUID = re.compile(rb"\bguid (0x[0-9a-fA-F]{1,16})\b")
LID = re.compile(rb"\bLid (0x[0-9a-fA-F]{1,8}|\d{1,8})\b", re.IGNORECASE)
DUMPED = re.compile(rb"(\d{1,8})\s+(?:valid )?(?:m?lids) dumped")
ENTRY = re.compile(rb"(0x[0-9a-fA-F]{1,4}|\d{1,5})\s+(?::\s*)?(\d{1,3})(?!\S)")
EXPECTED = "Unicast lids [0x0-0x12] of switch Lid 2 guid 0x..., or dump_ucast_routes: Switch 0x..."
SILENT = (b"Lid ", b"LID ", b"Port ", b"#")
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class SwitchTable:
    """The table of one switch."""

    guid: int  # of the switch, as its LID: 0 if the heading does not state it
    lid: int
    last: int  # the last LID that the heading states; -1 if it does not
    lids: NDArray[np.uint16]  # destinations, shape (entries,)
    ports: NDArray[np.uint8]  # towards each
    promised: int  # number of entries that the last line states; -1 if there is none
    line: int  # of the heading, counted from 1


@dataclass(frozen=True, eq=False)
class Tables:
    """Forwarding tables as read."""

    path: str
    switches: tuple[SwitchTable, ...]  # in the order of the file
    odd: tuple[tuple[int, str], ...] = ()  # (line, text) of the first unrecognised lines; ``odd_lines`` counts them all
    odd_lines: int = 0


def read_tables(path: str | Path) -> Tables:
    """Read forwarding tables of any of the formats; FabricError for none, over 16 GiB, or if they cannot be read."""
    try:
        reader = _Reader(str(path))
        with open_plain(Path(path)) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise FabricError(f"{path} is larger than 16 GiB", "give the tables of one fabric")
            rest = b""
            while block := file.read(BLOCK):
                whole, _, rest = (rest + block).rpartition(b"\n")
                if len(rest) > MOST_LINE:
                    raise FabricError(f"{path} has a line of over 1 MiB", "give forwarding tables as text")
                if whole:
                    reader.take(whole)
            if rest:
                reader.take(rest)
    except (OSError, ValueError) as error:
        raise FabricError(f"cannot read {path}: {error}", "check the path and its permissions") from error
    return reader.done()


def tables_of(path: str, content: bytes) -> Tables:
    """As `read_tables`, from bytes in memory."""
    reader = _Reader(path)
    reader.take(content)
    return reader.done()


class _Reader:
    """Reads whole lines, block by block."""

    def __init__(self, path: str) -> None:
        self.path, self.line = path, 0  # number of lines before this block
        self.made: list[SwitchTable] = []
        self.heading: tuple[int, int, int, int] | None = None  # GUID, LID, last LID and line of the table that is open
        self.lids: list[NDArray[np.uint16]] = []
        self.ports: list[NDArray[np.uint8]] = []
        self.promised = -1
        self.odd: list[tuple[int, str]] = []
        self.odd_lines = 0

    def take(self, text: bytes) -> None:
        padded = text + b"\n" + bytes(2 * WORD)
        ends = np.flatnonzero(np.frombuffer(padded, dtype=np.uint8) == 10)
        starts = np.concatenate([np.zeros(1, dtype=ends.dtype), ends[:-1] + 1])
        at_byte = np.ndarray((len(padded) - WORD,), dtype="<u8", buffer=padded, strides=(1,))
        lid, port, good = _entries(at_byte[starts], at_byte[starts + WORD - 1])
        others = np.flatnonzero(~good)
        at = 0
        for number in others.tolist():
            self._entries(lid[at:number], port[at:number])
            at = number + 1
            if line := text[starts[number] : ends[number]].strip():
                self._other(line, self.line + number + 1)
        self._entries(lid[at:], port[at:])
        self.line += len(starts)

    def _entries(self, lid: NDArray[np.uint16], port: NDArray[np.uint8]) -> None:
        if not len(lid):
            return
        if self.heading is None:
            raise FabricError(f"{self.path}:{self.line + 1}: entries before any heading", f"expected {EXPECTED}")
        self.lids.append(lid)
        self.ports.append(port)

    def _other(self, line: bytes, number: int) -> None:
        if heading := HEADING.match(line):
            guid, lid = GUID.search(heading[3]), LID.search(heading[3].partition(b" guid ")[0])
            self._heading(int(guid[1], 16) if guid else 0, _number(lid[1]) if lid else 0, _number(heading[2]), number)
        elif heading := FDBS_HEADING.match(line):
            self._heading(int(heading[1], 16), 0, -1, number)
        elif self.heading and (end := DUMPED.match(line)):
            self.promised = int(end[1])
        elif self.heading and (entry := ENTRY.match(line)) and _number(entry[1]) < 1 << 16:
            self.lids.append(np.array([_number(entry[1])], dtype=np.uint16))
            self.ports.append(np.array([min(int(entry[2]), NO_PORT)], dtype=np.uint8))
        elif not line.startswith(SILENT) and b"UNREACHABLE" not in line:
            self.odd_lines += 1
            if len(self.odd) < 3:
                self.odd.append((number, line[:120].decode("utf-8", errors="replace")))

    def _heading(self, guid: int, lid: int, last: int, number: int) -> None:
        self._close()
        if len(self.made) > MOST_ODD:
            raise FabricError(f"{self.path}: more than {MOST_ODD:,} tables", "give the tables of one fabric")
        self.heading = (guid, lid, last, number)

    def _close(self) -> None:
        if self.heading:
            guid, lid, last, line = self.heading
            lids = np.concatenate([np.empty(0, np.uint16), *self.lids])
            ports = np.concatenate([np.empty(0, np.uint8), *self.ports])
            self.made.append(SwitchTable(guid, lid, last, lids, ports, self.promised, line))
        self.lids, self.ports, self.promised = [], [], -1

    def done(self) -> Tables:
        self._close()
        if not self.made:
            raise FabricError(f"{self.path} has no forwarding table in {self.line} lines", f"expected {EXPECTED}")
        return Tables(self.path, tuple(self.made), tuple(self.odd), self.odd_lines)


def _entries(head: Words, tail: Words) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.bool_]]:
    """LID, port, and whether it is an entry, of each line, shape (lines,) each, from its bytes 0-7 and 7-14, (lines,).
    An entry is ``0x0001 009`` followed by a space, ``:`` or the end of the line, or ``0x0001 : 009``. The four digits
    of a LID are parsed at once, as the bytes of one number; so are the three of a port.
    """
    text = (head >> np.uint64(16)).astype(np.uint32)
    digit = (text & 0x0F0F0F0F) + 9 * ((text >> 6) & 0x01010101)
    again = digit + 0x30303030 + 0x27 * (((digit + 0x06060606) >> 4) & 0x01010101)
    good = ((digit & 0xF0F0F0F0) == 0) & (again == (text | 0x20202020))
    good &= (((text >> 5) | (text >> 6)) & 0x01010101) == 0x01010101
    good &= (head & np.uint64(0x00FF00000000FFFF)) == np.uint64(0x0020000000007830)  # "0x" and the space
    wide = (tail & np.uint64(0xFFFF)) == np.uint64(0x203A)  # ": "
    if wide.any():
        tail = np.where(wide, tail >> np.uint64(16), tail)
    after = (tail.astype(np.uint32)) >> 24
    tens = (tail.astype(np.uint32) & 0xFFFFFF) ^ 0x303030
    good &= ((tens | (tens + 0x060606)) & 0xF0F0F0) == 0
    good &= (after <= 32) | (after == 58)
    number = (tens & 0xFF) * 100 + ((tens >> 8) & 0xFF) * 10 + (tens >> 16)
    good &= number <= NO_PORT
    lid = ((digit & 0xF) << 12) | ((digit & 0xF00) | ((digit >> 12) & 0xF0)) | (digit >> 24)
    return lid.astype(np.uint16), number.astype(np.uint8), good


def _number(text: bytes) -> int:
    return int(text, 16) if text[:2].lower() == b"0x" else int(text)
