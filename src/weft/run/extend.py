# SPDX-License-Identifier: BSD-3-Clause
"""Adding launches to a run under its own plan, and the copies of input files that both use."""

from collections.abc import Iterator
from pathlib import Path

from weft import __version__
from weft.errors import DataError
from weft.fabric import Fabric
from weft.files.atomic import copy_atomic, file_errors, write_atomic, write_json
from weft.files.beneath import read_plain
from weft.kernel.registry import kernel_named
from weft.kernel.studies import without_launches
from weft.plan.records import Plan
from weft.plan.rounds import with_launches
from weft.plan.stored import HASH, NEXT_HASH, hash_of, plan_of
from weft.run.folder import create
from weft.run.walk import pending
from weft.store.folder import INPUTS, OF, RunFolder, check_copies, digest, digests
from weft.study import Study


def input_files(plan: Plan) -> Iterator[Path]:
    """Every file that a plan's cells name, once."""
    keys = [(cell.parameters, kernel_named(cell.kernel).inputs_of(cell.parameters)) for cell in plan.cells]
    yield from map(Path, sorted({str(values[key]) for values, own in keys for key in own}))


def copy_inputs(folder: RunFolder, plan: Plan) -> None:
    """Copy the files of a plan into a run that begins; DataError if one is missing, not plain, or named twice."""
    sources = list(input_files(plan))
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


def plan_within(folder: RunFolder, inner: RunFolder) -> Plan | None:
    """The stored plan of a run inside another; None if it is not begun. Raises DataError: it is of another run."""
    if not inner.meta.is_file():
        return None
    if inner.metadata().get(OF) != folder.run_id():
        raise DataError(f"{inner.path} belongs to another run", f"remove it: rm -r {inner.path}")
    return plan_of(inner)


def begin_within(folder: RunFolder, inner: RunFolder, plan: Plan, study: bytes) -> None:
    """Write the files of a run inside another: its input files are copied from there. DataError if impossible."""
    text = plan.model_dump_json(indent=1).encode()
    for kept in sorted(folder.inputs.iterdir()) if folder.inputs.is_dir() else []:
        _keep(kept, inner)
    same = {key: value for key, value in folder.metadata().items() if key not in ("schema", "run", HASH)}
    meta = same | {"weft": __version__, OF: folder.run_id(), HASH: hash_of(text), INPUTS: digests(inner)}
    create(inner, study, read_plain(folder.fabric), text, meta)


def check_inputs(folder: RunFolder, plan: Plan) -> None:
    """DataError if a file of a run, or its copy, is not what it began with; one that is gone is not missed."""
    check_copies(folder)
    for source in input_files(plan):
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


def can_extend(folder: RunFolder, study: Study, fabric: Fabric) -> bool:
    """Whether a folder has a run of this study and fabric with fewer launches or less time, otherwise the same."""
    try:
        RunFolder.open(folder.path)
        plan, own = plan_of(folder), without_launches(read_plain(folder.study).decode())
        same = read_plain(folder.fabric) == fabric.text.encode()
    except (DataError, OSError, ValueError):
        return False
    given, has = study.measure, plan.measure
    more = given.time > has.time if given.time else given.launches > has.launches
    return same and more and not plan.is_model and own is not None and own == without_launches(study.text)


def extend(folder: RunFolder, study: Study) -> Plan:
    """Give a run, locked by us, the launches that its study now asks for, or one more for its time; DataError. A kill
    between two of the writes does no harm: the plan's next hash is written before the plan is replaced, and a study
    whose launches the plan lacks is extended once more.
    """
    old, asked = plan_of(folder), study.measure
    plan = old.model_copy(update={"measure": old.measure.model_copy(update={"time": asked.time})})
    complete = not pending(folder, plan)
    plan = with_launches(plan, asked.launches if not asked.time else old.measure.launches + complete)
    replace_plan(folder, plan, study)
    return plan


def replace_plan(folder: RunFolder, plan: Plan, study: Study | None = None) -> None:
    """Store another plan of a run, with its study where that is another; the caller holds the lock."""
    text = plan.model_dump_json(indent=1).encode()
    meta = folder.metadata()
    write_json(folder.meta, meta | {NEXT_HASH: hash_of(text)})
    if study is not None:
        write_atomic(folder.study, study.text.encode())
    write_atomic(folder.plan, text)
    write_json(folder.meta, {key: value for key, value in meta.items() if key != NEXT_HASH} | {HASH: hash_of(text)})
