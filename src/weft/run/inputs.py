# SPDX-License-Identifier: BSD-3-Clause
"""Files that a study names: a run keeps a copy, and measures that one to its end, whatever becomes of the file."""

from collections.abc import Iterator
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import copy_atomic, file_errors
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan
from weft.store.folder import RunFolder
from weft.store.inputs import check_copies, digest


def named(plan: Plan) -> Iterator[Path]:
    """Every file that a plan's cells name, once."""
    keys = [(cell.parameters, kernel_named(cell.kernel).inputs_of(cell.parameters)) for cell in plan.cells]
    yield from map(Path, sorted({str(values[key]) for values, own in keys for key in own}))


def copy_inputs(folder: RunFolder, plan: Plan) -> None:
    """Copy the files of a plan into a run that begins.

    Raises DataError: A file is missing or no plain file, two have one name, or the folder cannot be written.
    """
    sources = list(named(plan))
    for source in sources:
        if not source.is_file():
            raise DataError(f"{source} is no file, and the study names it", "write it, or name another in the study")
        _keep(source, folder)
    # afterwards, by their contents: which names are one, case and accents, is for the file system to say
    for source in sources:
        if digest(source) != digest(folder.inputs / source.name):
            raise DataError(
                f"{source} is not what the run keeps of it in {folder.inputs}: another file that the study names is "
                f"also called {source.name}, or this one was just changed",
                "give the files of the study different names, then start the run again",
            )


def hand_inputs(folder: RunFolder, inner: RunFolder) -> None:
    """Copy the files that a run keeps into another one that measures the same: the originals may have changed.

    Raises DataError: A file cannot be read, or the folder cannot be written.
    """
    for kept in sorted(folder.inputs.iterdir()) if folder.inputs.is_dir() else []:
        _keep(kept, inner)


def check_inputs(folder: RunFolder, plan: Plan) -> None:
    """See that the files of a run which goes on are those that it began with; one that is gone is not missed.

    Raises DataError: The run has no copy of a file, the copy was changed, or the file has changed since: one run
    cannot mix the two.
    """
    check_copies(folder)
    for source in named(plan):
        copy = folder.inputs / source.name
        kept = digest(copy)
        if source.is_file() and (now := digest(source)) != kept:
            raise DataError(
                f"{source} has changed since {folder.path} was begun with it: SHA-256 {kept[:12]} there, "
                f"{now[:12]} now",
                f"measure anew with --into DIR, or put the earlier one back: {copy}",
            )


def _keep(source: Path, folder: RunFolder) -> None:
    with file_errors(folder.inputs):
        folder.inputs.mkdir(parents=True, exist_ok=True)
    copy_atomic(source, folder.inputs / source.name)
