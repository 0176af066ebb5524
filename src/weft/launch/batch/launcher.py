# SPDX-License-Identifier: BSD-3-Clause
"""Launches through a batch scheduler: write the script, submit it, follow it, resume what a job left undone."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.errors import DataError, LaunchError
from weft.fabric.batch import BatchSection
from weft.files.atomic import file_errors, read_json, try_remove, write_json
from weft.launch.batch.ports import collect_ports, install_script
from weft.launch.batch.scheduler import JobState, Scheduler
from weft.launch.batch.script import Starter, render, write_script
from weft.launch.launcher import LaunchRequest, Outcome, Rules

LOST = 1
"""Exit code noted for a launch that two jobs in a row left without an end."""

SILENT_S = 900.0
"""How long a scheduler may give no answer at all before following its job is given up."""


class BatchLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` with jobs.

    Parameters
    ----------
    scheduler
        The adapter of the site's scheduler.
    section
        ``[batch]`` of the fabric.
    name
        Name of the job.
    starter
        Makes the command line of one launch.
    about
        What :meth:`provenance` tells of the library and the kernels.
    say
        Takes one line when a job is submitted, followed or left alone.
    adapter_rate
        Bytes per second of a node's own link, for the counters of its port; 0 when unknown.
    """

    rules = Rules()

    def __init__(
        self,
        scheduler: Scheduler,
        section: BatchSection,
        name: str,
        starter: Starter,
        about: dict[str, Any],
        say: Callable[[str], None] = lambda _: None,
        adapter_rate: float = 0.0,
    ) -> None:
        self._scheduler = scheduler
        self._section = section
        self._name = name
        self._starter = starter
        self._about = about
        self._say = say
        self._adapter_rate = adapter_rate

    def provenance(self) -> dict[str, Any]:
        """Describe the library, the kernels and the scheduler."""
        return {**self._about, "scheduler": self._scheduler.name, "starter": self._section.starter}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Run the requests in as few jobs as the site's time limit allows, and yield their outcomes in order."""
        if not requests:
            return
        self._forget_unfollowed_ends(requests)
        left = list(requests)
        while left:
            done_before = len(left)
            for outcome in self._one_job(left):
                left.pop(0)
                yield outcome
            if left and len(left) == done_before:
                # a job came and went without ending its first launch: that launch is lost, the others may be fine
                yield lost(left.pop(0))

    def _one_job(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Run or submit one script and yield the outcomes that it brings, in order."""
        folder = requests[0].folder
        script = folder / f"job.{self._scheduler.name}.sh"
        with file_errors(script):
            write_script(script, render(self._scheduler, self._section, requests, self._name, self._starter))
        install_script(folder)
        waiting = list(requests)
        follow = self._inside(script) if self._scheduler.allocation() else self._submitted(script, folder, waiting)
        for running in follow:
            while waiting and (outcome := read_end(waiting[0])):
                collect_ports(waiting.pop(0), self._adapter_rate, self._say)
                yield outcome
            if not waiting or not running:
                return

    def _inside(self, script: Path) -> Iterator[bool]:
        """Run the script in the allocation that is there already; yields whether it still runs."""
        process = subprocess.Popen(["bash", str(script)], start_new_session=True)
        try:
            while process.poll() is None:
                time.sleep(0.2)
                yield True
            yield False
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()

    def _submitted(self, script: Path, folder: Path, waiting: Sequence[LaunchRequest]) -> Iterator[bool]:
        """Submit the script, or follow the job that an earlier weft left; yields whether the job is still there.

        ``waiting`` are the launches that have not ended; once it is empty the job is no longer needed.
        """
        note = folder / "job.json"
        job = self._left_job(note)
        if job:
            self._say(f"following {self._scheduler.name} job {job}, which an earlier weft left in the queue")
        else:
            job = self._scheduler.submit(script)
            self._say(f"submitted {script.name} as {self._scheduler.name} job {job}")
        write_json(note, {"scheduler": self._scheduler.name, "job": job})
        ended = False
        try:
            for _ in self._while_there(job):
                yield True
                time.sleep(self._section.poll)
            ended = True
            yield False
        finally:
            if waiting and not ended:
                ended = self._interrupted(job)
            if ended or not waiting:
                try_remove(note)

    def _while_there(self, job: str) -> Iterator[None]:
        """Poll a job until it has ended; a scheduler that gives no answer is asked again.

        Raises
        ------
        LaunchError
            It gave none for a quarter of an hour.
        """
        answered = time.monotonic()
        while (state := self._scheduler.state(job)) is not JobState.ENDED:
            if state is not JobState.UNKNOWN:
                answered = time.monotonic()
            elif time.monotonic() - answered > SILENT_S:
                raise LaunchError(
                    f"{self._scheduler.name} has not reported on job {job} for {SILENT_S / 60:.0f} min",
                    "the same command follows the job again once the scheduler answers",
                )
            yield

    def _interrupted(self, job: str) -> bool:
        """Cancel or keep the job when weft ends before it; returns whether it was cancelled."""
        if self._section.cancel_on_interrupt:
            self._scheduler.cancel(job)
            self._say(f"cancelled {self._scheduler.name} job {job}")
            return True
        self._say(f"{self._scheduler.name} job {job} goes on: the same command follows it (--cancel: Ctrl-C ends it)")
        return False

    def _left_job(self, note: Path) -> str | None:
        """Id of a job of this run that an interrupted weft left in the queue, as far as the scheduler tells."""
        if not note.exists():
            return None
        try:
            left = read_json(note)
        except DataError:  # torn: which job it was is unknown
            return None
        job = str(left.get("job", ""))
        if not job or left.get("scheduler") != self._scheduler.name:
            return None
        return job if self._scheduler.state(job) is not JobState.ENDED else None

    def _forget_unfollowed_ends(self, requests: Sequence[LaunchRequest]) -> None:
        """Remove ends of launches that are asked for again, unless a job of ours is still writing them."""
        if self._left_job(requests[0].folder / "job.json") is None:
            for request in requests:
                try_remove(end_file(request))


def end_file(request: LaunchRequest) -> Path:
    """Where the script notes how a launch ended."""
    return request.folder / "launches" / f"{request.id}.end"


def read_end(request: LaunchRequest) -> Outcome | None:
    """Outcome of a launch whose end is noted, else None."""
    path = end_file(request)
    if not path.exists():
        return None
    code, seconds = (int(word) for word in path.read_text().split())
    # `timeout` says 124 when it had to end the command, 137 when it had to kill it
    return Outcome(request.id, code, float(seconds), code in (124, 137), request.log)


def lost(request: LaunchRequest) -> Outcome:
    """Outcome of a launch during which its job ended."""
    return Outcome(request.id, LOST, 0.0, False, request.log)
