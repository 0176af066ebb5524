# SPDX-License-Identifier: BSD-3-Clause
"""What real samples lose to a process that is planted on their core, against that process's own processor time.

The truth does not need a quiet host: what others than the ranks and the planted process took of the core is known from
/proc, apart from what the kernels read, and is taken off.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from real_weft import eventually, processes_below

from weft.launch.build import Kernels
from weft.mpi.starting import Cores, family_of
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, flat_launch
from weft.store.cells import read_cell, unpack_lost
from weft.study import Measure

pytestmark = pytest.mark.long

#: A fifth of a core, in bursts.
PLANTED = """
import time
while True:
    until = time.process_time_ns() + 2_000_000
    while time.process_time_ns() < until:
        pass
    time.sleep(0.008)
"""
PERIOD_S, PERIODS = 2.0, 3
#: What others took is read in windows of half a second (native/measure/sample/losses.hpp).
WINDOW_NS = 600_000_000


def own_ns(pid: int) -> int:
    """Processor time of a process's threads, in ns."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def busy_ns(cpu: int) -> int:
    """For how long a processor was not idle since the start of the host, in ns."""
    line = next(each for each in Path("/proc/stat").read_text().splitlines() if each.startswith(f"cpu{cpu} "))
    user, nice, system, _, _, _, soft = map(int, line.split()[1:8])
    return (user + nice + system + soft) * (10**9 // os.sysconf("SC_CLK_TCK"))


@dataclass
class Watch:
    """Time, and processor time of the planted process and of all others but the ranks, at each look."""

    cpu: int
    ranks: list[int]
    planted: int
    looks: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    on: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def look(self) -> int:
        now, planted = time.monotonic_ns(), own_ns(self.planted)
        self.looks.append((now, planted, busy_ns(self.cpu) - planted - sum(own_ns(rank) for rank in self.ranks)))
        return now

    def alternate(self) -> None:
        """Stop the planted process and let it run, in turns."""
        for turn in range(2 * PERIODS):
            os.kill(self.planted, signal.SIGCONT if turn % 2 else signal.SIGSTOP)
            began = self.look()
            while time.monotonic_ns() < began + PERIOD_S * 1e9:
                time.sleep(0.02)
                self.look()
            if turn % 2:
                self.on.append((began, self.look()))

    def took(self, column: int, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> float:
        """What the planted process (1) or others (2) took in some stretches of time, in ns."""
        at, taken = (np.array([look[each] for look in self.looks]) for each in (0, column))
        return float((np.interp(ends, at, taken) - np.interp(begins, at, taken)).sum())


@contextmanager
def planted(cpu: int) -> Iterator[int]:
    """A process that takes a fifth of a core, stopped."""
    process = subprocess.Popen([sys.executable, "-c", PLANTED], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        os.kill(process.pid, signal.SIGSTOP)
        yield process.pid
    finally:
        process.kill()
        process.wait()


@dataclass
class Rows:
    """When the samples of rank 0 began and ended on this host's clock, and what they lost, in ns."""

    column: str
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    lost: NDArray[np.int64]


def measured(kernels: Kernels, folder: Path, ranks: int, cpu: int) -> tuple[Watch, Rows]:
    """An all-to-all of ranks that may use one processor, while a process is planted there every second time."""
    (folder / "launches").mkdir()
    (folder / "cells").mkdir()
    budget_s = 2 * PERIODS * PERIOD_S + 2.5
    measure = Measure.model_validate(
        {"precision": 1e-6, "max_samples": 100_000, "warmup_most": 5, "budget": f"{budget_s} s", "limit": "120 s"}
    )
    values = {"collective": "alltoall", "form": "plain", "bytes": [4 * 2**20 // ranks], "refine": 0, "root": -1}
    text = flat_launch(FlatHead("c000.l1", 1, folder), [LaunchCell("c000", "collective", values, ranks)], measure)
    (plan := folder / "launches/c000.l1.plan").write_text(text)
    family = family_of(kernels.library)
    program = [str(kernels.program), str(plan)]
    command = family.command(kernels.mpi.mpiexec(), ranks, ranks > 1, Cores(1, 1, restricted=True), program)
    variables = {**os.environ, **family.environment(ranks > 1)}
    status = folder / "launches/c000.l1.status"
    with planted(cpu) as pid, (folder / "log").open("w") as log:
        launch = subprocess.Popen(
            command, env=variables, stdout=log, stderr=log, preexec_fn=lambda: os.sched_setaffinity(0, {cpu})
        )
        assert eventually(lambda: status.exists() and b"warm measuring" in status.read_bytes())
        began = time.monotonic_ns()
        pids = [
            each for each in processes_below(launch.pid) if Path(f"/proc/{each}/comm").read_text() == "weft-measure\n"
        ]
        assert len(pids) == ranks
        watch = Watch(cpu, pids, pid)
        watch.alternate()
        assert launch.wait(60) == 0, (folder / "log").read_text()
    data = read_cell(folder, "c000", 1)
    segment = next(each for each in data.record.segments if each.phase == "warm" and each.count > 100)
    rows = data.samples[0, segment.first : segment.first + segment.count]
    begins = rows[:, 0] - rows[0, 0] + began
    seen = (begins >= watch.looks[0][0]) & (begins + rows[:, 1] <= watch.looks[-1][0])
    lost, _ = unpack_lost(rows[:, 2], rows[:, 1], segment.lost_column)
    return watch, Rows(segment.lost_column, begins[seen], (begins + rows[:, 1])[seen], lost[seen])


@pytest.mark.parametrize(("ranks", "lost_by"), [(1, "delay"), (2, "others")])
def test_a_planted_process_is_found_with_its_nanoseconds(
    ranks: int, lost_by: str, kernels: Kernels, tmp_path: Path
) -> None:
    """Ranks that share a core by plan yield it to each other all the time, and report nothing of that."""
    cpu = min(os.sched_getaffinity(0))
    watch, rows = measured(kernels, tmp_path, ranks, cpu)
    assert rows.column == lost_by
    begins, ends, lost = rows.begins, rows.ends, rows.lost
    during, quiet = np.zeros(len(begins), bool), np.ones(len(begins), bool)
    for begin, end in watch.on:
        during |= (begins >= begin) & (ends <= end)
        quiet &= (ends < begin - WINDOW_NS) | (begins > end + WINDOW_NS)
    assert 0.3 < during.mean() < 0.7
    truth, others = (watch.took(column, begins, ends) for column in (1, 2))
    assert truth > 0.02 * (ends - begins)[during].sum()
    # on a busy host: gaps between samples, and the ends of windows, are the ranks' loss but not the samples'
    assert abs(lost.sum() - others - truth) < 0.2 * truth + 0.03 * others
    others_alone = watch.took(2, begins[quiet], ends[quiet])
    assert abs(lost[quiet].sum() - others_alone) < 0.1 * truth + 0.05 * others_alone
