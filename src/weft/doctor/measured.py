# SPDX-License-Identifier: BSD-3-Clause
"""``weft doctor --on``: one small run on a fabric, in one job, and what it tells of nodes, ranks, MPI and clocks."""

import shutil
import tempfile
from pathlib import Path

from weft.doctor.probe import Probe
from weft.errors import StudyError
from weft.fabric import Fabric
from weft.fabric.model import complete
from weft.fabric.nodeset import fold_for_people
from weft.files.reading import parse_toml
from weft.format import format_seconds
from weft.host import read_host
from weft.kernel.registry import program_of
from weft.kernel.studies import make_study
from weft.launch import launcher_for
from weft.mpi.library import parse_library
from weft.plan.records import Plan
from weft.run.folder import check_place, locked
from weft.run.one import begin, plan_study
from weft.run.progress import Progress
from weft.run.walk import Walk
from weft.store.folder import RunFolder
from weft.store.records import CellRecord, LaunchRecord, load_cell_record, load_launch_record
from weft.study import Study

# One rank on every node, then every core of two nodes: few ranks on a large machine, and still each of its nodes.
STUDY = """\
name = "doctor"
kernel = "collective"
explain = false
[measure]
launches = 1
min_samples = 5
max_samples = 10
warmup_most = 5
budget = "200 ms"
limit = "60 s"
[collective]
collectives = ["Alltoall"]
sizes = ["8 B"]
[[series]]
name = "every-node"
nodes = {nodes}
ranks_per_node = 1
[[series]]
name = "every-core"
nodes = {few}
ranks_per_node = {cores}
"""
CORES_MOST = 64
CLOCKS_S = 10e-6  # residual of clocks above which a warning is given: short messages would be lost in it


def doctor_study(fabric: Fabric) -> Study:
    """The study: an all-to-all of 8 bytes, one rank on every node, and all cores of at most two nodes."""
    here = complete(fabric, read_host())
    nodes = len(here.hosts)
    text = STUDY.format(nodes=nodes, few=min(2, nodes), cores=min(here.node.cores or 1, CORES_MOST))
    return make_study(parse_toml(text, "doctor", StudyError), "doctor").read_from(Path("doctor.toml"), text)


def examine_on(fabric: Fabric, mpicxx: str | None, progress: Progress) -> list[Probe]:
    """Measure a little on a fabric, in one job, and tell what works; LaunchError if no rank starts, DataError."""
    study = doctor_study(fabric)
    launcher = launcher_for(fabric, mpicxx, progress.say, cancel=True, only=program_of(study))
    place = Path(tempfile.mkdtemp(prefix="weft-doctor-", dir=Path.cwd()))  # below here, since the nodes must see it
    fine = False
    try:
        folder = RunFolder(place / "run")
        check_place(folder)
        with locked(folder):
            plan = plan_study(study, fabric)
            begin(folder, study, fabric, launcher, plan)
            Walk(folder, plan, launcher, progress).go()
        probes = judged(folder, plan, fabric)
        fine = all(probe.verdict != "missing" for probe in probes)
    finally:
        if fine:
            shutil.rmtree(place, ignore_errors=True)
        else:
            progress.say(f"what was measured and printed is kept: {place}/run/launches")
    return probes


def judged(folder: RunFolder, plan: Plan, fabric: Fabric) -> list[Probe]:
    """What a run of the study tells: a probe each for nodes, ranks, MPI, counters and clocks."""
    cells = {cell.id: load_cell_record(folder.cell_record(cell.id, 1)) for cell in plan.measured}
    failed = next((record for record in cells.values() if record.status != "ok"), None)
    if failed is not None:
        why = f"{failed.status}: {failed.reason or 'no reason was given'}"
        log = folder.of(next(launch.id for launch in plan.launches if failed.cell in launch.cells), "log")
        return [Probe("ranks", "", "missing", why, f"read {log}", needed=True)]
    records = (path for path in folder.launches.glob("*.json") if "." not in path.stem.partition(".l")[2])
    launches = [load_launch_record(path) for path in records]
    every_node = max(plan.launches, key=lambda launch: launch.nodes)
    widest = load_launch_record(folder.launches / f"{every_node.id}.json")
    own = parse_library(widest.mpi_library)
    mpi = Probe("MPI", f"{own}, on {widest.processor or 'a processor unknown'}", "ok")  # that really ran
    return [nodes(widest, fabric), ranks(launches), mpi, counters(folder, fabric), clocks(list(cells.values()))]


def nodes(launch: LaunchRecord, fabric: Fabric) -> Probe:
    """Whether every node took part, and under which names."""
    wanted = len(complete(fabric, read_host()).hosts)
    names = sorted(set(launch.ranks.host))
    folded = fold_for_people(names)
    if len(names) >= wanted:
        return Probe("nodes", f"{len(names)} of {wanted} took part: {folded}", "ok")
    text = f"{len(launch.ranks.rank)} ranks for {wanted} nodes ran on {len(names)}: {folded}"
    remedy = "check the placement of ranks: [batch] starter and options, and node.names"
    return Probe("nodes", text, "warn", "nodes share a host: their messages pass through its memory", remedy)


def ranks(launches: list[LaunchRecord]) -> Probe:
    """Whether each rank had a core of its own where there are enough."""
    most = max(launches, key=lambda launch: len(launch.ranks.rank))
    places = [place for place in zip(most.ranks.host, most.ranks.cpus, strict=True) if place[1]]
    single = [place for place in places if place[1].isdigit()]
    if len(set(single)) < len(single):
        why = "they take turns, so times are those of the system's scheduler"
        remedy = "check cores in the fabric file, and binding options in [batch] options and setup"
        return Probe("ranks", f"{len(most.ranks.rank)} ranks, two bound to one core", "warn", why, remedy)
    bound = f"{len(single)} of them bound to a core each" if single else "not bound to single cores"
    return Probe("ranks", f"{len(most.ranks.rank)} ranks, {bound}", "ok")


def counters(folder: RunFolder, fabric: Fabric) -> Probe:
    """Whether the load of links is counted."""
    if len(complete(fabric, read_host()).hosts) == 1:
        return Probe("counters", "one node has no links", "ok")
    files = list(folder.launches.glob("*.links.json"))
    if files:
        return Probe("counters", f"links are counted around each launch ({len(files)} launches)", "ok")
    why = "no link is counted, so a verdict names none: times and bounds are not affected"
    remedy = "InfiniBand: let perfquery read the ports (infiniband-diags, and /dev/infiniband/umad* readable)"
    return Probe("counters", "", "warn", why, remedy)


def clocks(records: list[CellRecord]) -> Probe:
    """How far the ranks' clocks agree."""
    worst = max(records, key=lambda record: record.clock.residual_ns).clock
    found = f"{worst.method or 'not recorded'}, residual {format_seconds(worst.residual_ns / 1e9)}"
    if worst.residual_ns / 1e9 <= CLOCKS_S:
        return Probe("clocks", found, "ok")
    remedy = "measure on quiet nodes; let NTP or chrony steer the clocks slowly (no steps)"
    return Probe("clocks", found, "warn", "times below ten residuals are each rank's own", remedy)
