# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a run: on a terminal, as plain lines, or not at all."""

import sys
import time
from typing import TYPE_CHECKING, TextIO

from weft.format import format_seconds, plural
from weft.text import console, one_line, plain

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINES_EVERY_S = 10.0
GLIMPSES_EVERY_S = 60.0


class Progress:
    """What a run tells of its progress; this one prints nothing, whatever happens."""

    def start(self, total: int, done: int, remaining_s: float | None) -> None:
        """Start: number of cells, number already finished, expected seconds for the rest; None if unknown."""

    def current(self, words: str) -> None:
        """Show the cell that is being measured."""

    def glimpse(self, samples: str, link: str) -> None:
        """Show the running cell's samples and the busiest link, each if any; a thread's call, twice a second."""

    def settled(self, words: str, status: str, done: int, remaining_s: float | None) -> None:
        """Report that a cell has ended, its status, how many have ended, and the seconds as of `start`."""

    def say(self, line: str) -> None:
        """Print a line."""

    def answer(self, line: str, card: str) -> None:
        """Show the answer so far: a line for a log, a card for a terminal, which replaces the one before."""

    def stop(self) -> None:
        """End the display."""


class Lines(Progress):
    """Plain lines for a log file: each failure, now and then the progress, and in a long cell its samples so far."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.began = self.printed = time.monotonic()
        self.total, self.words = 0, ""

    def start(self, total: int, done: int, remaining_s: float | None) -> None:
        self.total = total
        self.began = self.printed = time.monotonic()
        finished = f", {done} of them already finished" if done else ""
        left = f"; about {in_words(remaining_s)}" if remaining_s else ""
        self.say(f"{plural(total, 'cell')} to measure{finished}{left}")

    def current(self, words: str) -> None:
        self.words = words

    def glimpse(self, samples: str, link: str) -> None:
        now = time.monotonic()
        if now - self.printed >= GLIMPSES_EVERY_S:
            self.printed = now
            self.say(f"{self.words}: {'; '.join(filter(None, (samples, link)))}")

    def settled(self, words: str, status: str, done: int, remaining_s: float | None) -> None:
        now = time.monotonic()
        if status != "ok":
            self.say(f"{status}: {words}")
        if now - self.printed >= LINES_EVERY_S or done == self.total:
            self.printed = now
            left = "" if remaining_s is None else f", about {in_words(remaining_s)} left"
            more = "" if done == self.total else f"{left}; last: {words}"
            self.say(f"{done}/{self.total} cells in {in_words(now - self.began)}{more}")

    def say(self, line: str) -> None:
        print(plain(line), file=self.out, flush=True)

    def answer(self, line: str, card: str) -> None:
        self.printed = time.monotonic()
        self.say(line)


class Left:
    """The remaining time, which runs down from the first samples on; time in a queue does not count."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds, self.began = seconds, 0.0

    def measures(self) -> None:
        """Note that ranks measure."""
        self.began = self.began or time.monotonic()

    def __str__(self) -> str:
        if self.seconds is None:
            return ""
        left_s = self.seconds - (time.monotonic() - self.began if self.began else 0.0)
        if left_s >= 1:
            return f"about {in_words(left_s)} left"
        return "soon done" if left_s > min(-2.0, -0.2 * self.seconds) else "longer than expected"


class Live(Progress):
    """A progress bar, below it the current cell and its samples so far; what is too long ends in three dots."""

    def __init__(self) -> None:
        from rich.console import Group
        from rich.live import Live as Display
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.text import Text

        self.bar: Bar = Progress(
            TextColumn("measuring"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"), console=console(stderr=True),
        )  # fmt: skip
        self.left = Left(None)
        self.task = self.bar.add_task("", total=None, left="")
        self.cell = Text(style="dim", no_wrap=True, overflow="ellipsis")
        self.samples, self.link, self.card = (Text(no_wrap=True, overflow="ellipsis") for _ in range(3))
        self.lines = Group(self.bar, self.cell, self.samples, self.link)
        self.display = Display(self.lines, console=self.bar.console, transient=True, refresh_per_second=4)

    def start(self, total: int, done: int, remaining_s: float | None) -> None:
        self.bar.reset(self.task)  # building the kernels is not measuring
        self.left = Left(remaining_s)
        self.bar.update(self.task, total=total, completed=done, left=self.left)
        self.display.start()

    def current(self, words: str) -> None:
        self.cell.plain = one_line(f"  {words}")
        self.samples.plain = self.link.plain = ""

    def glimpse(self, samples: str, link: str) -> None:
        self.samples.plain, self.link.plain = one_line(f"  {samples}"), one_line(f"  {link}")
        self.left.measures()

    def settled(self, words: str, status: str, done: int, remaining_s: float | None) -> None:
        if status != "ok":
            self.say(f"{status}: {words}")
        self.left = Left(remaining_s)
        self.bar.update(self.task, completed=done, left=self.left)

    def say(self, line: str) -> None:
        self.bar.console.print(line)

    def answer(self, line: str, card: str) -> None:
        from rich.text import Text

        # what does not fit above the bar would scroll away, and be drawn again below
        most = max(3, self.bar.console.height - 6)
        if self.card not in self.lines.renderables:
            self.lines.renderables.insert(0, self.card)
        self.card.plain = ""
        self.card.append_text(Text.from_ansi("\n".join(card.splitlines()[:most])))

    def stop(self) -> None:
        self.display.stop()


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
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
