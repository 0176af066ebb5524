# SPDX-License-Identifier: BSD-3-Clause
"""The text of dumpi2ascii: for each call a line that it was entered, its arguments, a line that it returned."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.plain import open_plain

BINARY = b"DUMPI"
MOST_LINE = 1 << 24
PROGRAM = "dumpi2ascii"
REMEDY = "make the text of each rank's file: dumpi2ascii FILE.bin > FILE.txt"
_EDGE = re.compile(
    r"(MPI_\w+) (entering|returning) at walltime (\d+)\.(\d{9}), cputime [\d.]+ seconds in thread (\d+)\."
)
_ARGUMENT = re.compile(r"\w+ ([\w.]+)(?:\[\d+\])?=(.*)")
_NUMBER = re.compile(r"-?\d+")
_STATUS = re.compile(r"\{bytes=(-?\d+), cancelled=(-?\d+), source=(-?\d+), tag=(-?\d+), error=-?\d+\}")
NS = 1_000_000_000


@dataclass(frozen=True)
class Status:
    """What came, of a receive."""

    bytes: int
    cancelled: bool
    source: int
    tag: int


@dataclass(frozen=True)
class Call:
    """A call of a rank; arguments are texts, as they stand in the file. Times in ns of the rank's wall clock."""

    name: str
    begin_ns: int
    end_ns: int
    thread: int
    arguments: dict[str, str]

    def number(self, name: str, otherwise: int = 0) -> int:
        """An integer, or the number of a handle."""
        found = _NUMBER.match(self.arguments.get(name, ""))
        return int(found[0]) if found else otherwise

    def word(self, name: str) -> str:
        """What stands in brackets behind a number: a constant's name; empty without one."""
        return self.arguments.get(name, "").partition("(")[2].rstrip(")")

    def numbers(self, name: str) -> list[int]:
        """The integers of a list, or of one; none where it is <IGNORED>."""
        return [int(each) for each in _NUMBER.findall(self.arguments.get(name, ""))]

    def statuses(self, name: str) -> list[Status]:
        """The statuses; none where they are <IGNORED>."""
        found = _STATUS.findall(self.arguments.get(name, ""))
        return [Status(int(size), gone != "0", int(source), int(tag)) for size, gone, source, tag in found]


def is_dumpi_text(path: Path) -> bool:
    """Whether a file begins as dumpi2ascii's texts do; DataError if it cannot be read."""
    with file_errors(path), open_plain(path) as file:
        begins = file.read(4096)
    edges = (_EDGE.match(line.decode("utf-8", "replace")) for line in begins.splitlines())
    return BINARY not in begins[:16] and any(edges)


def is_dumpi_binary(path: Path) -> bool:
    """Whether a file is one of DUMPI's own; DataError if it cannot be read."""
    with file_errors(path), open_plain(path) as file:
        return BINARY in file.read(16)


def has_program() -> bool:
    """Whether DUMPI's own program is here, which makes texts of its binary files."""
    return shutil.which(PROGRAM) is not None


@contextmanager
def _opened(path: Path) -> Generator[IO[str]]:
    """A rank's text; that of a binary file as DUMPI's program prints it, so that it takes no room on a disk."""
    if not is_dumpi_binary(path):
        with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace") as lines:
            yield lines
        return
    command = [PROGRAM, "-S", "-f", str(path)]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, encoding="utf-8", errors="replace"
        ) as process,
    ):
        assert process.stdout
        try:
            yield process.stdout
        except BaseException:
            process.kill()
            raise
        process.stdout.close()
        if code := process.wait():
            said.seek(0)
            last = (said.read().strip().splitlines() or ["it said nothing"])[-1]
            raise DataError(f"{path}: {PROGRAM} ended with exit code {code}: {last}", f"try {PROGRAM} -H {path}")


def calls_of(path: Path) -> Iterator[Call]:
    """Yield the calls of a rank in order; one that never returned is the last, with end_ns -1.

    Parameters
    ----------
    path
        A text of dumpi2ascii, or a binary file of DUMPI, which needs that program.

    Raises
    ------
    DataError
        The file cannot be read, a call returns that was not entered, or a line is longer than any can be; or the
        program failed.
    """
    begun: re.Match[str] | None = None
    arguments: dict[str, str] = {}
    with file_errors(path), _opened(path) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE), ""), 1):
            if edge := _EDGE.match(line):
                if edge[2] == "entering":
                    begun, arguments = edge, {}
                    continue
                if begun is None or begun[1] != edge[1]:
                    raise DataError(f"{path}: line {number}: {edge[1]} returns, and was not entered", REMEDY)
                yield Call(edge[1], _ns(begun), _ns(edge), int(edge[5]), arguments)
                begun = None
            elif begun and (argument := _ARGUMENT.match(line)):
                arguments[argument[1]] = argument[2].strip()
            elif len(line) == MOST_LINE:
                raise DataError(f"{path}: line {number} is longer than 16 MiB: no text of dumpi2ascii", REMEDY)
    if begun:
        yield Call(begun[1], _ns(begun), -1, int(begun[5]), arguments)


def _ns(edge: re.Match[str]) -> int:
    return int(edge[3]) * NS + int(edge[4])
