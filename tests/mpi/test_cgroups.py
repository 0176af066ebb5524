# SPDX-License-Identifier: BSD-3-Clause
"""A control group's limits: memory that shrinks after the plan was made, and too few processes."""

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from real_weft import Weft, eventually, working_on

BIG = """\
name = "big"
title = "A small cell and one of 240 MiB"
kernel = "exchange"
explain = false

[measure]
launches = {launches}
min_samples = 5
max_samples = 10
warmup_most = 5
budget = "0.2 s"
limit = "{limit}"
seed = 5

[[series]]
name = "small"
scaling = "none"
nodes = 1
ranks_per_node = 2
n = 400
m = 4

[[series]]
name = "big"
scaling = "none"
nodes = 1
ranks_per_node = 2
n = 400
m = 80000
"""
MIB = 1 << 20
ENTER = 'echo $$ > "$0" && exec "$@"'


@dataclass
class Group:
    """A control group of either version."""

    folder: Path
    limit_file: str
    used_file: str

    @property
    def used(self) -> int:
        """What is in use: bytes, page cache included, or processes."""
        return int((self.folder / self.used_file).read_text())

    def limit(self, size: int) -> bool:
        """Allow so much; whether the kernel took it."""
        try:
            (self.folder / self.limit_file).write_text(str(size))
        except OSError:  # more is in use and cannot be reclaimed
            return False
        return True

    @property
    def entered(self) -> tuple[str, ...]:
        """Words before a command that is to run inside."""
        return ("sh", "-c", ENTER, str(self.folder / "cgroup.procs"))


@contextmanager
def made_group(controller: str, limit: str, used: str, most: int) -> Generator[Group]:
    """A control group with a limit; skips where none can be made."""
    one, two = Path("/sys/fs/cgroup") / controller, Path("/sys/fs/cgroup")
    folder = (one if one.is_dir() else two) / f"weft-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as problem:
        pytest.skip(f"no control group can be made here: {problem}")
    made = Group(folder, limit, used)
    try:
        if not (folder / limit).exists() or not made.limit(most):
            pytest.skip(f"{limit} of a control group cannot be set here")
        yield made
    finally:
        eventually(lambda: not (folder / "cgroup.procs").read_text())
        folder.rmdir()


@pytest.fixture
def group() -> Iterator[Group]:
    """A control group with 4 GiB of memory."""
    first = Path("/sys/fs/cgroup/memory").is_dir()
    files = ("memory.limit_in_bytes", "memory.usage_in_bytes") if first else ("memory.max", "memory.current")
    with made_group("memory", *files, 4096 * MIB) as made:
        yield made


@pytest.mark.parametrize("most", [10, 24])
def test_too_few_processes_are_a_message_or_a_row_and_no_traceback(make: Callable[..., Weft], most: int) -> None:
    with made_group("pids", "pids.max", "pids.current", most) as group:
        weft = make(launches=1, limit="8 s")  # ranks that get no thread may hang, in each launch
        weft.prefix = group.entered
        done = weft.run()  # asserts that there is no traceback
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 1:
            assert "->" in done.stderr or set(weft.statuses().values()) - {"ok"}, done.stderr
        assert eventually(lambda: group.used == 0), "somebody is left"
    weft.prefix = ()
    assert weft.run().returncode == 0
    assert set(weft.statuses().values()) == {"ok"}
    weft.nothing_is_left()


def test_a_limit_lowered_between_launches_makes_rows_and_the_study_goes_on(
    make: Callable[..., Weft], group: Group
) -> None:
    weft = make(launches=3, limit="60 s", text=BIG)
    weft.prefix = group.entered
    process = weft.start()
    assert eventually(lambda: process.poll() is not None or "c001.l1" in weft.finished(), 120)
    assert process.poll() is None, process.communicate()[1]
    assert eventually(lambda: group.limit(300 * MIB), 30), "the ranks kept their memory"
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert process.returncode == 0, err
    statuses = weft.statuses()
    assert {statuses[f"c000.l{launch}"] for launch in (1, 2, 3)} == {"ok"}
    assert "memory" in {statuses["c001.l2"], statuses["c001.l3"]}
    row = next(record for record in weft.records().values() if record["status"] == "memory")
    assert "unsorted" in str(row["memory"])
    weft.nothing_is_left()


def test_whoever_is_killed_for_memory_that_goes_while_ranks_allocate_the_same_command_goes_on(
    make: Callable[..., Weft], group: Group
) -> None:
    weft = make(launches=2, limit="60 s", text=BIG)
    weft.prefix = group.entered
    process = weft.start()
    assert eventually(lambda: process.poll() is not None or "c000.l1" in weft.finished(), 120)
    assert process.poll() is None, process.communicate()[1]
    base, squeezed = group.used, False
    until = time.monotonic() + 60
    while process.poll() is None and not squeezed and time.monotonic() < until:
        squeezed = group.used > base + 60 * MIB and group.limit(group.used + 16 * MIB)
    assert squeezed, "no rank was seen while it allocated"
    _, err = process.communicate(timeout=180)  # the kernel may have killed a rank, mpiexec or weft itself
    assert "Traceback" not in err
    assert eventually(lambda: not working_on(weft.folder)), working_on(weft.folder)
    before = weft.finished()
    assert group.limit(4096 * MIB)
    again = weft.run(180)
    assert again.returncode == 0, again.stderr
    assert before.items() <= weft.finished().items()
    assert len(weft.statuses()) == 6
    assert set(weft.statuses().values()) <= {"ok", "memory"}, "what did not fit is a row, all else is measured"
    weft.nothing_is_left()
