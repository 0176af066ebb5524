# SPDX-License-Identifier: BSD-3-Clause
"""What tables were made by: those of another analysis are made again, and never compared."""

import hashlib
from functools import cache
from pathlib import Path

import weft
from weft.errors import DataError
from weft.files.atomic import read_json

MANIFEST = "tables.json"
"""Written after the last table: the checksum of each, so that a torn, missing or swapped one is made again."""
MADE_BY = "made by"  # entry of the manifest that is no table: the `analysis_digest` of its analysis
ROOMS = ("analyse", "bound", "fabric", "files", "kernel", "mpi", "plan", "route", "store")
"""Rooms that the analysis uses, beside the files that stand alone; a test looks what it imports."""


@cache
def analysis_digest() -> str:
    """Sixteen hexadecimal digits over Weft's version and the sources that decide what tables say."""
    home = Path(weft.__file__).parent
    found = hashlib.sha256(weft.__version__.encode())
    files = (path for room in ROOMS for kind in ("*.py", "*.toml") for path in (home / room).rglob(kind))
    for path in sorted([*home.glob("*.py"), *files]):
        found.update(f"\n{path.relative_to(home)}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def made_by(root: Path) -> str:
    """The `analysis_digest` of a run's tables; empty if they are not finished."""
    try:
        return str(read_json(root / "tables" / MANIFEST).get(MADE_BY, ""))
    except DataError:
        return ""
