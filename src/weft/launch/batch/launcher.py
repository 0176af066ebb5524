# SPDX-License-Identifier: BSD-3-Clause
"""Launches through a batch scheduler: write the script, submit it, note the job, follow it, resume what it left.

Counters of InfiniBand ports (``perfquery -x``) need read access to /dev/infiniband/umad*, which often only root has.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import DataError, LaunchError
from weft.fabric.model import BatchSection, Fabric
from weft.files.atomic import file_errors, read_json, try_remove, write_atomic, write_json
from weft.files.beneath import read_plain
from weft.launch.batch.scheduler import JobState, RankStarter, Scheduler, render, write_script
from weft.launch.batch.schedulers import SCHEDULERS
from weft.launch.build import build_kernels
from weft.launch.launcher import LaunchRequest, Outcome
from weft.mpi.library import find_mpi
from weft.plan.wire import Rules
from weft.store.links import LinkCount, links_file, passed, write_links
from weft.text import plain

JOB = re.compile(r"[^\s-]\S{0,199}")
"""A job's id. It becomes an argument of the scheduler's commands, and must not be taken for one of their options."""
NOTE = "job.json"  # of a run folder: its job


def place_of(folder: Path) -> dict[str, str | int]:
    """By what a note knows its folder: a login node may see it by another path, and moved it is still the same one."""
    return {"folder": str(folder.resolve()), "inode": folder.stat().st_ino}


END = re.compile(rb"([0-9]{1,9}) ([0-9]{1,9})\n")
"""What the job's script notes of a launch that has ended: exit code and seconds."""
LOST = 1  # exit code recorded for a launch that two jobs in a row did not finish
SILENT_S = 900.0  # how long a scheduler may be silent before Weft stops following its job
WAITED_S = 15.0  # how long a job waits before Weft asks why, and how often it asks again


@dataclass
class BatchLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` with jobs."""

    scheduler: Scheduler
    section: BatchSection
    name: str
    starter: RankStarter
    about: dict[str, Any]
    say: Callable[[str], None] = lambda _: None
    adapter_rate: float = 0.0  # bytes per second of a node's link; 0 if unknown
    rules = Rules()

    def provenance(self) -> dict[str, Any]:
        """Describe the library, the kernels and the scheduler."""
        return {**self.about, "scheduler": self.scheduler.name, "starter": self.section.starter}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Run the requests in as few jobs as the site's time limit allows, and yield their outcomes in order."""
        if not requests:
            return
        if self._left(requests[0].folder) is None:  # else a job of ours is still writing them
            for request in requests:
                try_remove(request.file("end"))
        before = {request.id for request in requests if request.file("end").exists()}
        left = list(requests)
        while left:
            done_before = len(left)
            for outcome in self._one_job(left):
                left.pop(0)
                yield replace(outcome, before=outcome.id in before)
            if left and len(left) == done_before:
                # the job ended without finishing its first launch: that launch is lost, the others may be fine
                yield lost(left.pop(0))

    def _one_job(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        folder = requests[0].folder
        script = folder / f"job.{self.scheduler.name}.sh"
        with file_errors(script):
            write_script(script, render(self.scheduler, self.section, requests, self.name, self.starter))
        write_atomic(folder / "launches" / SCRIPT.name, SCRIPT.read_bytes())  # where all nodes can read it
        waiting = list(requests)
        follow = self._inside(script) if self.scheduler.allocation() else self._submitted(script, folder, waiting)
        for running in follow:
            while waiting and (outcome := read_end(waiting[0])):
                collect_ports(waiting.pop(0), self.adapter_rate, self.say)
                yield outcome
            if not waiting or not running:
                return

    def _inside(self, script: Path) -> Iterator[bool]:
        """Run the script in the present allocation; yields whether it still runs."""
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
        """Submit the script, or follow an earlier job, while launches wait; yields whether the job still exists."""
        job = self._left(folder)
        if job:
            self.say(f"following {self.scheduler.name} job {job}, which an earlier weft left in the queue")
        else:
            job = self.scheduler.submit(script)
            self.say(f"submitted {script.name} as {self.scheduler.name} job {job}")
        write_json(folder / NOTE, {"scheduler": self.scheduler.name, "job": job, **place_of(folder)})
        ended = False
        try:
            for _ in self._while_there(job):
                yield True
                time.sleep(self.section.poll)
            ended = True
            said = plain(self.scheduler.reason(job)) if waiting else ""
            yield True  # what the job ended last is taken before anything is said of the rest
            if waiting and self.scheduler.was_cancelled(job):
                what = f"{self.scheduler.name} job {job} was cancelled"
                raise LaunchError(what, "finished cells are kept; the same command submits a new job and goes on")
            if waiting and said:
                self.say(f"{self.scheduler.name} job {job} ended before all was measured: {said}")
            yield False
        finally:
            if waiting and not ended:
                ended = self._interrupted(job)
            if ended or not waiting:
                try_remove(folder / NOTE)

    def _left(self, folder: Path) -> str | None:
        """Id of the job that an interrupted weft left in the queue for a folder, and not for one it is a copy of."""
        if not (folder / NOTE).exists():
            return None
        try:
            noted = read_json(folder / NOTE)
        except DataError:  # incomplete: the job's id is unknown
            return None
        job = noted.get("job")
        if not isinstance(job, str) or not JOB.fullmatch(job) or noted.get("scheduler") != self.scheduler.name:
            return None
        if "folder" in noted and all(noted.get(key) != value for key, value in place_of(folder).items()):
            return None
        return job if self.scheduler.state(job) is not JobState.ENDED else None

    def _while_there(self, job: str) -> Iterator[None]:
        """Poll a job until it has ended; LaunchError after a quarter of an hour without an answer."""
        answered = asked = time.monotonic()
        reason = ""
        while (state := self.scheduler.state(job)) is not JobState.ENDED:
            if state is JobState.PENDING and time.monotonic() - asked > WAITED_S:
                asked, before = time.monotonic(), reason
                reason = plain(self.scheduler.reason(job))
                if reason not in ("", before):
                    self.say(f"{self.scheduler.name} job {job} waits: {reason}")
            if state is not JobState.UNKNOWN:
                answered = time.monotonic()
            elif time.monotonic() - answered > SILENT_S:
                what = f"{self.scheduler.name} has not reported on job {job} for {SILENT_S / 60:.0f} min"
                raise LaunchError(what, "the same command follows the job again once the scheduler answers")
            yield

    def _interrupted(self, job: str) -> bool:
        """Cancel the job or leave it when weft ends before it; returns whether it was cancelled."""
        cancels, what = self.section.cancel_on_interrupt, f"{self.scheduler.name} job {job}"
        if cancels:
            self.scheduler.cancel(job)
        follows = f"{what} goes on: the same command follows it (--cancel: Ctrl-C ends it)"
        self.say(f"cancelled {what}" if cancels else follows)
        return cancels


def read_end(request: LaunchRequest) -> Outcome | None:
    """Outcome of a launch whose end the script has recorded, else None."""
    path = request.file("end")
    if not path.exists():
        return None
    with file_errors(path):
        noted = END.fullmatch(read_plain(path))
    if not noted:
        return lost(request)
    code, seconds = (int(word) for word in noted.groups())
    # `timeout` returns 124 if it terminated the command, 137 if it killed it
    return Outcome(request.id, code, float(seconds), code in (124, 137), request.log)


def lost(request: LaunchRequest) -> Outcome:
    """Outcome of a launch during which its job ended."""
    return Outcome(request.id, LOST, 0.0, False, request.log)


def make_launcher(fabric: Fabric, mpicxx: str | None, say: Callable[[str], None], only: str = "") -> BatchLauncher:
    """Return the launcher that uses jobs of the fabric's scheduler; LaunchError without its commands or kernels."""
    scheduler = SCHEDULERS[fabric.kind]()
    section = (fabric.batch or BatchSection.model_validate({})).model_copy(update={"starter": fabric.starter})
    scheduler.refuse_missing()
    kernels = build_kernels(find_mpi(mpicxx), say, only=only)
    starter = RankStarter(kernels, scheduler, section)
    rate = fabric.network.adapter_rate if fabric.network else None
    return BatchLauncher(scheduler, section, f"weft-{fabric.name}", starter, kernels.about(), say, rate or 0.0)


LINE = re.compile(r"([A-Za-z]\w*):\.*(-?\d+|0x[0-9a-fA-F]+)")
WORD = 4  # PortXmitData and PortRcvData count words of four bytes (InfiniBand specification, PortCounters)
FABRIC = "fabric"


def parse_perfquery(text: str) -> dict[str, int]:
    """Counters by name, e.g. ``PortXmitData``. Raises DataError: One of the four traffic counters is missing."""
    found = {name: int(value, 0) for name, value in LINE.findall(text)}
    missing = [name for name in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts") if name not in found]
    if missing:
        raise DataError(f"perfquery printed no {missing[0]}: {text.strip()[:200]!r}", "try it by hand: perfquery -x")
    return found


def port_counts(host: str, counters: dict[str, int], rate: float = 0.0) -> list[LinkCount]:
    """Rows of a host's link, one for each direction. Only the switch knows what it discarded towards the host, so that
    direction's row has the packets received with errors. `rate`: bytes per second of the link; 0 if unknown.
    """
    name, discarded, broken = f"{host}-{FABRIC}", counters.get("PortXmitDiscards", 0), counters.get("PortRcvErrors", 0)
    return [
        LinkCount(name, host, FABRIC, rate, WORD * counters["PortXmitData"], counters["PortXmitPkts"], discarded),
        LinkCount(name, FABRIC, host, rate, WORD * counters["PortRcvData"], counters["PortRcvPkts"], broken),
    ]


METHOD = "perfquery"
SCRIPT = Path(__file__).with_name("ports.sh")


def collect_ports(request: LaunchRequest, rate: float, say: Callable[[str], None]) -> None:
    """Write ``launches/<launch>.links.json`` of a launch that has ended, without the nodes that could not be read."""
    folder = request.file("ports")  # ``<host>.before`` and ``<host>.after``, by ``ports.sh``
    if not folder.is_dir():
        return
    counts: list[LinkCount] = []
    for before in sorted(folder.glob("*.before")):
        host = before.name.removesuffix(".before")
        try:
            texts = (path.read_text(encoding="utf-8") for path in (before, before.with_suffix(".after")))
            counts += passed(*(port_counts(host, parse_perfquery(text), rate) for text in texts))
        except (DataError, OSError) as error:
            say(f"no link counters of {host} in launch {request.id}: {getattr(error, 'what', error)}")
    if counts:
        write_links(links_file(request.folder, request.id), request.id, METHOD, counts)
    shutil.rmtree(folder, ignore_errors=True)
