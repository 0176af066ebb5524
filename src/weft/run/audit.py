# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft audit``: a run of studies/audit.toml."""

from pathlib import Path

from weft.errors import StudyError
from weft.fabric import Fabric
from weft.files.section import put
from weft.launch.launcher import Launcher
from weft.run.load import look_first
from weft.run.one import plan_study, run_study
from weft.run.progress import Progress
from weft.run.shipped import ShippedStudy
from weft.store.folder import RunFolder
from weft.study import Study

SHARE = 0.4  # share of the asked time that samples take; the rest is for starts, warm-up and the tables
NODES = 2  # at most, where nobody names some: guidelines hold on any number, and a node pair is soon had


def audit_study(fabric: Fabric, nodes: str, time: str, ranks_per_node: str) -> Study:
    """The study of an audit: studies/audit.toml for these nodes and this time. StudyError for values that are none."""
    own = ShippedStudy("audit", nodes, time, ranks_per_node, fabric.hosts[:NODES], {"cores": '"cores"'})
    if fabric.is_model:
        raise StudyError(f"an audit measures an MPI library, and {fabric.name} is a model", "weft audit --on local")
    section, launches = own.tree["collective"], own.tree["measure"]["launches"]
    turns = 2 * len(section["collectives"]) * len(section["sizes"]) * launches
    put(own.lines, "measure", "budget", f'"{max(SHARE * own.time_s / turns, 0.001):.3g} s"')
    return own.study()


def run_audit(study: Study, fabric: Fabric, launcher: Launcher, progress: Progress, into: Path | None) -> RunFolder:
    """Audit the library of a launcher, and write the run's tables; DataError, LaunchError as a run's."""
    plan = None if into and RunFolder(into).meta.is_file() else plan_study(study, fabric, str)
    seen = look_first(progress.say, wait=False, anyway=True) if fabric.runs_here else None
    return run_study(study, fabric, into, launcher, progress, seen=seen, plan=plan)
