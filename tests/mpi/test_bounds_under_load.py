# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of real ranks whose noise floor was measured while the memory was busy."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from real_weft import STUDY, Weft

from weft.analyse.tables.times import is_beaten
from weft.store.cells import read_cell

pytestmark = pytest.mark.long

#: So many that they are felt on a busy host, too.
EACH_CORE = 6
BUSY = "one, two = bytearray(1 << 24), bytearray(1 << 24)\nwhile True:\n    one[:] = two\n"


@contextmanager
def busy_during(cell: str, folder: Path) -> Iterator[None]:
    """Processes that copy memory while ranks of the run measure a cell, and are stopped otherwise."""
    # sessions of their own: the kernel shares the cores among sessions first (autogroup)
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
        for _ in range(EACH_CORE * len(os.sched_getaffinity(0)))
    ]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.001):
            states = [path.read_bytes() for path in folder.glob("launches/*.status")]
            now = any(cell.encode() in state and b"done" not in state for state in states)
            for each in busy:
                each.send_signal(signal.SIGCONT if now else signal.SIGSTOP)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for each in busy:
            each.kill()
            each.wait()


def fastest_copy_ns(folder: Path, cell: str, prefix: str) -> float:
    """The shortest time of the largest copy that a cell measured, in ns."""
    found: dict[int, float] = {}
    for launch in (1, 2):
        data = read_cell(folder, cell, launch)
        assert data.samples is not None
        for segment in data.record.segments:
            if segment.op.startswith(f"{prefix}copy-") and segment.phase == "warm":
                size = int(segment.op.removeprefix(prefix).split("-")[1])
                rows = data.samples[:, segment.first : segment.first + segment.count, 1].max(axis=0) / segment.batch
                found[size] = min(found.get(size, float("inf")), float(rows.min()))
    return found[max(found)]


def test_a_floor_of_busy_moments_gives_no_bound_that_a_sample_beats(make: Callable[..., Weft]) -> None:
    """A copy measured on a busy host made a bound of 679 us, which a call of 76 us beat."""
    text = STUDY.replace("ranks_per_node = [1, 2]\nn = 400", "ranks_per_node = 1\nn = 8388608")
    weft = make(launches=2, limit="60 s", text=text)
    weft.program = ("-m", "weft.cli.app")
    with busy_during("f000", weft.folder):
        done = weft.run(seconds=200)
    assert done.returncode == 0, done.stderr
    busy, beside = (fastest_copy_ns(weft.folder, *where) for where in (("f000", ""), ("c000", "floor:")))
    assert busy > 1.2 * beside, "the load was not felt"
    rows = [row for row in pq.read_table(weft.folder / "tables/calls.parquet").to_pylist() if row["bound_s"]]
    assert len(rows) >= 3
    for row in rows:
        assert not is_beaten(row), f"{row['call']} {row['phase']}: {row['min_s']} s beat {row['bound_s']} s"
    warm = min((row for row in rows if row["phase"] == "warm"), key=lambda row: row["min_s"] / row["bound_s"])
    assert warm["bound_s"] * busy / beside > warm["min_s"], "the floor's own copy would have been no wrong bound"
