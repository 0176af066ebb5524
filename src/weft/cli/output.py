# SPDX-License-Identifier: BSD-3-Clause
"""Printing answers, and output that fails: the disk is full, it was closed (``>&-``), or its reader has gone."""

import codecs
import io
import os
import sys
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from weft.errors import WeftError

#: What stands for a character where the output's encoding (ASCII in the locale C, Latin-1) has none.
_SIMPLER = {
    **{"–": "-", "—": "-", "─": "-", "━": "-", "·": ".", "•": "*", "→": ">", "←": "<", "↑": "^", "↓": "v", "×": "x"},
    **{"µ": "u", "μ": "u", "±": "+-", "…": "...", "█": "#", "░": ".", "▇": "#", "│": "|", "✓": "+", "✗": "x"},
}


class OutputError(WeftError):
    """The output takes nothing more. Never exit code 1, which says that a run or a gate has failed."""

    exit_code = 2


class NobodyReadsError(OutputError):
    """Whoever read the output (``head``, ``less``) has closed it: nothing to complain of."""

    exit_code = 141  # 128 and the number of SIGPIPE, as a shell tells it


class Stdout(io.FileIO):
    """Standard output that says in one line why it failed; after that it takes everything, and drops it."""

    failed = False

    def write(self, data: Any, /) -> int:
        """Write as far as possible. Raises at the first failure: NobodyReadsError (the reader went) or OutputError."""
        if not self.failed:
            try:
                return super().write(data)
            except BrokenPipeError:
                self.failed = True
                raise NobodyReadsError("the reader of the output has closed it") from None
            except OSError as error:
                self.failed = True
                remedy = "send it to a file on a disk with room, or leave it on the terminal, and repeat the command"
                raise OutputError(f"the output cannot be written: {error.strerror}", remedy) from None
        return memoryview(data).nbytes


class Stderr(io.FileIO):
    """Standard error that never fails: a run does not end because nobody reads its progress."""

    def write(self, data: Any, /) -> int:
        """Write, or drop what cannot be written."""
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


@contextmanager
def guarded() -> Generator[None, None, None]:
    """Let all output of a command pass through `Stdout` and `Stderr`, unless it was replaced."""
    # something in the place of each of the three that is closed: else the next file opened would be the output
    while (handle := os.open(os.devnull, os.O_RDONLY)) <= 2:
        continue
    os.close(handle)
    before = sys.stdout, sys.stderr
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _text(Stdout(1, "w", closefd=False), sys.stdout)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _text(Stderr(2, "w", closefd=False), sys.stderr)
    try:
        yield
    finally:
        ours = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = before
        for stream in ours:
            with suppress(OutputError):  # main has flushed before: what is left was dropped
                stream.flush()  # pyrefly: ignore[missing-attribute]


def simpler(problem: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks by what looks like it. Raises UnicodeError: the text was to be decoded."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    missing = problem.object[problem.start : problem.end]
    parts = [_SIMPLER.get(each) or unicodedata.normalize("NFKD", each)[0] for each in missing]
    return "".join(part if part.isascii() else "?" for part in parts), problem.end


codecs.register_error("weft.simpler", simpler)


def _text(raw: io.FileIO, like: TextIO | None) -> TextIO:
    """Text over a raw file, in the encoding of the stream that it replaces."""
    encoding, by_line = like.encoding if like else "utf-8", raw.isatty() or raw.fileno() == 2
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "weft.simpler", line_buffering=by_line)


def print_answer(answer: Any) -> None:
    """Print an answer: a tree or a list as JSON, anything else as the terminal shows it."""
    import json

    from weft.text import console

    if isinstance(answer, dict | list):
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    else:
        console().print(answer)
