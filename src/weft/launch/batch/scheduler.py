# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a batch scheduler: submit, state, cancel, and how it starts ranks."""

import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from weft.errors import LaunchError
from weft.host import run_program
from weft.launch.launcher import LaunchRequest


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
        printed = look(self, [*self.asking, job], self.forgotten)
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
        ask(self, [*self.cancelling, job], tolerate=True)

    def allocation(self) -> str | None:
        """Id of the job this process runs in, or None."""
        return os.environ.get(self.job_variable)

    @abstractmethod
    def allocated_nodes(self) -> Sequence[str]:
        """Names of the nodes of the job this process runs in, without repeats; empty outside of one."""

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Arguments before the kernel's command line that start its ranks; LaunchError where it has no such command."""
        raise LaunchError(f"{self.name} has no starter of ranks", 'set [batch] starter = "mpiexec"')


def listed_once(text: str) -> list[str]:
    """The words of a text, each once, in their order."""
    return list(dict.fromkeys(text.split()))


def refuse_missing(scheduler: Scheduler) -> None:
    """LaunchError if a scheduler's commands are not on PATH, before anything is built for it."""
    for name in scheduler.commands:
        if shutil.which(name) is None:
            raise not_there(name, scheduler)


def not_there(command: str, scheduler: Scheduler) -> LaunchError:
    """The error of a scheduler's command that is not on PATH."""
    what = f"{command} is not on PATH, so no job can be submitted to {scheduler.name}"
    return LaunchError(what, f"load the site's {scheduler.name} commands, or measure only this host with --on local")


def run_command(
    scheduler: Scheduler, command: Sequence[str], script: Path | None = None, timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a scheduler's command without variables such as ``SBATCH_PARTITION``, which override lines of a script."""
    environment = clean_environment(os.environ, scheduler.command_prefixes)
    return run_program(command, text=script.read_text() if script else "", env=environment, timeout_s=timeout_s)


def ask(scheduler: Scheduler, command: Sequence[str], *, tolerate: bool = False, script: Path | None = None) -> str:
    """What a scheduler's command prints; LaunchError if it is missing, silent, or fails and `tolerate` is false."""
    try:
        done = run_command(scheduler, command, script)
    except FileNotFoundError as error:
        raise not_there(command[0], scheduler) from error
    except subprocess.TimeoutExpired as error:
        what = f"{' '.join(command)} gave no answer in 120 s"
        raise LaunchError(what, "check whether the scheduler is running") from error
    if done.returncode != 0 and not tolerate:
        raise LaunchError(
            f"{' '.join(command)} failed with exit code {done.returncode}: {(done.stderr or done.stdout).strip()}",
            "check the script named above; change [batch] in the fabric file to suit this site",
        )
    return done.stdout


def look(scheduler: Scheduler, command: Sequence[str], forgotten: str) -> str | None:
    """A scheduler's output about a job: empty if it no longer lists it, None if it does not answer; or LaunchError."""
    try:
        done = run_command(scheduler, command)
    except FileNotFoundError as error:
        raise LaunchError(
            f"{command[0]} is not on PATH, so no job of {scheduler.name} can be followed",
            f"load the site's {scheduler.name} commands; a submitted job keeps running meanwhile",
        ) from error
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return done.stdout
    return "" if re.search(forgotten, done.stderr + done.stdout, re.IGNORECASE) else None


def output(scheduler: Scheduler, command: Sequence[str]) -> str:
    """What a scheduler's command prints about a job; empty where it fails, is silent or missing."""
    try:
        done = run_command(scheduler, command, timeout_s=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def clean_environment(environment: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return the environment without variables that set a scheduler's defaults for new jobs."""
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}
