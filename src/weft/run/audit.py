# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft audit``: a run of studies/audit.toml."""

import tomllib
from pathlib import Path

from weft.errors import StudyError
from weft.fabric import Fabric
from weft.fabric.nodeset import expand
from weft.files.reading import locate, read_toml
from weft.files.section import put, put_in_each
from weft.kernel.studies import make_study
from weft.launch.launcher import Launcher
from weft.run.load import look_first
from weft.run.one import plan_study, run_study
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.study import Study
from weft.units import parse_seconds

SHARE = 0.4  # share of the asked time that samples take; the rest is for starts, warm-up and the tables
NODES = 2  # at most, where nobody names some: guidelines hold on any number, and a node pair is soon had


def audit_study(fabric: Fabric, nodes: str, time: str, ranks_per_node: str) -> Study:
    """The study of an audit: studies/audit.toml for these nodes and this time. StudyError for values that are none."""
    path = locate("audit", "studies", StudyError)
    text, _ = read_toml(path, StudyError)
    lines = text.splitlines()
    try:
        hosts = expand(nodes) if nodes else fabric.hosts[:NODES]
        time_s = parse_seconds(time)
        if ranks_per_node != "cores" and not (ranks_per_node.isdecimal() and int(ranks_per_node)):
            raise ValueError(f"{ranks_per_node} ranks per node")
    except ValueError as problem:
        raise StudyError(f"weft audit: {problem}", "give --nodes n[1-2], --time 90s, --ranks-per-node 4") from None
    if fabric.is_model:
        raise StudyError(f"an audit measures an MPI library, and {fabric.name} is a model", "weft audit --on local")
    if nodes:
        put(lines, "placement", "nodes", f'"{nodes}"')
    put_in_each(lines, "series", "nodes", f"[{max(len(hosts), 1)}]")
    put_in_each(lines, "series", "ranks_per_node", ranks_per_node if ranks_per_node != "cores" else '"cores"')
    tree = tomllib.loads("\n".join(lines))
    section = tree["collective"]
    turns = 2 * len(section["collectives"]) * len(section["sizes"]) * tree["measure"]["launches"]
    put(lines, "measure", "budget", f'"{max(SHARE * time_s / turns, 0.001):.3g} s"')
    written = "\n".join(lines) + "\n"
    return make_study(tomllib.loads(written), str(path)).read_from(path, written)


def run_audit(study: Study, fabric: Fabric, launcher: Launcher, progress: Progress, into: Path | None) -> RunFolder:
    """Audit the library of a launcher, and write the run's tables; DataError, LaunchError as a run's."""
    plan = None if into and RunFolder(into).meta.is_file() else plan_study(study, fabric, str)
    seen = look_first(progress.say, wait=False, anyway=True) if fabric.runs_here else None
    return run_study(study, fabric, into, launcher, progress, seen=seen, plan=plan)
