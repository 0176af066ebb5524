# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a trace: the paths of its files, and whether this Weft can read it."""

import os
from pathlib import Path
from typing import Any

from weft.errors import NotThereError
from weft.files.atomic import guard, read_json, write_json

SCHEMA = "weft-trace/1"


class TraceFolder:
    """One traced run of an application, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.meta = self.path / "weft.json"
        self.raw = self.path / "raw"
        self.events = self.path / "events"
        self.counts = self.path / "counts"
        self.tables = self.path / "tables"

    @classmethod
    def open(cls, path: Path) -> "TraceFolder":
        """Open the folder of a trace, or one with nothing but ranks' files (a job script's WEFT_TRACE).

        Raises
        ------
        NotThereError
            It is neither.
        DataError
            It is of another version of the format, or it or something in it is a link, pipe, device
            or socket.
        """
        folder = cls(path)
        has_records = next(folder.raw.glob("rank-*.trace"), None) is not None
        if not has_records and not os.path.lexists(folder.meta):
            what = "does not exist" if not folder.path.exists() else "is not a trace: it has neither weft.json nor raw/"
            raise NotThereError(f"{folder.path} {what}", "weft trace -o RUN -- mpirun -n 4 ./application makes one")
        guard(folder.path)
        if not folder.meta.is_file():
            return folder
        schema = folder.metadata().get("schema")
        if schema != SCHEMA:
            raise NotThereError(
                f"{folder.path} is not a trace: its weft.json says {schema!r}, a trace's {SCHEMA!r}",
                f"for a run of a study: weft show {folder.path}",
            )
        return folder

    def metadata(self) -> dict[str, Any]:
        """Entries of ``weft.json``; none where there is no such file. DataError if it is torn."""
        return read_json(self.meta) if self.meta.is_file() else {}

    def describe(self, **entries: Any) -> None:
        """Write ``weft.json`` with these entries added. DataError if the disk is full."""
        write_json(self.meta, {"schema": SCHEMA, **self.metadata(), **entries})
