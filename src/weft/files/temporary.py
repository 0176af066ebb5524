# SPDX-License-Identifier: BSD-3-Clause
"""The folder of temporary files, as compilers choose it."""

import os
from pathlib import Path


def temporary() -> Path:
    """The first of ``TMPDIR``, ``TMP``, ``TEMP``, ``/tmp`` and ``/var/tmp`` that may be written, as GCC chooses.

    ``tempfile.gettempdir`` passes over a full disk in silence, which the compiler does not.
    """
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TMP", "TEMP")]
    usable = (Path(name) for name in (*named, "/tmp", "/var/tmp") if name and os.access(name, os.R_OK | os.W_OK))
    return next((place for place in usable if place.is_dir()), Path("/tmp"))
