# SPDX-License-Identifier: BSD-3-Clause
"""Looking at what else this host does before ranks are started: other work makes their times longer and scatter."""

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from weft.host import read
from weft.run.progress import in_words as duration
from weft.store.folder import DISTURBS, Look
from weft.text import plain

LOOK_S = 0.25
NAMED, LEAST = 3, 0.1  # programs that are named, at most, and how busy one must be for it, in cores
PATIENCE_S, AGAIN_S = 1800.0, 5.0
QUIET_LOOKS = 2  # looks in a row that find the host quiet: work that pauses for a moment is not over
REPORT_EVERY_S = 60.0  # while it waits, interval at which a waiting run reports what it waits for
ANSWER_S = 20
Say = Callable[[str], None]


def look(root: Path = Path("/"), seconds: float = LOOK_S) -> Look:
    """What works on this host's cores for a moment, without this process."""
    cores = os.sched_getaffinity(0)
    before, began = _ticks(root, cores), time.monotonic()
    time.sleep(seconds)
    after, took = _ticks(root, cores), time.monotonic() - began
    scale = 1 / (os.sysconf("SC_CLK_TCK") * max(took, 1e-3))
    busy = max(0.0, (after[0] - before[0]) * scale)
    spent = {
        pid: (name, (ticks - before[1].get(pid, (name, ticks))[1]) * scale) for pid, (name, ticks) in after[1].items()
    }
    busy = min(busy - spent.pop(os.getpid(), ("", 0.0))[1], len(cores))
    most = sorted((each for each in spent.values() if each[1] >= LEAST), key=lambda each: -each[1])[:NAMED]
    by = tuple((plain(name), round(each, 2)) for name, each in most)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return Look(when=when, busy=round(max(0.0, busy), 3), cores=len(cores), by=by)


def disturbs(seen: Look) -> bool:
    """Whether the other work is enough to lower the quality of a run."""
    return seen.share > DISTURBS


def in_words(seen: Look, verb: str = "are") -> str:
    """``1.3 of 2 cores are busy with other work (python 0.9, ninja 0.4)``."""
    by = f" ({', '.join(f'{name} {cores:.1f}' for name, cores in seen.by)})" if seen.by else ""
    return f"{seen.busy:.1f} of {seen.cores} cores {verb} busy with other work{by}"


def look_once(say: Say, looks: Callable[[], Look] = look) -> Look:
    """Look at the load, and say what disturbs."""
    seen = looks()
    if disturbs(seen):
        say(f"{in_words(seen)}: times will be longer and scatter, and the quality of the run falls")
    return seen


def look_first(say: Say, *, wait: bool, anyway: bool, looks: Callable[[], Look] = look) -> Look:
    """Look at the load before a run, and say what disturbs; returns the last look."""
    seen = look_once(say, looks)
    if not disturbs(seen):
        return seen
    if wait or (not anyway and _asked(say)):
        return _waited(say, looks)
    say("going on; --wait waits until this host is quiet")
    return seen


def _waited(say: Say, looks: Callable[[], Look]) -> Look:
    say(f"waiting until this host is quiet, {PATIENCE_S / 60:.0f} min at most; Ctrl-C stops")
    reported = began = time.monotonic()
    quiet = 0
    while True:
        seen, now = looks(), time.monotonic()
        quiet = 0 if disturbs(seen) else quiet + 1
        if quiet == QUIET_LOOKS or (not quiet and now - began > PATIENCE_S):
            what = "this host is quiet now" if quiet else f"{in_words(seen)} still"
            say(f"{what}, after {duration(round(now - began))}: going on")
            return seen
        if not quiet and now - reported >= REPORT_EVERY_S:
            reported = now
            say(f"{in_words(seen)} still: waiting")
        time.sleep(AGAIN_S)


def _asked(say: Say) -> bool:
    """Whether a person wants to wait; nobody is asked, or waited for, where no terminal is read."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"w and Enter: wait until this host is quiet; Enter, or {ANSWER_S} s without: go on")
    ready, _, _ = select.select([sys.stdin], [], [], ANSWER_S)
    return bool(ready) and sys.stdin.readline().strip().lower().startswith("w")


def _ticks(root: Path, cores: set[int]) -> tuple[int, dict[int, tuple[str, int]]]:
    busy = 0
    for line in read(root / "proc/stat").splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[:8])
            busy += user + nice + system + irq + softirq + steal
    return busy, dict(_processes(root))


def _processes(root: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    for folder in (root / "proc").glob("[0-9]*"):
        before, bracket, after = read(folder / "stat").rpartition(")")
        fields = after.split()
        if bracket and len(fields) > 12:  # utime and stime are fields 14 and 15 of proc(5)
            yield int(folder.name), (before.partition("(")[2], int(fields[11]) + int(fields[12]))
