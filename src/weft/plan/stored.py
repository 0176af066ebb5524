# SPDX-License-Identifier: BSD-3-Clause
"""The one reader of ``plan.json``: the plan of a run, unless it was changed since the run was created."""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import read_json_text
from weft.kernel.registry import kernel_named
from weft.plan.records import Plan
from weft.store.folder import RunFolder
from weft.study import MOST_CELLS

# entries of ``weft.json``: the hash of ``plan.json``, and the one that it is about to have, while launches are added
HASH, NEXT_HASH = "plan_sha256", "next_plan_sha256"
MOST_STORED = 2 * MOST_CELLS  # cells of a stored plan: those of a study, and a floor for each placement


def plan_of(folder: RunFolder) -> Plan:
    """The stored plan of a run; DataError if it is missing, torn, of another version, or was changed."""
    if not folder.plan.exists():
        raise DataError(f"{folder.plan} is missing; {folder.what_is_left()}", folder.measure_anew())
    with file_errors(folder.plan):
        raw = read_json_text(folder.plan)
    meta = folder.metadata()
    noted = meta.get(HASH)
    if noted is not None and hash_of(raw) not in (noted, meta.get(NEXT_HASH)):
        what = f"{folder.plan} was changed since the run was created (weft.json has its hash); {folder.what_is_left()}"
        raise DataError(what, f"restore the original, or {folder.measure_anew()}")
    return parse_plan(folder.plan, raw)


def hash_of(plan: bytes) -> str:
    """Hash of a plan, for ``weft.json``."""
    return hashlib.sha256(plan).hexdigest()


def parse_plan(path: Path, raw: bytes) -> Plan:
    """A plan from the text of ``path``. Raises DataError: It is incomplete, or of another version."""
    try:
        plan = Plan.model_validate_json(raw)
        if len(plan.cells) > MOST_STORED:
            raise no_plan(path, f"{len(plan.cells):,} cells, at most {MOST_STORED:,} are read")
        for cell in plan.cells:
            kernel_named(cell.kernel).words(cell.parameters)
        for floor in (each for each in plan.floors if "copies" in each.parameters):  # earlier versions: none
            min(size + 0 for size in floor.parameters["copies"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        seen = f", not {first['input']!r}" if isinstance(first["input"], str | int | float) else ""
        raise no_plan(path, f"{where}: {first['msg']}{seen}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise no_plan(path, f"a cell's parameters lack or spoil {error}") from error
    return plan


def no_plan(path: Path, why: str) -> DataError:
    """The error for a file that is not a plan."""
    remedy = "continue with the version that made it (weft.json names it), or measure again with --into DIR"
    return DataError(f"{path} is not a plan of this version of Weft: {why}", remedy)
