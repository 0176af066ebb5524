# SPDX-License-Identifier: BSD-3-Clause
"""Virtual lanes: service levels of paths (``saquery -p``) and the SL2VL table of each switch (``smpquery sl2vl LID``).

PathRecord dump:                              # SL2VL table: Lid 1
dlid....................1             #                 SL: | 0| 1| 2| ...
slid....................2             ports: in  0, out  1: | 0| 1| 2| ...
sl......................0x5
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.errors import FabricError
from weft.files.beneath import read_plain

LEVELS = 16
MOST_BYTES = 1 << 31
RECORD = "PathRecord dump:"
FIELD = re.compile(r"^\s*(dlid|slid|sl)\.+(0x[0-9a-fA-F]{1,8}|\d{1,8})\s*$", re.MULTILINE)
SWITCH = re.compile(r"^# SL2VL table: Lid (\d{1,8})", re.MULTILINE)
ROW = re.compile(r"^ports: in +\d{1,3}, out +\d{1,3}: ((?:\| *\d{1,2}){16}\|)", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Service:
    """Service levels of paths, and virtual lanes of service levels."""

    paths: NDArray[np.int64]  # LIDs of source and target, and service level, shape (paths, 3)
    # by LID of a switch, the lane of each service level, shape (16,); without an entry that of the level's number
    lanes: dict[int, NDArray[np.int64]] = field(default_factory=dict[int, NDArray[np.int64]])


def read_service(paths: Path, tables: Path | None = None) -> Service:
    """Read ``saquery -p`` and ``smpquery sl2vl`` of all switches; FabricError for tables by port, as torus-2QoS has."""
    found: list[tuple[int, int, int]] = []
    for record in _text(paths).split(RECORD)[1:]:
        values = {name: int(value, 16 if value[:2] == "0x" else 10) for name, value in FIELD.findall(record)}
        if len(values) == 3 and values["sl"] < LEVELS:
            found.append((values["slid"], values["dlid"], values["sl"]))
    if not found:
        raise FabricError(f"{paths}: no path record", f"write it with: saquery -p > {paths.name}")
    return Service(np.array(found, dtype=np.int64), _lanes(tables) if tables else {})


def _lanes(path: Path) -> dict[int, NDArray[np.int64]]:
    found: dict[int, NDArray[np.int64]] = {}
    parts = SWITCH.split(_text(path))
    for lid, body in zip(parts[1::2], parts[2::2], strict=True):
        rows = np.array([row.strip("|").split("|") for row in ROW.findall(body)], dtype=object).astype(np.int64)
        if not len(rows):
            continue
        if rows.max() >= LEVELS:
            raise FabricError(f"{path}: lane {rows.max()} at the switch of LID {lid}", "lanes are 0 to 15")
        if (rows != rows[0]).any():
            what = f"{path}: lanes at the switch of LID {lid} depend on ports, which is not followed here"
            raise FabricError(what, "leave --sl2vl out: without it every level has its own lane")
        found[int(lid)] = rows[0]
    if not found:
        raise FabricError(f"{path}: no SL2VL table", "write it with: smpquery sl2vl LID, for each switch")
    return found


def _text(path: Path) -> str:
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        what = "check its name and permissions; of a large fabric, query the paths of some hosts only"
        raise FabricError(f"{path} cannot be read: {error.strerror}", what) from error
