# SPDX-License-Identifier: BSD-3-Clause
"""Writing of a fabric file with fitted numbers, each with its source; all other lines stay as they were."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import FabricError, StudyError
from weft.fabric.model import Fabric, load_fabric
from weft.files.atomic import write_atomic
from weft.files.keys import put
from weft.fit.inputs import PARAMETERS
from weft.fit.machine import Filled
from weft.fit.squares import Fit
from weft.format import format_rate, format_seconds

DIGITS = 4


def write_fitted(fabric: Fabric, fit: Fit, path: Path, *, simulated: bool, filled: Sequence[Filled] = ()) -> None:
    """Write the fabric with the fitted values, and check that it can be read.

    Raises
    ------
    StudyError
        The path is that of the given file, or does not end in .toml.
    FabricError
        The written file cannot be read as a fabric.
    """
    if path.suffix != ".toml":
        raise StudyError(f"{path} is no fabric file", "give -o NEW.toml")
    if path.exists() and path.samefile(fabric.path):
        raise StudyError(f"{path} is the file that was read", "write another one: -o NEW.toml")
    write_atomic(path, fitted_text(fabric.text, fit, simulated=simulated, filled=filled).encode())
    again = load_fabric(path)
    for name, value in fit.parameters.items():
        if abs(PARAMETERS[name].of(again) / value - 1) > 10.0 ** (1 - DIGITS):
            raise FabricError(f"{path}: {PARAMETERS[name].key} could not be written", "edit the file by hand")


def fitted_text(text: str, fit: Fit, *, simulated: bool, filled: Sequence[Filled] = ()) -> str:
    """The file's text with the fitted values and their sources."""
    cells = ", ".join(cell.name for cell in fit.cells if cell.fitted)
    how = "simulation" if simulated else "the closed form"
    source = f"fitted on cells {cells}, by {how} (weft fabric fit); error on unseen cells {fit.leave_out_error:.1%}"
    lines = text.splitlines()
    fitted = [
        Filled(PARAMETERS[name].key, written(value, PARAMETERS[name].unit), source)
        for name, value in fit.parameters.items()
    ]
    for entry in (*filled, *fitted):
        section, _, key = entry.key.rpartition(".")
        put(lines, section, key, f'"{entry.text}"')
        if entry.source:
            put(lines, "sources", f'"{entry.key}"', f'"{entry.source}"')
    return "\n".join(lines) + "\n"


def written(value: float, unit: str) -> str:
    """A value as written in a fabric file: ``5.364 GB/s``, ``15.5 MB/s``, ``165.1 us``."""
    return format_rate(value, DIGITS) if unit == "B/s" else format_seconds(value, DIGITS)
