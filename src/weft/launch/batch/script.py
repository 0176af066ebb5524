# SPDX-License-Identifier: BSD-3-Clause
"""The job script: the launches of a study as lines that a user can read, change and submit."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from weft.errors import FabricError
from weft.fabric.batch import BatchSection
from weft.fabric.kinds import MPIEXEC
from weft.fabric.nodeset import fold
from weft.files.atomic import own_file
from weft.format import format_seconds, plural
from weft.launch.batch.scheduler import Scheduler
from weft.launch.build import Kernels
from weft.launch.launcher import BLOCK, CYCLIC, LaunchRequest
from weft.mpi.starting import family_of
from weft.text import directive


@dataclass(frozen=True)
class RankStarter:
    """Makes command lines; fulfils :class:`weft.launch.batch.script.Starter`."""

    kernels: Kernels
    scheduler: Scheduler
    section: BatchSection

    def __call__(self, request: LaunchRequest) -> list[str]:
        """The command line, its variables first."""
        variables = family_of(self.kernels.library).environment(request.oversubscribed) | self.kernels.variables
        start = self._started(request, self.section.mpi)
        return [*environment_words(variables), *start, str(self.kernels.program), str(request.plan)]

    def each_node(self, request: LaunchRequest) -> list[str]:
        """Arguments before a command, not an MPI program, that run it once on each node of a request."""
        nodes = len(request.nodes)
        once = replace(request, ranks=nodes, ranks_per_node=1, order=BLOCK, oversubscribed=True)
        return self._started(once, "none")

    def _started(self, request: LaunchRequest, mpi: str) -> list[str]:
        if self.section.starter != MPIEXEC:
            return self.scheduler.start_ranks(request, mpi)
        family = family_of(self.kernels.library)
        binding = family.free if request.oversubscribed else family.pinned
        across = family.across(request.nodes, request.ranks_per_node, request.order == CYCLIC)
        return [str(self.kernels.mpi.mpiexec()), *across, *binding, "-n", str(request.ranks)]


TEMPLATES = Path(__file__).parent / "templates"  # one template per scheduler, ``<its name>.sh.j2``
ROUNDED = 1e-6  # of a minute: 4.1 node hours are six minutes of 41 nodes
START_S = 20.0  # seconds allowed for starting the ranks of one launch, on top of its own limit


class Starter(Protocol):
    """Makes the command lines of a launch."""

    def __call__(self, request: LaunchRequest) -> list[str]:
        """The command line that starts the kernel's ranks."""
        ...

    def each_node(self, request: LaunchRequest) -> list[str]:
        """The command line prefix that runs a command once on each node of the request."""
        ...


def render(
    scheduler: Scheduler, section: BatchSection, requests: Sequence[LaunchRequest], name: str, starter: Starter
) -> str:
    """Return the script that runs `requests` one after the other in one job.

    The job has the nodes of all its launches; each launch names its own. Its time limit is the sum of the launches'
    limits, capped by the site's limits: launches that do not fit are left for the next job. Raises FabricError: no job
    within the site's limits has time for the longest launch.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    nodes = list(dict.fromkeys(node for request in requests for node in request.nodes))
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["directive"] = directive
    environment.filters["quote"] = lambda value: shlex.quote(str(value))  # pyright: ignore[reportUnknownLambdaType]
    return environment.get_template(f"{scheduler.name}.sh.j2").render(
        name=name, folder=requests[0].folder, nodes=nodes, nodeset=fold(nodes),
        ranks_per_node=max(request.ranks_per_node for request in requests),
        minutes=minutes(requests, section, len(nodes)), partition=section.partition, account=section.account,
        qos=section.qos, reservation=section.reservation, constraint=section.constraint, options=section.options,
        setup=section.setup, launches=[launch_line(request, starter) for request in requests],
    )  # fmt: skip


def launch_line(request: LaunchRequest, starter: Starter) -> dict[str, Any]:
    """One launch for the template: id, limit in seconds, quoted command, and the prefix to run once on each node."""
    command = shlex.join([*environment_words(request.environment), *starter(request)])
    limit = math.ceil(request.limit_s + START_S) if request.limit_s else 0
    return {"id": request.id, "limit": limit, "command": command, "each_node": shlex.join(starter.each_node(request))}


def environment_words(environment: dict[str, str]) -> list[str]:
    """Variables as an ``env`` before a command."""
    return ["env", *(f"{name}={value}" for name, value in sorted(environment.items()))] if environment else []


def minutes(requests: Sequence[LaunchRequest], section: BatchSection, nodes: int) -> int:
    """Minutes to request: the sum of the launches' limits, at most what the site allows for so many nodes. FabricError.

    The limits of a launch are far above what it takes: that it does not fit is known of its expected time alone.
    """
    by_nodes = 3600 * section.node_hours / nodes if section.node_hours else math.inf
    most = int(min(section.time_limit, by_nodes, 1e9) / 60 + ROUNDED)
    longest = max(requests, key=lambda request: request.expected_s)
    needed = max(1, math.ceil(longest.expected_s / 60))
    if most < needed:
        allowed, enough = f'time_limit = "{section.time_limit:g} s"', f'time_limit = "{needed} min" or more'
        if by_nodes < section.time_limit:
            hours = math.ceil(needed * nodes / 0.6) / 100
            allowed, enough = f"node_hours = {section.node_hours:g}", f"node_hours = {hours:g} or more, or fewer nodes"
        raise FabricError(
            f"[batch] {allowed} leaves {format_seconds(min(section.time_limit, by_nodes))} for a job of "
            f"{plural(nodes, 'node')}; {longest.id} needs {needed} min",
            f"give {enough}",
        )
    return min(max(1, math.ceil(sum(request.limit_s + START_S for request in requests) / 60)), most)


def write_script(path: Path, text: str) -> None:
    """Write the script as an executable file."""
    with own_file(path) as file:
        file.write(text.encode())
    path.chmod(0o755)
