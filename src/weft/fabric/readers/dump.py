# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a dump of a fabric: boxes and the cable ends that they report.

InfiniBand speeds: the data rate of ``4xQDR``.

Because of the line code, the signalling rate of a lane is higher than its data rate. The rates here are data rates, the
most a link can carry; packet headers take a few per cent of them.

| speed | Gbit/s signalled a lane | line code          | Gbit/s of data a lane |
|-------|-------------------------|--------------------|-----------------------|
| SDR   | 2.5                     | 8b/10b             | 2                     |
| DDR   | 5                       | 8b/10b             | 4                     |
| QDR   | 10                      | 8b/10b             | 8                     |
| FDR10 | 10.3125                 | 64b/66b            | 10                    |
| FDR   | 14.0625                 | 64b/66b            | 13.64                 |
| EDR   | 25.78125                | 64b/66b            | 25                    |
| HDR   | 53.125 (PAM4)           | 256b/257b + RS-FEC | 50                    |
| NDR   | 106.25 (PAM4)           | 256b/257b + RS-FEC | 100                   |
| XDR   | 212.5 (PAM4)            | 256b/257b + RS-FEC | 200                   |
"""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from weft.errors import FabricError
from weft.fabric.readers.tables import Tables
from weft.files.beneath import read_plain


class Speed(NamedTuple):
    """One generation: signalling rate per lane in Gbit/s, line code, and the share of the rate that is data."""

    signalled: float
    code: str
    share: float

    @property
    def data(self) -> float:
        """Data rate per lane in bytes per second."""
        return self.signalled * self.share * 1e9 / 8


FEC = (514 / 544) * (256 / 257)  # RS(544,514) over 256b/257b blocks
SPEEDS = {
    "SDR": Speed(2.5, "8b/10b", 8 / 10),
    "DDR": Speed(5.0, "8b/10b", 8 / 10),
    "QDR": Speed(10.0, "8b/10b", 8 / 10),
    "FDR10": Speed(10.3125, "64b/66b", 64 / 66),
    "FDR": Speed(14.0625, "64b/66b", 64 / 66),
    "EDR": Speed(25.78125, "64b/66b", 64 / 66),
    "HDR": Speed(53.125, "256b/257b + RS-FEC", FEC),
    "NDR": Speed(106.25, "256b/257b + RS-FEC", FEC),
    "XDR": Speed(212.5, "256b/257b + RS-FEC", FEC),
}
#: By signalling rate of a lane as OpenSM prints it, and by the codes of a port's LinkSpeedActive and LinkWidthActive
#: (InfiniBand specification, PortInfo and its extended speeds, as ibdiagnet2 puts them into one number).
SIGNALLED = {"2.5": "SDR", "5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR"}
ACTIVE_SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 0x10000: "FDR10", 0x100: "FDR", 0x200: "EDR",
    0x400: "HDR", 0x800: "NDR", 0x1000: "XDR",
}  # fmt: skip
ACTIVE_WIDTHS = {1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
WIDTHS = (1, 2, 4, 8, 12)
TEXT = re.compile(r"([0-9]{1,2})x ?([A-Za-z0-9?.]{1,8})", re.ASCII)


@lru_cache(maxsize=256)
def rate_of(text: str) -> float:
    """Data rate in bytes per second of a width and speed such as ``4xQDR``; nan if either is not in the table."""
    found = TEXT.fullmatch(text.strip())
    if not found or int(found[1]) not in WIDTHS or found[2].upper() not in SPEEDS:
        return float("nan")
    return int(found[1]) * SPEEDS[found[2].upper()].data


BoxKind = Literal["switch", "host", "aggregation", "router"]
#: Letter of the key and kind of a box, by what InfiniBand's tools call it.
SHORT: dict[str, tuple[str, BoxKind]] = {"SW": ("S", "switch"), "CA": ("H", "host"), "RT": ("R", "router")}
MOST_BYTES = 1 << 30
AGGREGATION = "aggregation node"  # in the description of SHARP's adapters inside switches


@dataclass(frozen=True, slots=True)
class Box:
    """A switch, an adapter, a router, or an aggregation node inside a switch."""

    # its identifier: the quoted id with its GUID (``S-0008f1...``), or the name if the format has no GUID. Never the
    # description: real dumps repeat "MT25408 ConnectX Mellanox Technologies" for every node.
    key: str
    # ``aggregation`` is a SHARP node: an adapter inside a switch chip that reduces data. It takes part in no
    # point-to-point traffic, and routes over it would show false credit loops.
    kind: BoxKind
    ports: int = 0  # number of ports that the dump states; 0 if it does not
    label: str = ""  # its description, for display
    lids: tuple[int, ...] = ()  # local identifiers of its ports (of port 0 for a switch)
    line: int = 0  # its line in the dump, counted from 1


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable, as the box at that end reports it. Most dumps list each cable twice."""

    # key, port: box and port at this end
    key: str
    port: int
    # peer, peer_port: box and port at the other end
    peer: str
    peer_port: int
    speed: str = ""  # as written, ``4xQDR``; empty if the dump does not state it
    rate: float = float("nan")  # bytes of data per second; nan where unknown
    line: int = 0  # its line in the dump


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of a port since the last reset: bytes sent, and ticks during which data waited for credits."""

    sent_bytes: int
    waited_ticks: int


@dataclass(frozen=True)
class Dump:
    """A dump as read."""

    # path, format: the file, and the format it was read as
    path: str
    format: str
    boxes: dict[str, Box] = field(default_factory=dict[str, Box])  # by key, in the order of the file
    ends: list[End] = field(default_factory=list[End])  # cable ends in the order of the file
    both_ends: bool = True  # True if the format lists each cable at both ends, so that a missing end is a finding
    # False if the format does not list cables (Slurm): a connection then represents an unknown number of them
    cables_known: bool = True
    # (line, key) of boxes that the dump describes again
    repeated: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    # LID by (key, port), if the dump states the port
    port_lids: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    # GUID by (key, port) of adapters' ports, if the dump has them
    port_guids: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    # LMC by key of boxes that have one: each of their ports has 2^LMC LIDs
    lmc: dict[str, int] = field(default_factory=dict[str, int])
    # (line, what) of links that are listed but not active
    down: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    # by (key, port), if the dump has them
    counters: dict[tuple[str, int], Counters] = field(default_factory=dict[tuple[str, int], Counters])
    tables: Tables | None = None  # forwarding tables that belong to the dump

    def add(self, box: Box) -> None:
        """Add a box; one that exists already keeps its first description and is recorded as repeated."""
        if box.key in self.boxes:
            self.repeated.append((box.line, box.key))
        else:
            self.boxes[box.key] = box

    def see(self, letters: str, guid: str, lid: int, label: str, line: int, ports: int = 0) -> str:
        """Key of a box that a line names by ``CA``, ``SW`` or ``RT`` and its GUID; adds the box, or its LID."""
        letter, kind = SHORT[letters]
        key = f"{letter}-{int(guid, 16):016x}"
        box = self.boxes.get(key)
        if box is None:
            self.add(Box(key, kind_of_adapter(label) if letters == "CA" else kind, ports, label.strip(), (lid,), line))
        elif lid not in box.lids:
            self.boxes[key] = replace(box, lids=(*box.lids, lid))
        return key

    def of_kind(self, kind: BoxKind) -> tuple[Box, ...]:
        """All boxes of a kind."""
        return tuple(box for box in self.boxes.values() if box.kind == kind)

    @property
    def counts(self) -> dict[str, int]:
        """Number of boxes by kind."""
        return {kind: len(self.of_kind(kind)) for kind in ("switch", "host", "aggregation", "router")}


@dataclass(frozen=True)
class Lines:
    """The lines of a dump; readers name the line at fault."""

    path: str
    lines: tuple[str, ...]

    @classmethod
    def read(cls, path: str | Path) -> "Lines":
        """Read a file of at most 1 GiB; bytes that are not UTF-8 are replaced. FabricError if it cannot be read."""
        try:
            text = read_plain(Path(path), MOST_BYTES).decode("utf-8", errors="replace")
        except (OSError, ValueError) as error:
            raise FabricError(
                f"cannot read {path}: {error}", "give a dump of one fabric, as a file that may be read"
            ) from error
        return cls.of(str(path), text)

    @classmethod
    def of(cls, path: str, text: str) -> "Lines":
        """Lines of a text; only line feeds end a line, so that line numbers agree with an editor's."""
        return cls(path, tuple(line.rstrip("\r") for line in text.split("\n")))

    def fault(self, number: int, what: str, expected: str) -> FabricError:
        """The error for a line: where, what is wrong, the text seen, what was expected."""
        text = self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""
        seen = text if len(text) <= 120 else text[:117] + "..."
        is_last = text and number == len(self.lines)  # no line feed behind it
        cut = "; the file ends within this line: if it is cut off, dump it again" if is_last else ""
        return FabricError(f"{self.path}:{number}: {what}: {seen!r}", f"expected {expected}{cut}")

    def numbered(self) -> list[tuple[int, str]]:
        """Line numbers, from 1, and texts."""
        return list(enumerate(self.lines, start=1))


def kind_of_adapter(label: str) -> BoxKind:
    """``aggregation`` for a SHARP node, which only its description reveals; ``host`` otherwise."""
    return "aggregation" if AGGREGATION in label.lower() else "host"
