# SPDX-License-Identifier: BSD-3-Clause
"""Telling how far a run is: on a terminal, as plain lines, or not at all."""

import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from weft.format import format_seconds
from weft.text import console, plain

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINES_EVERY_S = 10.0


class Progress(Protocol):
    """What a run tells while it goes on."""

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """Begin: cells in all, cells that are finished already, seconds that the rest is expected to take."""
        ...

    def current(self, words: str) -> None:
        """Name the cell that is being measured."""
        ...

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """Tell that a cell has ended, how, how many have, and the seconds that the rest is expected to take."""
        ...

    def say(self, line: str) -> None:
        """Tell something else."""
        ...

    def stop(self) -> None:
        """End; nothing more is told."""
        ...


class Silent:
    """Tells nothing."""

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""

    def current(self, words: str) -> None:
        """See :class:`Progress`."""

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""

    def say(self, line: str) -> None:
        """See :class:`Progress`."""

    def stop(self) -> None:
        """See :class:`Progress`."""


class Lines:
    """Plain lines for a log file: each failure, and from time to time how far the run is.

    Parameters
    ----------
    out
        Where the lines go; stderr, since stdout is for tables.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.began = self.told = time.monotonic()
        self.total = 0

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        self.total = total
        self.began = self.told = time.monotonic()
        finished = f", {done} of them are finished" if done else ""
        self.say(f"{total} cells to measure{finished}; at least {in_words(remaining_s)}")

    def current(self, words: str) -> None:
        """See :class:`Progress`."""

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        now = time.monotonic()
        if status != "ok":
            self.say(f"{status}: {words}")
        if now - self.told >= LINES_EVERY_S or done == self.total:
            self.told = now
            elapsed = in_words(now - self.began)
            left = "" if done == self.total else f", about {in_words(remaining_s)} left; last: {words}"
            self.say(f"{done}/{self.total} cells in {elapsed}{left}")

    def say(self, line: str) -> None:
        """See :class:`Progress`."""
        print(plain(line), file=self.out, flush=True)

    def stop(self) -> None:
        """See :class:`Progress`."""


class Live:
    """A bar that moves, with the current cell below it."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar: Bar = Progress(
            TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"), TextColumn("{task.fields[words]}", style="dim", markup=False),
            console=console(stderr=True), transient=True,
        )  # fmt: skip
        self.task = self.bar.add_task("", total=None, left="", words="")

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        self.bar.update(self.task, total=total, completed=done, left=f"at least {in_words(remaining_s)} left")
        self.bar.start()

    def current(self, words: str) -> None:
        """See :class:`Progress`."""
        self.bar.update(self.task, words=words)

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        if status != "ok":
            self.say(f"{status}: {words}")
        self.bar.update(self.task, completed=done, left=f"about {in_words(remaining_s)} left")

    def say(self, line: str) -> None:
        """See :class:`Progress`."""
        self.bar.console.print(line)

    def stop(self) -> None:
        """See :class:`Progress`."""
        self.bar.stop()


def for_terminal() -> Progress:
    """Return a bar where somebody watches, plain lines where the output goes into a file."""
    return Live() if sys.stderr.isatty() else Lines()


def in_words(seconds: float) -> str:
    """Duration as people say it: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 1:
        return format_seconds(max(seconds, 0.0)) if seconds > 0 else "0 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
