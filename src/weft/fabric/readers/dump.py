# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a dump of a fabric: boxes and the cable ends that they report."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from weft.errors import FabricError
from weft.fabric.readers.tables import Tables
from weft.files.beneath import read_plain

FEC = (514 / 544) * (256 / 257)  # RS(544,514) over 256b/257b blocks, signalled by PAM4
#: Bytes of data per second on a lane, the most it can carry (packet headers take a few per cent of them): the Gbit/s
#: that are signalled, times what the line code leaves of them: 8b/10b, 64b/66b, or `FEC`.
SPEEDS = {
    name: signalled * share * 1e9 / 8
    for share, rates in (
        (8 / 10, {"SDR": 2.5, "DDR": 5.0, "QDR": 10.0}),
        (64 / 66, {"FDR10": 10.3125, "FDR": 14.0625, "EDR": 25.78125}),
        (FEC, {"HDR": 53.125, "NDR": 106.25, "XDR": 212.5}),
    )
    for name, signalled in rates.items()
}
WIDTHS = (1, 2, 4, 8, 12)
TEXT = re.compile(r"([0-9]{1,2})x ?([A-Za-z0-9?.]{1,8})", re.ASCII)


@lru_cache(maxsize=256)
def rate_of(text: str) -> float:
    """Data rate in bytes per second of a width and speed such as ``4xQDR``; nan if either is not in the table."""
    found = TEXT.fullmatch(text.strip())
    if not found or int(found[1]) not in WIDTHS or found[2].upper() not in SPEEDS:
        return float("nan")
    return int(found[1]) * SPEEDS[found[2].upper()]


BoxKind = Literal["switch", "host", "aggregation", "router"]
#: Letter of the key and kind of a box, by what InfiniBand's tools call it.
SHORT: dict[str, tuple[str, BoxKind]] = {"SW": ("S", "switch"), "CA": ("H", "host"), "RT": ("R", "router")}
MOST_BYTES = 1 << 30
AGGREGATION = "aggregation node"  # in the description of SHARP's adapters inside switches


@dataclass(frozen=True, slots=True)
class Box:
    """A switch, an adapter, a router, or an aggregation node inside a switch."""

    # the quoted id with its GUID (``S-0008f1...``), else the name. Never the description, which real dumps repeat
    key: str
    # ``aggregation``: a SHARP node, inside a switch chip; no messages cross it: routes would show false credit loops
    kind: BoxKind
    ports: int = 0  # 0 if the dump does not state them
    label: str = ""  # its description
    lids: tuple[int, ...] = ()  # of its ports (of port 0 for a switch)
    line: int = 0  # in the dump, counted from 1


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable, as the box at that end reports it. Most dumps list each cable twice."""

    key: str  # the box at this end
    port: int
    peer: str  # the box at the other end
    peer_port: int
    speed: str = ""  # as written, ``4xQDR``; empty if the dump does not state it
    rate: float = float("nan")  # bytes of data per second; nan where unknown
    line: int = 0


@dataclass(frozen=True)
class Dump:
    """A dump as read."""

    path: str
    format: str  # as people call it
    boxes: dict[str, Box] = field(default_factory=dict[str, Box])  # by key, in the order of the file
    ends: list[End] = field(default_factory=list[End])  # cable ends in the order of the file
    both_ends: bool = True  # whether the format lists each cable at both ends, so that a missing end is a finding
    cables_known: bool = True  # False of Slurm's formats: a connection is an unknown number of cables
    repeated: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # (line, key) of boxes seen again
    # by (key, port), where the dump states them; GUIDs of adapters' ports
    port_lids: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    port_guids: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    # of a port since the last reset: ticks during which data waited for credits, and bytes sent
    counters: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict[tuple[str, int], tuple[int, int]])
    lmc: dict[str, int] = field(default_factory=dict[str, int])  # by key: each of its ports has 2^LMC LIDs
    down: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # (line, what) of links not active
    tables: Tables | None = None

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
            remedy = "give a dump of one fabric, as a file that may be read"
            raise FabricError(f"cannot read {path}: {error}", remedy) from error
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

    def entries(self) -> Iterator[tuple[int, str]]:
        """Number, from 1, and text of each line that is neither empty nor a comment, without white space around it."""
        for number, line in enumerate(self.lines, start=1):
            if (text := line.strip()) and not text.startswith("#"):
                yield number, text

    def row(self, number: int, text: str) -> list[str]:
        """The values of a line of a CSV file; FabricError if it is none."""
        try:
            return next(csv.reader([text]))
        except (csv.Error, StopIteration) as error:
            raise self.fault(number, f"no row ({error})", "values between commas") from error


def kind_of_adapter(label: str) -> BoxKind:
    """``aggregation`` for a SHARP node, which only its description reveals; ``host`` otherwise."""
    return "aggregation" if AGGREGATION in label.lower() else "host"
