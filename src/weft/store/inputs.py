# SPDX-License-Identifier: BSD-3-Clause
"""A run's copies of the files that its study names. Apart from tables, which a slim installation has not."""

import hashlib
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import open_plain
from weft.store.folder import INPUTS, RunFolder


def digest(path: Path) -> str:
    """A file's SHA-256, in hexadecimal digits. Raises DataError: it is missing, no plain file, or cannot be read."""
    with file_errors(path), open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests(folder: RunFolder) -> dict[str, str]:
    """SHA-256 of each copy by its name, for ``weft.json``."""
    return {path.name: digest(path) for path in sorted(folder.inputs.iterdir())} if folder.inputs.is_dir() else {}


def check_copies(folder: RunFolder) -> None:
    """DataError if a run's copy is missing or changed since it was created; an earlier Weft kept no hashes of them."""
    for name, noted in folder.metadata().get(INPUTS, {}).items():
        copy = folder.inputs / Path(name).name
        if (now := digest(copy)) != noted:
            raise DataError(
                f"{copy} was changed since the run was created: SHA-256 {str(noted)[:12]} in weft.json, {now[:12]} now"
                f"; {folder.what_is_left()}",
                f"restore the original, or {folder.measure_anew()}",
            )
