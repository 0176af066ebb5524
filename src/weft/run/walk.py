# SPDX-License-Identifier: BSD-3-Clause
"""Walking the launches of a run: finished cells are skipped, a failure becomes a row, and the walk continues."""

import errno
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weft.errors import DataError
from weft.files.atomic import explain, read_json, try_remove, write_atomic, write_json
from weft.files.beneath import version
from weft.kernel.registry import kernel_named
from weft.launch.launcher import Launcher, LaunchRequest, Outcome, read_slots
from weft.plan.records import Cell, LaunchPlan, Plan
from weft.plan.wire import flat_plan
from weft.run.failure import BOUND, LAUNCH, RETRIED, kernels_word, log_tail, no_start, status_of, under_way, write_row
from weft.run.folder import check_still_there
from weft.run.progress import Progress
from weft.run.watch import Durations, Watch
from weft.store.cells import Origin, read_cell
from weft.store.folder import RunFolder

GIVE_UP_AFTER = 3  # failed starts in a row that end the run: if nothing was measured before them, mpiexec is broken


class Step(NamedTuple):
    """A launch and its cells that have still to be measured."""

    launch: LaunchPlan
    cells: tuple[str, ...]


# called with the index of each round that has ended; returns the plan to go on with, or None to stop there
AfterRound = Callable[[int], Plan | None]


@dataclass
class Walk:
    """One walk over a run's launches."""

    folder: RunFolder
    plan: Plan
    launcher: Launcher
    progress: Progress
    after_round: AfterRound | None = None

    def __post_init__(self) -> None:
        self.cells = {cell.id: cell for cell in self.plan.cells}
        self.origin = self.plan.origin(self.folder.run_id())
        self.total = sum(len(launch.cells) for launch in self.plan.launches)
        self.done = self.failed_starts = 0
        self.second_starts: set[str] = set()
        self.first_starts: dict[tuple[str, ...], str] = {}  # the launch of this walk that reads a group's settings
        self.before: dict[Path, tuple[int, int]] = {}
        self.measured_any, self.durations = False, Durations()

    def go(self) -> None:
        """Measure everything unfinished; LaunchError if no launch starts, DataError if the folder is lost."""
        steps = pending(self.folder, self.plan, mend=True)
        self.done = self.total - sum(len(step.cells) for step in steps)
        self.progress.start(self.total, self.done, self.durations.remaining_s(steps))
        try:
            while steps:
                steps = self._round(steps)
        finally:
            self.progress.stop()
        names = {cell.id for cell in self.plan.cells} | {each.id.partition(".")[0] for each in self.plan.launches}
        for path in self.folder.leftovers(names):
            try_remove(path)

    def _round(self, steps: list[Step]) -> list[Step]:
        """Start each step once; returns the cells that a failed launch did not reach, as new steps."""
        check_still_there(self.folder, self.origin.run)
        requests = [self._request(step) for step in steps]
        again: list[Step] = []
        self.progress.current(self._words(steps[0]))
        with Watch(self.folder, self.launcher, self.progress) as watch, closed(self.launcher.run(requests)) as outcomes:
            watch.turn_to(steps[0].launch.id)
            for place, outcome in enumerate(outcomes):
                check_still_there(self.folder, self.origin.run)
                step = steps[place]
                ended = {"returncode": outcome.returncode, "wall_s": outcome.wall_s, "timed_out": outcome.timed_out}
                write_json(self.folder.of(outcome.id, "outcome.json"), {"schema": "weft-outcome/1", **ended})
                firsts = dict(self.first_starts)
                broken_off = self._settle(step, outcome)
                if firsts != self.first_starts:  # the next launch reads the settings in its place
                    for later in steps[place + 1 :]:
                        self._request(later)
                again += broken_off
                self.durations.learn(step.launch, step.cells, outcome.wall_s, whole=outcome.returncode == 0)
                self._tell(step, broken_off, [*steps[place + 1 :], *again])
                try_remove(self.folder.of(outcome.id, "live"))
                if not self._goes_on(place, steps, requests):
                    self.after_round = None
                    return again
                if place + 1 < len(steps):
                    watch.turn_to(steps[place + 1].launch.id)
                    self.progress.current(self._words(steps[place + 1]))
        return again

    def _goes_on(self, place: int, steps: list[Step], requests: list[LaunchRequest]) -> bool:
        """Whether the walk goes on after a step; at the end of a round its owner decides, and may add launches."""
        index = steps[place].launch.index
        if self.after_round is None or any(step.launch.index == index for step in steps[place + 1 :]):
            return True
        plan = self.after_round(index)
        if plan is None:
            return False
        known = {launch.id for launch in self.plan.launches}
        added = [Step(launch, launch.cells) for launch in plan.launches if launch.id not in known]
        self.plan = plan
        self.total += sum(len(step.cells) for step in added)
        steps += added
        requests += map(self._request, added)
        return True

    def _request(self, step: Step) -> LaunchRequest:
        launch = step.launch
        path = self.folder.of(launch.id, "plan")
        kind = (launch.id.partition(".")[0], *sorted(f"{name}={value}" for name, value in launch.settings.items()))
        first = self.first_starts.setdefault(kind, launch.id)
        rules, run, of = self.launcher.rules, self.origin.run, first if first != launch.id else ""
        text = flat_plan(self.plan, launch, self.folder.path, run=run, rules=rules, cells=step.cells, settings_of=of)
        write_atomic(path, text.encode())
        write_atomic(self.folder.of(launch.id, "plan.door"), b"loopback\n" if launch.nodes == 1 else b"network\n")
        files = [self.folder.cell_record(name, launch.index) for name in step.cells]
        self.before |= {file: version(file) for file in (*files, self.folder.of(launch.id, "status"))}
        # the time limit of finished cells is not added to that of the others
        saved_s = sum(self.cells[cell].limit_s for cell in launch.cells if cell not in step.cells)
        return LaunchRequest(
            id=launch.id, ranks=launch.ranks, nodes=launch.hosts, ranks_per_node=launch.ranks_per_node,
            order=launch.order, oversubscribed=launch.oversubscribed, plan=path, folder=self.folder.path,
            limit_s=max(launch.limit_s - saved_s, 0.0), environment=dict(launch.settings),
            cells=tuple(self.cells[name].requested for name in step.cells),
            expected_s=launch.expected_s * len(step.cells) / len(launch.cells),
        )  # fmt: skip

    def _settle(self, step: Step, outcome: Outcome) -> list[Step]:
        """After a launch: write the rows of failed cells, and return what has to be started again."""
        missing = [name for name in step.cells if not self._told_of(name, step.launch, outcome)]
        if not missing:
            self.failed_starts, self.measured_any = 0, True
            return []
        refuse_full_disk(self.folder, outcome)
        words = self.folder.of(step.launch.id, "status")
        slots = read_slots(words, None if outcome.before else self.before.get(words))
        status = status_of(outcome, slots)
        if status == LAUNCH:
            return self._failed_start(step, missing, outcome)
        self.failed_starts, self.measured_any = 0, True
        failed = missing if status == BOUND else [under_way(step.launch, missing, slots)]
        for name in failed:
            write_row(self.folder, step.launch, self.cells[name], status, outcome, slots)
        rest = tuple(name for name in missing if name not in failed)
        return [Step(step.launch, rest)] if rest else []

    def _told_of(self, cell: str, launch: LaunchPlan, outcome: Outcome) -> bool:
        """Whether the kernel wrote a record of a cell: it takes precedence, even if its status is retried."""
        if final_status(self.folder, cell, launch.index, self.origin):
            return True
        record = self.folder.cell_record(cell, launch.index)
        # a job of an earlier weft may have written it before this one looked
        if version(record) == self.before.get(record) and outcome.returncode != 0:
            return False
        try:
            read_cell(self.folder.path, cell, launch.index, checksums=False, origin=self.origin)
            return "log" not in read_json(record)  # Weft's own rows name one
        except DataError:
            return False

    def _failed_start(self, step: Step, missing: Sequence[str], outcome: Outcome) -> list[Step]:
        """Retry a single failed start once, later: libraries have races in MPI_Init."""
        self.failed_starts += 1
        self.first_starts = {kind: name for kind, name in self.first_starts.items() if name != step.launch.id}
        reason = kernels_word(outcome.log)
        if not reason and self.failed_starts < GIVE_UP_AFTER and step.launch.id not in self.second_starts:
            self.second_starts.add(step.launch.id)
            return [Step(step.launch, tuple(missing))]
        # what the kernel refuses is a cell's own mistake: the floors behind it are measured without it
        floors = tuple(name for name in missing if kernel_named(self.cells[name].kernel).is_floor)
        spared = floors if reason and len(floors) < len(missing) else ()
        for name in (name for name in missing if name not in spared):
            write_row(self.folder, step.launch, self.cells[name], LAUNCH, outcome, [])
        if self.failed_starts >= GIVE_UP_AFTER and not self.measured_any:
            raise no_start(outcome, self.failed_starts)
        return [Step(step.launch, spared)] if spared else []

    def _tell(self, step: Step, broken_off: Sequence[Step], waiting: Sequence[Step]) -> None:
        turn_comes = {name for later in broken_off for name in later.cells}
        for name in (name for name in step.cells if name not in turn_comes):
            record = read_json(self.folder.cell_record(name, step.launch.index))
            status = str(record.get("status"))
            why = f": {record.get('reason')}" if record.get("reason") else ""
            self.done += 1
            left_s = self.durations.remaining_s(waiting)
            self.progress.settled(f"{describe(self.cells[name])}{why}", status, self.done, left_s)

    def _words(self, step: Step) -> str:
        first, *others = step.cells
        more = f" and {len(others)} more" if others else ""
        return f"{describe(self.cells[first])}{more} (launch {step.launch.index})"


@contextmanager
def closed(outcomes: Iterator[Outcome]) -> Generator[Iterator[Outcome]]:
    """Close the iterator at the end of the block, if it can be closed: the launcher then ends the running launch."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()


def pending(folder: RunFolder, plan: Plan, *, mend: bool = False) -> list[Step]:
    """Launches with unfinished cells: never measured, failed, or incomplete (see :func:`final_status`)."""
    origin, steps = plan.origin(folder.run_id()), list[Step]()
    for launch in plan.launches:
        final = {name: final_status(folder, name, launch.index, origin, mend=mend) for name in launch.cells}
        if left := tuple(name for name, status in final.items() if status is None):
            steps.append(Step(launch, left))
    return steps


def final_status(folder: RunFolder, cell: str, launch_index: int, origin: Origin, *, mend: bool = False) -> str | None:
    """Status of a cell of a launch if it is finished, complete and of this run, else None."""
    record = folder.cell_record(cell, launch_index)
    if not record.exists():
        return None
    try:
        status = read_cell(folder.path, cell, launch_index, checksums=mend, origin=origin).record.status
    except DataError:
        if mend:
            try_remove(record)
        return None
    return None if status in RETRIED else status


def refuse_full_disk(folder: RunFolder, outcome: Outcome) -> None:
    """DataError if a launch failed by a full or read-only disk, a quota or limit: all others would too."""
    text = "\n".join(log_tail(outcome.log, 40))
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
        if os.strerror(code) in text:
            raise explain(folder.cells, OSError(code, os.strerror(code)))


def describe(cell: Cell) -> str:
    """A cell in words: ``exchange on 2 nodes, 16 ranks: n=1492992 m=1024 (c003)``."""
    nodes = f"{cell.nodes} node{'s' if cell.nodes > 1 else ''}"
    ranks = f"{cell.ranks} rank{'s' if cell.ranks > 1 else ''}"
    values = " ".join(f"{key}={value}" for key, value in cell.parameters.items() if isinstance(value, int | str))
    return f"{cell.kernel} on {nodes}, {ranks}{': ' + values if values else ''} ({cell.id})"
