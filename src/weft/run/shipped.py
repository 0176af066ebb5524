# SPDX-License-Identifier: BSD-3-Clause
"""A shipped study, rewritten for the nodes, time and ranks per node of a verb; the work of ``weft audit``."""

import time
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from weft.analyse.tables.answers import GUIDELINE_LAUNCHES
from weft.errors import StudyError
from weft.fabric import Fabric
from weft.fabric.nodeset import expand
from weft.files.reading import locate, read_toml
from weft.files.section import put, put_in_each
from weft.kernel.studies import make_study
from weft.launch.launcher import Launcher
from weft.plan.records import Plan
from weft.plan.rounds import with_launches
from weft.plan.trials import AUDIT_SHARE
from weft.run.extend import replace_plan
from weft.run.load import look_once
from weft.run.one import plan_study, run_study
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.study import Study
from weft.units import parse_seconds


class ShippedStudy:
    """The lines of ``studies/NAME.toml``, with its nodes and ranks per node set; StudyError for values that are none.
    `find_nodes`: called for the node set if ``nodes`` is empty; if it finds none the fabric places them. `hosts`: the
    nodes that the series has then. `known`: words that ``ranks_per_node`` may be, and what the study then says.
    """

    def __init__(
        self, name: str, nodes: str, time: str, ranks_per_node: str, hosts: tuple[str, ...], known: Mapping[str, str],
        find_nodes: Callable[[], str] = str,
    ) -> None:  # fmt: skip
        self.path = locate(name, "studies", StudyError)
        self.lines = read_toml(self.path, StudyError)[0].splitlines()
        try:
            nodes = nodes or find_nodes()
            self.hosts = expand(nodes) if nodes else hosts
            self.time_s = parse_seconds(time)
            if not self.time_s:
                raise ValueError(f"--time {time}: must be longer than 0 s")
            if ranks_per_node not in known and not (ranks_per_node.isdecimal() and int(ranks_per_node)):
                raise ValueError(f"--ranks-per-node {ranks_per_node}: {', '.join(['a number', *known])}")
        except ValueError as problem:
            raise StudyError(f"weft {name}: {problem}", "give --nodes n[1-8], --time 30s, --ranks-per-node 1") from None
        if nodes:
            put(self.lines, "placement", "nodes", f'"{nodes}"')
        put_in_each(self.lines, "series", "nodes", f"[{max(len(self.hosts), 1)}]")
        put_in_each(self.lines, "series", "ranks_per_node", known.get(ranks_per_node, ranks_per_node))

    @property
    def tree(self) -> dict[str, Any]:
        """The study's sections as they are written so far."""
        return tomllib.loads("\n".join(self.lines))

    def study(self) -> Study:
        """The study as it is written so far."""
        return study_of(self.lines, self.path)


def study_of(lines: list[str], path: Path) -> Study:
    """The study of the lines of a study file."""
    text = "\n".join(lines) + "\n"
    return make_study(tomllib.loads(text), str(path)).read_from(path, text)


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
        """Take in that a round has ended; the plan to go on with, or None to stop. Jobs in a queue have no such end."""
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
