# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a run: on a terminal, as plain lines, or not at all."""

import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from weft.format import format_seconds, plural
from weft.text import console, plain

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINES_EVERY_S = 10.0


class Progress(Protocol):
    """The interface for the progress of a run."""

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """Start: number of cells, number already finished, expected seconds for the rest."""
        ...

    def current(self, words: str) -> None:
        """Show the cell that is being measured."""
        ...

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """Report that a cell has ended, its status, how many have ended, and the expected seconds for the rest."""
        ...

    def say(self, line: str) -> None:
        """Print a line."""
        ...

    def stop(self) -> None:
        """End the display."""
        ...


class Silent:
    """Prints nothing."""

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
    """Plain lines for a log file: each failure, and now and then the progress.

    Parameters
    ----------
    out
        Output of the lines; stderr by default, since stdout is for tables.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.began = self.printed = time.monotonic()
        self.total = 0

    def start(self, total: int, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        self.total = total
        self.began = self.printed = time.monotonic()
        finished = f", {done} of them already finished" if done else ""
        self.say(f"{plural(total, 'cell')} to measure{finished}; at least {in_words(remaining_s)}")

    def current(self, words: str) -> None:
        """See :class:`Progress`."""

    def settled(self, words: str, status: str, done: int, remaining_s: float) -> None:
        """See :class:`Progress`."""
        now = time.monotonic()
        if status != "ok":
            self.say(f"{status}: {words}")
        if now - self.printed >= LINES_EVERY_S or done == self.total:
            self.printed = now
            elapsed = in_words(now - self.began)
            left = "" if done == self.total else f", about {in_words(remaining_s)} left; last: {words}"
            self.say(f"{done}/{self.total} cells in {elapsed}{left}")

    def say(self, line: str) -> None:
        """See :class:`Progress`."""
        print(plain(line), file=self.out, flush=True)

    def stop(self) -> None:
        """See :class:`Progress`."""


class Live:
    """A progress bar, with the current cell below it."""

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
    """Return a bar on a terminal, plain lines if the output goes to a file."""
    return Live() if sys.stderr.isatty() else Lines()


def in_words(seconds: float) -> str:
    """A duration in words: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 1:
        return format_seconds(max(seconds, 0.0)) if seconds > 0 else "0 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
