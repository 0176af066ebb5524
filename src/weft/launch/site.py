# SPDX-License-Identifier: BSD-3-Clause
"""A scheduler's site: runs its commands, which only print, for :mod:`weft.fabric.site`; the best of its nodes."""

import os
import platform
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from weft.errors import FabricError, LaunchError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Floats
from weft.fabric.nodeset import expand, fold_for_people
from weft.fabric.presets import with_presets
from weft.fabric.site import flux, lsf, pbs, slurm
from weft.fabric.site.found import Site, read_adapters
from weft.fabric.site.writing import fabric_text
from weft.files.reading import validate
from weft.host import run_program
from weft.kernel.jobs import rank_at
from weft.kernel.registry import KERNELS
from weft.launch.preload import route_library
from weft.plan.records import shapes
from weft.route.place import between_nodes, place
from weft.route.routes import Routes
from weft.study import Study

BEST = "best"


def with_best_nodes(study: Study, fabric: Fabric, notes: list[str]) -> tuple[Study, Fabric]:
    """The study and fabric with best nodes named as groups ``best-N``, if it asks; FabricError for unknown cables."""
    if study.placement.nodes != BEST:
        return study, fabric
    network = build_network(fabric)
    if not network.cables_known:
        what = f'placement.nodes = "{BEST}" needs the routes of {fabric.name}, and its cables are not known'
        remedy = "import the output of ibnetdiscover (weft fabric import DUMP -o FILE), or name the nodes"
        raise FabricError(what, remedy)
    routes = Routes(network, route_library())
    sent = KERNELS[study.kernel].sent(study)
    groups: dict[int, str] = {}
    asked = {shape.nodes for series in study.series for shape in shapes(series, fabric)}
    for nodes in sorted(number for number in asked if 2 <= number <= len(fabric.hosts)):
        found = place(routes, nodes, sent=_between(study, sent, nodes))
        names = [network.hosts[int(host)] for host in found.best.hosts]
        groups[nodes] = ",".join(names)
        best, worst = 100 / found.best.all_to_all, 100 / found.worst.all_to_all
        worth = f"{found.traffic} at {best:.0f} % of injection by the routes; the worst at {worst:.0f} %"
        looked = "all sets were looked at" if found.exact else f"of {found.looked_at:,} sets"
        notes.append(f"best {nodes} nodes: {fold_for_people(names)}, {worth} ({looked})")
    named = {nodes: f"{BEST}-{nodes}" for nodes in groups}
    placement = study.placement.model_copy(update={"nodes": named})
    more = fabric.groups | {named[nodes]: hosts for nodes, hosts in groups.items()}
    return study.model_copy(update={"placement": placement}), fabric.model_copy(update={"groups": more})


def _between(study: Study, sent: Floats | None, nodes: int) -> Floats | None:
    """Amount from each node to each other, shape (nodes, nodes); None: an all-to-all."""
    if sent is None or len(sent) % nodes:
        return None
    each, order = len(sent) // nodes, study.placement.order
    by_node = [rank_at(node, local, nodes, each, order) for node in range(nodes) for local in range(each)]
    sent = sent[np.ix_(by_node, by_node)]
    node = np.arange(len(sent)) // each
    return between_nodes(sent, nodes) if sent[node[:, None] != node].any() else None


Read = Callable[[Mapping[tuple[str, ...], str]], Site]
READERS: dict[str, tuple[tuple[tuple[str, ...], ...], Read]] = {
    "slurm": (slurm.COMMANDS, slurm.read_site), "pbs": (pbs.COMMANDS, pbs.read_site),
    "lsf": (lsf.COMMANDS, lsf.read_site), "flux": (flux.COMMANDS, flux.read_site),
}  # fmt: skip
"""Commands of each scheduler, the first of which tells that it is here, and what reads their output."""
REMEDIES = {
    "pbsnodes": "only PBS Pro from 14 on and OpenPBS print JSON, Torque and older ones do not: "
    "for those copy the file in docs/cluster.md; else "
}
"""What else may be the cause where a first command fails."""
MOST_TEXT, ANSWER_S = 64 * 2**20, 60


def site_text(kind: str, adapters: Path = Path("/sys/class/infiniband")) -> str:
    """An annotated fabric file of the site of a scheduler, the one here by default; LaunchError, FabricError."""
    firsts = {commands[0][0]: kind for kind, (commands, _) in READERS.items()}
    if not kind and not (kind := firsts.get(next(filter(shutil.which, firsts), ""), "")):
        remedy = "type this on a login node of the cluster, with its scheduler's commands on PATH (module load slurm)"
        raise LaunchError(f"no scheduler here: none of {', '.join(firsts)} is on PATH", remedy)
    if kind not in READERS:
        raise FabricError(f"no scheduler {kind!r} is known", f"name one of {', '.join(READERS)}, or none")
    commands, read = READERS[kind]
    if not shutil.which(commands[0][0]):
        remedy = f"type this on a login node of the cluster, with the commands of {kind} on PATH (module load {kind})"
        raise LaunchError(f"no {kind} here: {commands[0][0]} is not on PATH", remedy)
    said = {command: printed(command, needed=not at) for at, command in enumerate(commands)}
    return fabric_text(read(said), read_adapters(adapters), platform.node().partition(".")[0])


def load_site() -> Fabric:
    """The fabric of the site whose scheduler is here, as ``weft init`` would write it; LaunchError, FabricError."""
    text = site_text("")
    return validate(Fabric, with_presets(tomllib.loads(text)), "this site", FabricError).read_from(Path(), text)


def printed(command: tuple[str, ...], *, needed: bool = False) -> str:
    """What a command prints; empty where it fails. Raises LaunchError: It fails, and it is needed."""
    try:
        # a list of plugins (srun --mpi=list) goes to standard error
        done = run_program(command, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout_s=ANSWER_S)
        if not done.returncode:
            return (done.stdout or done.stderr)[:MOST_TEXT]
        failure = done.stderr.strip() or "without a word"
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if needed:
        remedy = REMEDIES.get(command[0], "") + "ask whether the scheduler runs"
        raise LaunchError(f"{' '.join(command)} failed: {failure}", remedy)
    return ""


# the command of a scheduler that prints its free nodes, one a line
FREE = {"slurm": ("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")}


def free_nodes(fabric: Fabric) -> list[str]:
    """The nodes of a fabric that are free now: of this job; else idle ones; all where none can say. LaunchError."""
    given, command = os.environ.get("SLURM_JOB_NODELIST", ""), FREE.get(fabric.kind, ("",))
    free = set(expand(given)) & set(fabric.hosts) if given else set[str]()
    if not free:
        if not shutil.which(command[0]):
            return list(fabric.hosts)
        free = set(printed(command, needed=True).split())
    return [host for host in fabric.hosts if host in free]
