# SPDX-License-Identifier: BSD-3-Clause
"""Where ``weft doctor`` writes on trial: the cache of built kernels, and the folder of temporary files."""

import os
import subprocess
import tempfile
from pathlib import Path

from weft.doctor.probe import Probe, Root
from weft.files.shipped import cache
from weft.files.temporary import temporary
from weft.format import format_bytes

BUILDING_BYTES = 32 * 2**20
"""Room asked of the cache, in bytes: a guess on the safe side for what one build writes, not measured."""
TEMPORARY_BYTES = 8 * 2**20
"""Room asked for a compiler's intermediate files, in bytes: a guess on the safe side, not measured."""


def cached_kernels(_: Root) -> Probe:
    """Try to write a program into the cache, and to start it there."""
    place = cache()
    purpose = "building the kernels, at first use"
    try:
        with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir=nearest(place)) as made:
            reserve(Path(made) / "room", BUILDING_BYTES)
            program = Path(made) / "program"
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            subprocess.run([program], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except PermissionError as error:
        if error.filename and Path(error.filename).name == "program":
            return Probe(
                "cache", "", "missing", f"{purpose}: no program may be started in {place} (mounted noexec?)",
                "set XDG_CACHE_HOME to a folder of a disk that is not mounted noexec, and that the nodes see",
                needed=True, lacks="a cache that programs start from",
            )  # fmt: skip
        return unwritable(place, purpose, error)
    except (OSError, subprocess.CalledProcessError) as error:
        return unwritable(place, purpose, error)
    return Probe("cache", str(place), "ok", needed=True)


def unwritable(place: Path, purpose: str, error: Exception) -> Probe:
    """The probe of a cache that does not take a build."""
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return Probe(
        "cache", "", "missing", f"{purpose}: {format_bytes(BUILDING_BYTES)} cannot be written to {place} ({reason})",
        "make room there, or set XDG_CACHE_HOME to a folder that you may write, and that the nodes see",
        needed=True, lacks="a cache with room",
    )  # fmt: skip


def temporary_files(_: Root) -> Probe:
    """Try to write where compilers and MPI libraries put their temporary files."""
    place = temporary()
    try:
        with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir=place) as made:
            reserve(Path(made) / "room", TEMPORARY_BYTES)
    except OSError as error:
        what = f"compilers and MPI libraries: {format_bytes(TEMPORARY_BYTES)} cannot be written to {place}"
        return Probe(
            "temporary files", "", "missing", f"{what} ({error.strerror})",
            "make room there, or set TMPDIR to another folder", needed=True, lacks=f"room in {place}",
        )  # fmt: skip
    return Probe("temporary files", str(place), "ok", needed=True)


def nearest(place: Path) -> Path:
    """The folder itself, else the nearest above it that there is: nothing is made that is not removed again."""
    return next(folder for folder in (place, *place.parents) if folder.is_dir())


def reserve(path: Path, size_bytes: int) -> None:
    """Take room on the disk without writing through it; OSError where there is none, or a quota is used up."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
