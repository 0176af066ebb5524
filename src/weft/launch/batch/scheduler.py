# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a batch scheduler, and its job script: launches as lines that a user can read, change and submit."""

import math
import os
import re
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from weft.errors import FabricError, LaunchError
from weft.fabric.kinds import MPIEXEC
from weft.fabric.model import BatchSection
from weft.fabric.nodeset import fold
from weft.files.atomic import own_file
from weft.format import format_seconds, plural
from weft.host import run_program
from weft.launch.build import Kernels
from weft.launch.launcher import BLOCK, CYCLIC, LaunchRequest
from weft.mpi.starting import family_of
from weft.text import directive

Done = subprocess.CompletedProcess[str]


class JobState(Enum):
    """The state of a job."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"  # the scheduler did not answer: the job must not be submitted again


class Scheduler(ABC):
    """A batch scheduler: its commands and words, and what Weft asks of it."""

    name: str  # the kind of fabric that it serves, and the stem of its template
    commands: tuple[str, ...]  # its commands that Weft cannot do without
    command_prefixes: tuple[str, ...]  # of environment variables that set defaults of its commands for new jobs
    job_variable: str  # environment variable with the id of the job that a process runs in
    asking: tuple[str, ...]  # command that prints the state of the job whose id follows
    forgotten: str  # pattern of what that command says of a job that the scheduler no longer lists
    states: Mapping[str, JobState]  # its words for states; any other is an end
    cancelling: tuple[str, ...]  # command that cancels the job whose id follows

    @abstractmethod
    def submit(self, script: Path) -> str:
        """Submit a job script and return the job's id."""

    def state(self, job: str) -> JobState:
        """The state of the job: ended if the scheduler no longer lists it, unknown if it does not answer."""
        printed = self.look([*self.asking, job], self.forgotten)
        return JobState.UNKNOWN if printed is None else self.states.get(self.state_in(printed), JobState.ENDED)

    def state_in(self, printed: str) -> str:
        """The scheduler's word for a state in what its command printed."""
        return printed.strip()

    @abstractmethod
    def was_cancelled(self, job: str) -> bool:
        """Whether somebody cancelled a job that has ended; False where the scheduler cannot tell."""

    @abstractmethod
    def reason(self, job: str) -> str:
        """Why a job waits, or why it ended, in the scheduler's own words; empty where it does not say."""

    def cancel(self, job: str) -> None:
        """Cancel the job; it is no error if it has already ended."""
        self.ask([*self.cancelling, job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job this process runs in, or None."""
        return os.environ.get(self.job_variable)

    @abstractmethod
    def allocated_nodes(self) -> Sequence[str]:
        """Names of the nodes of the job this process runs in, without repeats; empty outside of one."""

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Arguments before the kernel's command line that start its ranks; LaunchError where it has no such command."""
        raise LaunchError(f"{self.name} has no starter of ranks", 'set [batch] starter = "mpiexec"')

    def not_there(self, command: str) -> LaunchError:
        """The error of a command that is not on PATH."""
        what = f"{command} is not on PATH, so no job can be submitted to {self.name}"
        return LaunchError(what, f"load the site's {self.name} commands, or measure only this host with --on local")

    def refuse_missing(self) -> None:
        """LaunchError if its commands are not on PATH, before anything is built for it."""
        for name in self.commands:
            if shutil.which(name) is None:
                raise self.not_there(name)

    def run(self, command: Sequence[str], script: Path | None = None, timeout_s: float = 120) -> Done:
        """Run a command without variables such as ``SBATCH_PARTITION``, which override lines of a script."""
        own = {name: text for name, text in os.environ.items() if not name.startswith(self.command_prefixes)}
        return run_program(command, text=script.read_text() if script else "", env=own, timeout_s=timeout_s)

    def ask(self, command: Sequence[str], *, tolerate: bool = False, script: Path | None = None) -> str:
        """What a command prints; LaunchError if it is missing, silent, or fails and `tolerate` is false."""
        try:
            done = self.run(command, script)
        except FileNotFoundError as error:
            raise self.not_there(command[0]) from error
        except subprocess.TimeoutExpired as error:
            what = f"{' '.join(command)} gave no answer in 120 s"
            raise LaunchError(what, "check whether the scheduler is running") from error
        if done.returncode != 0 and not tolerate:
            said = (done.stderr or done.stdout).strip()
            what = f"{' '.join(command)} failed with exit code {done.returncode}: {said}"
            raise LaunchError(what, "check the script named above; change [batch] in the fabric file to suit this site")
        return done.stdout

    def look(self, command: Sequence[str], forgotten: str) -> str | None:
        """Output about a job: empty if it is no longer listed, None if nothing answers; LaunchError without command."""
        try:
            done = self.run(command)
        except FileNotFoundError as error:
            what = f"{command[0]} is not on PATH, so no job of {self.name} can be followed"
            remedy = f"load the site's {self.name} commands; a submitted job keeps running meanwhile"
            raise LaunchError(what, remedy) from error
        except subprocess.TimeoutExpired:
            return None
        if done.returncode == 0:
            return done.stdout
        return "" if re.search(forgotten, done.stderr + done.stdout, re.IGNORECASE) else None

    def output(self, command: Sequence[str]) -> str:
        """What a command prints about a job; empty where it fails, is silent or missing."""
        try:
            done = self.run(command, timeout_s=30)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout if done.returncode == 0 else ""


def listed_once(text: str) -> list[str]:
    """The words of a text, each once, in their order."""
    return list(dict.fromkeys(text.split()))


@dataclass(frozen=True)
class RankStarter:
    """Makes the command lines of a launch."""

    kernels: Kernels
    scheduler: Scheduler
    section: BatchSection

    def __call__(self, request: LaunchRequest) -> list[str]:
        variables = family_of(self.kernels.library).environment(request.oversubscribed) | self.kernels.variables
        start = self._started(request, self.section.mpi)
        return [*environment_words(variables), *start, str(self.kernels.program), str(request.plan)]

    def each_node(self, request: LaunchRequest) -> list[str]:
        """Arguments before a command, not an MPI program, that run it once on each node of a request."""
        once = replace(request, ranks=len(request.nodes), ranks_per_node=1, order=BLOCK, oversubscribed=True)
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


def render(
    scheduler: Scheduler, section: BatchSection, requests: Sequence[LaunchRequest], name: str, starter: RankStarter
) -> str:
    """The script of a job for all `requests`, or those its time allows; FabricError if none of the site can."""
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


def launch_line(request: LaunchRequest, starter: RankStarter) -> dict[str, Any]:
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
