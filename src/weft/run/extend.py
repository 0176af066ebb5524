# SPDX-License-Identifier: BSD-3-Clause
"""Adding launches to a run: the same cells once more, under the plan that the run has."""

from weft.errors import DataError
from weft.fabric import Fabric
from weft.files.atomic import write_atomic, write_json
from weft.files.plain import read_plain
from weft.kernel.overrides import without_launches
from weft.plan.records import Plan
from weft.plan.rounds import with_launches
from weft.plan.stored import HASH, NEXT_HASH, hash_of, plan_of
from weft.run.walk import pending
from weft.store.folder import RunFolder
from weft.study import Study


def can_extend(folder: RunFolder, study: Study, fabric: Fabric) -> bool:
    """Whether a folder has a run of this study and fabric with fewer launches or less time, otherwise the same."""
    try:
        RunFolder.open(folder.path)
        plan, text = plan_of(folder), read_plain(folder.study).decode()
        same = read_plain(folder.fabric) == fabric.text.encode()
    except (DataError, OSError, ValueError):
        return False
    own = without_launches(text)
    given, has = study.measure, plan.measure
    more = given.time > has.time if given.time else given.launches > has.launches
    return (
        same and more and not plan.planned_fabric.is_model and own is not None and own == without_launches(study.text)
    )


def extend(folder: RunFolder, study: Study) -> Plan:
    """Give a run the launches that its study now asks for, or one more where it asks for time.

    The caller holds its lock. A kill between two of the writes does no harm: the plan's next hash is told before the
    plan is replaced, and a study whose launches the plan lacks is extended once more.

    Raises DataError: The folder cannot be written.
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
