# SPDX-License-Identifier: BSD-3-Clause
"""Small file systems, and filling them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def mounted(place: Path, size: str) -> Iterator[Path]:
    """Mount a file system of this size at a new folder, until the iterator goes on."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system to fill")
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    mount = subprocess.run(words, capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(path: Path) -> None:
    """Take all the room there is."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        with pytest.raises(OSError, match="No space left"):
            while True:
                os.write(handle, b"x" * 4096)
    finally:
        os.close(handle)
