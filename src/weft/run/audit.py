# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft audit``: a run of studies/audit.toml."""

import time
from functools import partial
from pathlib import Path

from weft.analyse.tables.answers import GUIDELINE_LAUNCHES
from weft.errors import StudyError
from weft.fabric import Fabric
from weft.files.section import put
from weft.launch.launcher import Launcher
from weft.plan.records import Plan
from weft.plan.rounds import with_launches
from weft.plan.trials import AUDIT_SHARE
from weft.run.extend import replace_plan
from weft.run.load import look_once
from weft.run.one import plan_study, run_study
from weft.run.progress import Progress
from weft.run.shipped import ShippedStudy
from weft.store.folder import RunFolder
from weft.study import Study

MOST_BUDGETS = 6  # of one call at one size, which its least samples may take; where they take longer it is left out
TABLES_S = 6.0  # tables and card
NODES = 2  # at most, where nobody names some: guidelines hold on any number, and a node pair is soon had


def audit_study(fabric: Fabric, nodes: str, time: str, ranks_per_node: str) -> Study:
    """The study of an audit: studies/audit.toml for these nodes and this time. StudyError for values that are none."""
    own = ShippedStudy("audit", nodes, time, ranks_per_node, fabric.hosts[:NODES], {"cores": '"cores"'})
    if fabric.is_model:
        raise StudyError(f"an audit measures an MPI library, and {fabric.name} is a model", "weft audit --on local")
    section, launches = own.tree["collective"], own.tree["measure"]["launches"]
    turns = 2 * len(section["collectives"]) * len(section["sizes"]) * launches
    budget_s = max(AUDIT_SHARE * own.time_s / turns, 0.001)
    put(own.lines, "measure", "budget", f'"{budget_s:.3g} s"')
    put(own.lines, "collective", "guidelines_within", f'"{MOST_BUDGETS * budget_s:.3g} s"')
    return own.study()


class Deadline:
    """Ends an audit after the last round of launches that its time allows, once there are `GUIDELINE_LAUNCHES`."""

    def __init__(self, folder: RunFolder, plan: Plan, time_s: float) -> None:
        self.folder, self.plan, self.time_s, self.longest_s = folder, plan, time_s, 0.0
        self.began = self.round_began = time.monotonic()

    def __call__(self, index: int) -> Plan | None:
        """Take in that a round has ended; returns the plan to go on with, or None to leave out the rounds that follow.

        The launches of a job that waits in a queue have no such end.
        """
        now = time.monotonic()
        self.longest_s, self.round_began = max(self.longest_s, now - self.round_began), now
        is_last = index == self.plan.measure.launches
        # a network on which even those take longer than twice the time has fewer
        most_s = self.time_s - TABLES_S if index >= GUIDELINE_LAUNCHES else 2 * self.time_s
        in_time = now + self.longest_s <= self.began + most_s
        if is_last or in_time or not self.plan.planned_fabric.runs_here:
            return self.plan
        replace_plan(self.folder, with_launches(self.plan, index))
        return None


def run_audit(
    study: Study, fabric: Fabric, launcher: Launcher, progress: Progress, into: Path | None, time_s: float
) -> RunFolder:
    """Audit the library of a launcher in so many seconds, and write the run's tables; DataError, LaunchError."""
    plan = None if into and RunFolder(into).meta.is_file() else plan_study(study, fabric, str)
    seen = look_once(progress.say) if fabric.runs_here else None
    return run_study(
        study, fabric, into, launcher, progress, seen=seen, plan=plan, deadline=partial(Deadline, time_s=time_s)
    )
