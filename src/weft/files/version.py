# SPDX-License-Identifier: BSD-3-Clause
"""Which file a name leads to, and whether it was written since: told by identity, since a calendar clock may jump."""

import os
from pathlib import Path
from typing import TypeAlias

Version: TypeAlias = tuple[int, int]
"""Inode and time of the last change in ns: compared for equality alone, never for order."""
NONE: Version = (0, 0)


def version(path: Path) -> Version:
    """What changes when a file is replaced or written; zeros if there is no file."""
    try:
        return version_in(path.stat())
    except OSError:
        return NONE


def version_in(status: os.stat_result) -> Version:
    """The version of a file whose status is known."""
    return status.st_ino, status.st_mtime_ns
