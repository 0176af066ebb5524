# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a batch scheduler: submit, state, cancel, and how it starts ranks."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Protocol

from weft.errors import LaunchError
from weft.launch.launcher import LaunchRequest


class JobState(Enum):
    """The state of a job."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"
    """The scheduler gave no answer: the job may be anywhere, and must not be submitted a second time."""


class Scheduler(Protocol):
    """One batch scheduler. `name` is also the stem of its template and the fabric kind."""

    @property
    def name(self) -> str:
        """Kind of fabric it serves."""
        ...

    @property
    def command_prefixes(self) -> tuple[str, ...]:
        """Beginnings of the variables that hold defaults of its commands for new jobs."""
        ...

    def submit(self, script: Path) -> str:
        """Submit a job script and return the job's id."""
        ...

    def state(self, job: str) -> JobState:
        """Return the state of the job: ended where the scheduler has forgotten it, unknown where it does not answer."""
        ...

    def cancel(self, job: str) -> None:
        """End the job; one that has ended already is no error."""
        ...

    def allocation(self) -> str | None:
        """Id of the job this process runs in, or None."""
        ...

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Arguments before the kernel's own command line that start its ranks on the request's nodes."""
        ...


def ask(scheduler: Scheduler, command: Sequence[str], *, tolerate: bool = False) -> str:
    """Run one of a scheduler's commands in an environment free of its own defaults, and return what it prints.

    Variables such as ``SBATCH_PARTITION`` override a script's own lines without a word; they are taken out first.

    Raises
    ------
    LaunchError
        The command is missing, or fails and `tolerate` is false.
    """
    try:
        done = subprocess.run(
            command, env=clean_environment(os.environ, scheduler.command_prefixes), capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise LaunchError(
            f"{command[0]} is not on PATH, so no job can be given to {scheduler.name}",
            f"load the site's {scheduler.name} commands, or measure this host alone with --on local",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise LaunchError(f"{' '.join(command)} gave no answer in 120 s", "see whether the scheduler is up") from error
    if done.returncode != 0 and not tolerate:
        raise LaunchError(
            f"{' '.join(command)} failed with exit code {done.returncode}: {(done.stderr or done.stdout).strip()}",
            "read the script named above; change [batch] in the fabric file to what this site wants",
        )
    return done.stdout


def look(scheduler: Scheduler, command: Sequence[str], forgotten: str) -> str | None:
    """What a scheduler prints of a job: nothing for one that it has forgotten, None where it gives no answer.

    Parameters
    ----------
    command
        Asks for one job.
    forgotten
        Pattern of what the command complains of when there is no such job (any more); any other failure is no answer.

    Raises
    ------
    LaunchError
        The command is missing.
    """
    try:
        done = subprocess.run(
            command, env=clean_environment(os.environ, scheduler.command_prefixes), capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise LaunchError(
            f"{command[0]} is not on PATH, so no job of {scheduler.name} can be followed",
            f"load the site's {scheduler.name} commands; a job that was submitted goes on meanwhile",
        ) from error
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return done.stdout
    return "" if re.search(forgotten, done.stderr + done.stdout, re.IGNORECASE) else None


def clean_environment(environment: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return the environment without a scheduler's own defaults for new jobs."""
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}
