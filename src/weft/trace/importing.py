# SPDX-License-Identifier: BSD-3-Clause
"""Bringing in traces of other tools: archives of OTF2."""

import shutil
from pathlib import Path

from weft import __version__
from weft.errors import DataError
from weft.files.atomic import file_errors, make_folder, new_folder
from weft.files.beneath import plain_file
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.trace.otf2.bringing import bring_otf2


def import_trace(source: Path, into: Path) -> list[str]:
    """Bring another tool's trace into a new folder; what could not be brought, in words. StudyError, DataError."""
    if not source.exists():
        raise DataError(f"{source} does not exist", "give an archive's traces.otf2, or its folder")
    if not source.is_dir():
        with file_errors(source):
            plain_file(source)
    anchor = source if source.is_file() else next(iter(sorted(source.glob("*.otf2"))), None)
    if anchor is None:
        raise DataError(f"{source} has no archive of OTF2 (*.otf2)", "give an archive's traces.otf2, or its folder")
    new_folder(into, "weft trace import SOURCE -o RUN")
    folder = TraceFolder(into)
    try:
        with file_errors(folder.path):
            make_folder(folder.raw)
        folder.describe(imported=str(source), weft=__version__)
        lines = bring_otf2(anchor, folder)
        convert_trace(folder)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return lines
