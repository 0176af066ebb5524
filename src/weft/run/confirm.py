# SPDX-License-Identifier: BSD-3-Clause
"""Moving the knobs that a run names for its change-overs (``weft run --confirm``): a run in its folder ``confirm``."""

from collections.abc import Callable, Sequence

from weft.analyse.tables.answers import CHANGES, ChangeRow
from weft.errors import DataError
from weft.files.beneath import read_plain
from weft.format import exact_bytes, plural
from weft.launch.launcher import Launcher
from weft.mpi.knobs import setting_of, without_aliases
from weft.plan.records import Plan
from weft.plan.stored import plan_of
from weft.plan.trials import Trial, far_value, moved_value, trial_plan
from weft.run.extend import begin_within, plan_within
from weft.run.folder import locked
from weft.run.progress import Progress
from weft.run.refresh import make_tables
from weft.run.walk import Walk, pending
from weft.store.folder import RunFolder

MOST_KNOBS = 4  # knobs of one change-over that are moved, the likeliest first


def confirm(folder: RunFolder, launcher: Launcher, progress: Progress) -> None:
    """Move each knob that may have made a jump, and remake the run's tables with that; DataError, LaunchError."""
    plan = plan_of(folder)
    trials = trials_of(CHANGES.read(folder.path), plan, progress.say)
    if not trials:
        progress.say("no knob to confirm: no jump is at the value of a known knob that the sweep leaves room to move")
        return
    inner = RunFolder(folder.confirm)
    with locked(folder), locked(inner):
        moving = plan_within(folder, inner)
        if moving is None:
            moving = trial_plan(plan, trials)
            begin_within(folder, inner, moving, read_plain(folder.study))
        knobs = list(dict.fromkeys(trial.knob for trial in trials))
        launches = plural(len(moving.launches), "launch")
        progress.say(f"moving {plural(len(knobs), 'knob')} in {launches}: {', '.join(knobs)}")
        Walk(inner, moving, launcher, progress).go()
        make_tables(inner)
        make_tables(folder)


def is_left(folder: RunFolder) -> bool:
    """Whether a run whose cells are all measured has knobs that were not moved yet."""
    inner = RunFolder(folder.confirm)
    try:
        if inner.meta.is_file():
            return bool(pending(inner, plan_of(inner)))
        return bool(trials_of(CHANGES.read(folder.path), plan_of(folder)))
    except DataError:
        return False


def trials_of(changes: Sequence[ChangeRow], plan: Plan, say: Callable[[str], None] | None = None) -> list[Trial]:
    """The knobs to move, the likeliest of each jump first; says which are left out."""
    found: list[Trial] = []
    say = say or Progress().say
    for change in (row for row in changes if row["kind"] == "jump"):
        is_far = False  # one far launch a round for each jump: the likeliest knob's that the sweep leaves room for
        values = dict(zip(change["knobs"], change["knob_values"], strict=True))
        names = without_aliases(values)
        for name in names[:MOST_KNOBS]:
            trial = _trial(change, name, values[name], plan, far=not is_far)
            if isinstance(trial, str):
                say(f"{name} is not moved: {trial}")
            else:
                is_far = is_far or trial.far > 0
                found.append(trial)
        if names[MOST_KNOBS:]:
            say(f"not moved, as less likely: {', '.join(names[MOST_KNOBS:])}")
    return found


def _trial(change: ChangeRow, knob: str, value: int, plan: Plan, *, far: bool) -> Trial | str:
    sizes = plan.cell(change["cell"]).parameters["bytes"]
    moved = moved_value(value, up=(change["factor"] or 0) > 1, sizes=sizes)
    if moved is None:
        return f"sizes from half of {exact_bytes(value)} to twice and its half are not all within the sweep"
    try:
        setting_of(knob, moved)
    except ValueError as why:
        return str(why)
    at = far_value(value, moved, sizes) if far else 0
    return Trial(change["cell"], change["call"], change["lower"], change["upper"], knob, value, moved, at)
