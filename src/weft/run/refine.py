# SPDX-License-Identifier: BSD-3-Clause
"""Refining a run round by round, and moving the knobs that it names for its change-overs (``weft run --confirm``)."""

import time
from collections.abc import Callable, Sequence

from weft.analyse.engine import connect
from weft.analyse.tables.answers import CHANGES, ChangeRow
from weft.analyse.tables.times import CALLS, reach, timed
from weft.errors import DataError
from weft.files.atomic import read_json
from weft.files.beneath import read_plain
from weft.format import exact_bytes, plural
from weft.launch.launcher import Launcher
from weft.mpi.knobs import setting_of, without_aliases
from weft.plan.records import Plan
from weft.plan.rounds import with_launches
from weft.plan.stored import plan_of
from weft.plan.trials import LEAST_LAUNCHES, Trial, far_value, moved_value, trial_plan
from weft.report import page, tables
from weft.report.card import card_of, card_text
from weft.report.view import load_view
from weft.run.extend import begin_within, plan_within, replace_plan
from weft.run.folder import locked
from weft.run.progress import Progress
from weft.run.refresh import make_tables, reading
from weft.run.walk import Walk, pending
from weft.store.folder import RunFolder


def open_engine() -> None:
    """Import what Ibis and DuckDB leave for the first connection."""
    connect().disconnect()


def show_so_far(folder: RunFolder, rounds: int, progress: Progress) -> None:
    """Show the answer of a run whose tables are made, and write its page if it has none."""
    with reading(folder.path):
        view = load_view(folder.path)
        card = card_of(view)
        answer = next((f"{row.label}: {row.text}" for row in card.rows), "no answer yet")
        progress.answer(f"{plural(rounds, 'launch')} of each cell: {answer}", card_text(view))
        if not folder.report.is_file():
            page.write([folder.path], folder.report)


def write_page(folder: RunFolder) -> None:
    """Write the page of a run whose tables are made."""
    with reading(folder.path):
        page.write([folder.path], folder.report)


def print_answer(folder: RunFolder) -> None:
    """Print card and first table of a run whose tables are made."""
    with reading(folder.path):
        tables.show(folder.path)


# rounds up to `LEAST_LAUNCHES` may take so many times the time of the run, as fewer give no verdict: the plan gives
# them two thirds of that time where calls take twice their bounds, so this is for very slow machines
FIRST_ROUNDS_ROOM = 3


class Refinement:
    """Decide after each round of a run with ``measure.time`` whether another follows."""

    def __init__(self, folder: RunFolder, plan: Plan, progress: Progress | None = None) -> None:
        self.folder, self.plan, self.progress = folder, plan, progress
        self.spent_s = measured_s(folder)
        self.began = self.round_began = time.monotonic()
        self.hurries = False  # whether four rounds like the last one take longer than the run may

    def __call__(self, index: int) -> Plan | None:
        if not 1 < index < LEAST_LAUNCHES or not self.hurries:  # a verdict needs the others; tables take seconds
            make_tables(self.folder)
            if self.progress:
                show_so_far(self.folder, index, self.progress)
        now, began = time.monotonic(), self.round_began
        self.round_began = now
        self.hurries = (now - began) * LEAST_LAUNCHES > self.plan.measure.time
        planned = self.plan.measure.launches
        if not self.plan.planned_fabric.runs_here:  # all its launches are in one job
            return self.plan if index < planned else None
        goes_on = self._goes_on(index, self.spent_s + now - self.began + now - began)
        if index == planned if goes_on else index < planned:
            self.plan = with_launches(self.plan, index + goes_on)
            replace_plan(self.folder, self.plan)
        return self.plan if goes_on else None

    def _goes_on(self, index: int, after_next: float) -> bool:
        """Whether another round follows, which would end ``after_next`` seconds from the beginning of the run."""
        if index < LEAST_LAUNCHES:
            return after_next <= FIRST_ROUNDS_ROOM * self.plan.measure.time
        return after_next <= self.plan.measure.time and not is_precise(self.folder, self.plan)


def is_precise(folder: RunFolder, plan: Plan) -> bool:
    """Whether the interval over launches of each warm call is as narrow as the study asks."""
    rows = timed(CALLS.read(folder.path), phase="warm")
    half_widths = [(reach(row)[1] - reach(row)[0]) / 2 / row["median_s"] for row in rows]
    return bool(rows) and max(half_widths) <= plan.measure.precision


def measured_s(folder: RunFolder) -> float:
    """Seconds that the launches of a run have taken so far."""
    total = 0.0
    for path in folder.launches.glob("*.outcome.json"):
        try:
            total += float(read_json(path)["wall_s"])
        except (DataError, KeyError, TypeError, ValueError):
            continue  # of a launch that its cells identify
    return total


MOST_KNOBS = 4  # knobs of one change-over that are moved, most likely first


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
    """The knobs to move, the most likely of each jump first; says which are left out."""
    found: list[Trial] = []
    say = say or Progress().say
    for change in (row for row in changes if row["kind"] == "jump"):
        is_far = False  # one far launch a round for each jump: the most likely knob's that the sweep leaves room for
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
